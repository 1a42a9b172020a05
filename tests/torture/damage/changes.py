"""Every way in which one file, or the set of files, can differ from what was written.

A family of damages is a sequence: its members are numbered, and each is made when it is needed.
"""

import random
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import accumulate, permutations

from metadata_log.files.names import COMMIT_MARK, DERIVED_SUFFIXES, segment_name
from metadata_log.format.commit_mark import MARK_SIZE, SLOT_SIZE, SLOT_SPACING, decode_slot
from tests.torture.damage.specimens import Specimen
from tests.torture.damage.verdict import Damage

_SECTOR_SIZES = (512, 4096)


class Damages:
    """Damages of one family, numbered from 0."""

    def __init__(self, count: int, make: Callable[[int], Damage]) -> None:
        self._count = count
        self._make = make

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, index: int) -> Damage:
        return self._make(index)


def joined(families: Sequence[Damages]) -> Damages:
    """Return several families as one."""
    ends = list(accumulate(len(family) for family in families))

    def make(index: int) -> Damage:
        which = bisect_right(ends, index)
        return families[which][index - ends[which] + len(families[which])]

    return Damages(ends[-1] if ends else 0, make)


def all_of(
    specimen: Specimen, other: Specimen | None = None, *, unlike: Specimen | None = None
) -> Damages:
    """Return every damage of a small log, most of them flipped bits.

    Args:
        other: A log of the same cluster and offsets, whose blocks and files replace some of ours.
        unlike: A log; only files that differ from its files are flipped and cut.
    """
    done = {} if unlike is None else unlike.files
    names = [n for n, data in sorted(specimen.files.items()) if data and done.get(n) != data]
    listed: list[Callable[[], Damage]] = []
    for make in (_zeroed_sectors, _block_moves, _file_moves, _appended, _stale_marks):
        listed += make(specimen)
    if other is not None:
        listed += _strays(specimen, other)
    return joined(
        [
            flips(specimen, names),
            truncations(specimen, names),
            Damages(len(listed), partial(_called, listed)),
            _flips_past_stale_marks(specimen),
        ]
    )


def _called(listed: Sequence[Callable[[], Damage]], index: int) -> Damage:
    return listed[index]()


def flips(specimen: Specimen, names: Sequence[str]) -> Damages:
    """Return a damage for each bit of these files: that bit is flipped."""
    ends = list(accumulate(len(specimen.files[name]) for name in names))

    def make(index: int) -> Damage:
        byte, bit = divmod(index, 8)
        which = bisect_right(ends, byte)
        name = names[which]
        byte -= ends[which] - len(specimen.files[name])
        return flip(specimen, name, byte, bit)

    return Damages(8 * ends[-1], make)


def flip(specimen: Specimen, name: str, byte: int, bit: int) -> Damage:
    """Return the damage of one flipped bit."""
    data = specimen.files[name]
    flipped = bytes((data[byte] ^ 1 << bit,))
    return overwritten(specimen, name, byte, flipped, f"bit {bit} of {name} byte {byte} flipped")


def overwritten(specimen: Specimen, name: str, start: int, new: bytes, what: str) -> Damage:
    """Return the damage that bytes of a file are replaced by as many others."""
    data = specimen.files[name]
    end = start + len(new)
    return Damage(
        what=what,
        files={**specimen.files, name: data[:start] + new + data[end:]},
        names=(name,),
        place=(name, start, end - 1),
        is_harmless=data[start:end] == new or matters_to_nobody(specimen, name, start, end),
    )


def matters_to_nobody(specimen: Specimen, name: str, start: int, end: int) -> bool:
    """Return whether these bytes may have any value: derived ones, or unused ones of the mark."""
    if name.endswith(DERIVED_SUFFIXES):
        return True
    if name != COMMIT_MARK:
        return False
    data = specimen.files[name]
    slots = {at: decode_slot(data[at : at + SLOT_SIZE]) for at in (0, SLOT_SPACING)}
    newest = max((slot.sequence, at) for at, slot in slots.items() if slot)[1]
    return end <= newest or start >= newest + SLOT_SIZE


def truncations(specimen: Specimen, names: Sequence[str]) -> Damages:
    """Return a damage for each byte of these files: the file is cut there."""
    ends = list(accumulate(len(specimen.files[name]) for name in names))

    def make(index: int) -> Damage:
        which = bisect_right(ends, index)
        name = names[which]
        return truncated(specimen, name, index - ends[which] + len(specimen.files[name]))

    return Damages(ends[-1], make)


def truncated(specimen: Specimen, name: str, size: int) -> Damage:
    """Return the damage that a file is cut to a size."""
    data = specimen.files[name]
    return Damage(
        what=f"{name} cut from {len(data)} to {size} bytes",
        files={**specimen.files, name: data[:size]},
        names=(name,),
        place=(name, size, len(data) - 1),
        is_harmless=matters_to_nobody(specimen, name, size, len(data)),
    )


def _zeroed_sectors(specimen: Specimen) -> Iterator[Callable[[], Damage]]:
    for name, data in sorted(specimen.files.items()):
        for size in _SECTOR_SIZES:
            for start in range(0, len(data), size):
                zeros = bytes(min(size, len(data) - start))
                what = f"{len(zeros)} bytes of {name} zeroed at {start}"
                yield partial(overwritten, specimen, name, start, zeros, what)


def _block_moves(specimen: Specimen) -> Iterator[Callable[[], Damage]]:
    """Yield damages: two blocks swapped, a block repeated, a run of blocks removed; all of each."""
    for name, (_, *blocks, _) in sorted(specimen.spans.items()):
        data = specimen.files[name]
        header = data[: blocks[0].start] if blocks else data
        stored = [data[block.start : block.end] for block in blocks]
        count = len(stored)
        orders: list[tuple[str, list[int]]] = []
        for a in range(count):
            for b in range(count):
                rest = [n for n in range(count) if n != a]
                orders.append((f"block {a} moved to {b}", [*rest[:b], a, *rest[b:]]))
                orders.append((f"block {a} again at {b}", [*range(b), a, *range(b, count)]))
                orders.append((f"block {a} in place of {b}", [*range(b), a, *range(b + 1, count)]))
                if a < b:
                    order = list(range(count))
                    order[a], order[b] = b, a
                    orders.append((f"blocks {a} and {b} exchanged", order))
            orders += [
                (f"blocks {a} to {b - 1} removed", [*range(a), *range(b, count)])
                for b in range(a + 1, count + 1)
            ]
            orders.append((f"block {a} again at the end", [*range(count), a]))
        for what, order in orders:
            new = header + b"".join(stored[n] for n in order)
            yield partial(rewritten, specimen, name, new, f"{name}: {what}")


def rewritten(specimen: Specimen, name: str, new: bytes, what: str) -> Damage:
    """Return the damage that a file has another content, of any length."""
    data = specimen.files[name]
    first = _first_difference(data, new)
    is_torn_tail = new[: len(data)] == data and name == _active(specimen)
    return Damage(
        what=what,
        files={**specimen.files, name: new},
        names=(name,),
        place=(name, first, max(len(data), len(new)) - 1),
        # What stands past the mark was never committed: a reader stops before it, a writer cuts it.
        is_harmless=new == data or is_torn_tail or matters_to_nobody(specimen, name, first, first),
    )


def _first_difference(a: bytes, b: bytes) -> int:
    """Return the length of the common prefix of two contents."""
    same, differ = 0, min(len(a), len(b)) + 1
    while differ - same > 1:
        middle = (same + differ) // 2
        if a.startswith(b[:middle]):
            same = middle
        else:
            differ = middle
    return same


def _active(specimen: Specimen) -> str:
    return max(n for n in specimen.spans if not n.endswith(".checkpoint.avro"))


def _file_moves(specimen: Specimen) -> Iterator[Callable[[], Damage]]:
    """Yield damages of each file: removed, swapped with another, replaced by another, or
    renamed.
    """
    files = specimen.files
    for name in files:
        if not name.startswith("epoch-"):
            yield partial(_removed, specimen, name)
    # Claims hold nothing but their name.
    for a, b in permutations([n for n in sorted(files) if files[n]], 2):
        if files[a] != files[b]:
            yield partial(_replaced, specimen, {b: files[a]}, f"{b} is a copy of {a}")
            if a < b:
                new = {b: files[a], a: files[b]}
                yield partial(_replaced, specimen, new, f"{a} and {b} exchanged")
    for name in specimen.spans:
        for base in (1, specimen.end_offset - 1, specimen.end_offset, specimen.end_offset + 5):
            if segment_name(base) not in files:
                yield partial(_also_named, specimen, name, segment_name(base))


def _removed(specimen: Specimen, name: str) -> Damage:
    return Damage(
        what=f"{name} removed",
        files={n: data for n, data in specimen.files.items() if n != name},
        # An error may name the missing file, or the one that names it.
        names=(name, *specimen.spans),
        is_harmless=name.endswith(DERIVED_SUFFIXES),
    )


def _also_named(specimen: Specimen, name: str, new: str) -> Damage:
    return Damage(
        what=f"{name} also under the name {new}",
        files={**specimen.files, new: specimen.files[name]},
        names=(new, *specimen.spans),
    )


def _replaced(specimen: Specimen, new: dict[str, bytes], what: str) -> Damage:
    return Damage(
        what=what,
        files={**specimen.files, **new},
        names=(*new, *specimen.spans),
        is_harmless=all(name.endswith(DERIVED_SUFFIXES) for name in new),
    )


def _appended(specimen: Specimen) -> Iterator[Callable[[], Damage]]:
    """Yield damages in which garbage, zeros or valid blocks follow the end of a file."""
    rng = random.Random(4)
    for name, data in sorted(specimen.files.items()):
        tails = [bytes(n) for n in (1, 2, 16, 512, 4096)]
        tails += [rng.randbytes(n) for n in range(1, 65)] + [data]
        for spans in specimen.spans.values():
            source = specimen.files[max(specimen.spans)]
            tails += [source[span.start : span.end] for span in spans[:-1]]
        for tail in tails:
            what = f"{name}: {len(tail)} bytes appended, {tail[:8].hex()}..."
            yield partial(rewritten, specimen, name, data + tail, what)


def _stale_marks(specimen: Specimen) -> Iterator[Callable[[], Damage]]:
    """Yield damages in which the commit mark is an older one, whole or in the newest slot only."""
    for mark, end in specimen.older_marks:
        yield partial(_stale, specimen, mark, f"the commit mark is that of {end}")
    data = specimen.files[COMMIT_MARK]
    for at in (0, SLOT_SPACING):
        for new in (bytes(SLOT_SIZE), b"\xff" * SLOT_SIZE):
            what = f"slot at {at} filled with {new[:1].hex()}"
            yield partial(overwritten, specimen, COMMIT_MARK, at, new, what)
    zeros = bytes(MARK_SIZE)
    yield partial(overwritten, specimen, COMMIT_MARK, 0, zeros, "the mark is all zeros")
    swapped = data[SLOT_SPACING:] + data[:SLOT_SPACING]
    yield partial(_replaced, specimen, {COMMIT_MARK: swapped}, "the slots of the mark exchanged")


def _stale(specimen: Specimen, mark: bytes, what: str) -> Damage:
    return Damage(
        what=what,
        files={**specimen.files, COMMIT_MARK: mark},
        names=(COMMIT_MARK,),
        may_end_at=specimen.batches[-1].base_offset,
    )


def _flips_past_stale_marks(specimen: Specimen) -> Damages:
    """Return flipped bits in blocks beyond a stale mark, which only later blocks prove
    acknowledged.

    The last batch has no later block: a writer may take it for torn, and cut it.
    """
    name = _active(specimen)
    blocks = specimen.spans[name][1:-2]
    marks = [
        m for m in specimen.older_marks if blocks and m[1] >= specimen.spans[name][0].base_offset
    ]
    families = [
        _flips_between(specimen, name, mark, end, blocks[0].start, blocks[-1].end)
        for mark, end in marks
    ]
    return joined(families)


def _flips_between(
    specimen: Specimen, name: str, mark: bytes, end: int, start: int, stop: int
) -> Damages:
    first = next((span.start for span in specimen.spans[name][1:] if span.base_offset >= end), stop)
    start = max(start, first)

    def make(index: int) -> Damage:
        byte, bit = divmod(index, 8)
        damage = flip(specimen, name, start + byte, bit)
        return Damage(
            what=f"the commit mark is that of {end}, and {damage.what}",
            files={**damage.files, COMMIT_MARK: mark},
            names=(name, COMMIT_MARK),
            place=damage.place,
            may_end_at=specimen.batches[-1].base_offset,
        )

    return Damages(8 * max(0, stop - start), make)


def _strays(specimen: Specimen, other: Specimen) -> Iterator[Callable[[], Damage]]:
    """Yield damages in which files and blocks of another log of the same cluster replace ours."""
    for name in specimen.files:
        if name in other.files and other.files[name] != specimen.files[name]:
            stray = {name: other.files[name]}
            yield partial(_replaced, specimen, stray, f"{name} of another log")
    for name, spans in specimen.spans.items():
        for mine, their in zip(spans, other.spans.get(name, ()), strict=False):
            new = other.files[name][their.start : their.end]
            whole = specimen.files[name]
            content = whole[: mine.start] + new + whole[mine.end :]
            if content != whole:
                what = f"{name}: the bytes at {mine.start} are another log's"
                yield partial(_replaced, specimen, {name: content}, what)
