"""Random damage to a large log, which is read only near the damage, because a full read is slow.

The check is the same: the batches around the damage are unchanged, or an error names the damage and
states nothing false.
"""

import random
from bisect import bisect_right
from itertools import islice, takewhile
from pathlib import Path

from metadata_log.files.names import DERIVED_SUFFIXES
from metadata_log.reader.log_reader import LogReader
from records.errors import CorruptLogError
from tests.torture.damage.changes import flip, matters_to_nobody, overwritten, rewritten, truncated
from tests.torture.damage.memory_fs import DIRECTORY, MemoryFs
from tests.torture.damage.specimens import Specimen
from tests.torture.damage.verdict import Damage, Silent, check_error, judged

_BLOCKS_BEFORE = 3


def drawn(specimen: Specimen, rng: random.Random) -> Damage:
    """Return a random damage to one file of a large log."""
    name = rng.choice(sorted(specimen.spans))
    size = len(specimen.files[name])
    match rng.randrange(8):
        case 0 | 1 | 2:
            return flip(specimen, name, rng.randrange(size), rng.randrange(8))
        case 3:
            start, length = rng.randrange(size - 40), rng.randrange(1, 41)
            what = f"{length} bytes of {name} at {start} scribbled over"
            return overwritten(specimen, name, start, rng.randbytes(length), what)
        case 4:
            sector = rng.choice((512, 4096))
            start = rng.randrange(size // sector) * sector
            what = f"{sector} bytes of {name} zeroed at {start}"
            return overwritten(specimen, name, start, bytes(sector), what)
        case 5:
            return truncated(specimen, name, rng.randrange(size))
        case 6:
            derived = name.replace(".avro", rng.choice(DERIVED_SUFFIXES))
            if derived not in specimen.files:
                return _moved_blocks(specimen, name, rng)
            return flip(specimen, derived, rng.randrange(len(specimen.files[derived])), 0)
    return _moved_blocks(specimen, name, rng)


def _moved_blocks(specimen: Specimen, name: str, rng: random.Random) -> Damage:
    """Return the damage of two blocks swapped, one repeated, or one removed."""
    data, spans = specimen.files[name], specimen.spans[name][1:-1]
    at = rng.randrange(len(spans) - 1)
    first, second = spans[at], spans[at + 1]
    one, two = data[first.start : first.end], data[second.start : second.end]
    new, what = rng.choice(
        ((two + one, "exchanged"), (one + one + two, "written twice"), (two, "removed"))
    )
    whole = data[: first.start] + new + data[second.end :]
    return rewritten(specimen, name, whole, f"{name}: the block at {first.start} {what}")


async def judge_near(specimen: Specimen, damage: Damage, rng: random.Random) -> str | None:
    """Return what is wrong with a reader's answer near a damage; None if nothing is."""
    return await judged(damage, _read_near(specimen, damage, rng))


async def _read_near(specimen: Specimen, damage: Damage, rng: random.Random) -> None:
    assert damage.place is not None
    first, end = _window(specimen, damage.place, rng)
    batches = specimen.batches
    at = bisect_right(batches, first, key=lambda batch: batch.end_offset)
    expected = list(takewhile(lambda batch: batch.base_offset < end, islice(batches, at, None)))
    try:
        with LogReader.open(DIRECTORY, fs=MemoryFs(damage.files)) as reader:
            found = list(reader.batches(first, end))
    except CorruptLogError as error:
        check_error(specimen, damage, error, None)
        return
    if found != expected:
        raise Silent(f"offsets {first} to {end} were read without an error, and are others")


def _window(specimen: Specimen, place: tuple[str, int, int], rng: random.Random) -> tuple[int, int]:
    """Return a range of offsets from a few blocks before the damage to one block after it."""
    name, first, last = place
    if matters_to_nobody(specimen, name, first, last):
        spans = specimen.spans[Path(name).with_suffix(".avro").name]
        at = rng.randrange(1, len(spans) - 1)
    else:
        spans = specimen.spans[name]
        at = max(i for i, span in enumerate(spans) if span.start <= first)
    start = spans[max(at - rng.randrange(_BLOCKS_BEFORE), 0)].base_offset
    return start, min(spans[min(at + 2, len(spans) - 1)].base_offset + 1, specimen.end_offset)
