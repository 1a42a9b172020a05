"""The check of a damaged log: the damage must be reported or harmless, never silently accepted.

A case passes if the content is as before, or if an error names the damage and states nothing false.
Both are checked: a reader, and a writer that opens the log, which is read afterwards.
"""

import re
from collections.abc import Awaitable, Mapping

import msgspec

from metadata_log.files.names import COMMIT_MARK, claimed_epoch, segment_offset
from metadata_log.format.batch import Batch
from metadata_log.reader.log_reader import LogReader
from metadata_log.writer.log import MetadataLog
from records.control import LeaderChangeMessage
from records.errors import CorruptLogError, RequestError, UnavailableError
from tests.metadata_log.conftest import StepClock
from tests.torture.damage.memory_fs import DIRECTORY, MemoryFs, at_once
from tests.torture.damage.specimens import Span, Specimen

_PLACE = re.compile(r"(\S+) byte (\d+): ")
_INTACT = re.compile(r"offsets below (\d+) are intact")
# What a manifest that was removed, or that names a later format, is answered with.
_MANIFEST_CODES = ("LOG_NOT_FOUND", "UNSUPPORTED_VERSION")


class Damage(msgspec.Struct, frozen=True, kw_only=True):
    """A change to the files of a specimen, and the allowed reports of it.

    Attributes:
        what: Description for a failure's message.
        files: All files after the change.
        names: Names of files, one of which an error must contain.
        place: File and byte range that were changed, if it is one file.
        is_harmless: True if it must change nothing at all, for reader and writer.
        may_end_at: Offset at which a reader may end instead of at the log's end: the mark is older,
            and no later batch proves the last one.
    """

    what: str
    files: Mapping[str, bytes]
    names: tuple[str, ...]
    place: tuple[str, int, int] | None = None
    is_harmless: bool = False
    may_end_at: int | None = None


class Silent(Exception):
    """The content of a log changed without an error, or an error stated something false."""


async def judge(specimen: Specimen, damage: Damage) -> str | None:
    """Return what is wrong with the log's reaction to a damage; None if nothing is."""
    return await judged(damage, _judge(specimen, damage))


async def judged(damage: Damage, question: Awaitable[None]) -> str | None:
    """Return the error that a check raised, as a text; None if it passed."""
    try:
        await question
    except Silent as error:
        return f"{damage.what}: {error}"
    except Exception as error:
        # Whatever the bytes are, only the documented errors may come out of the log.
        return f"{damage.what}: {type(error).__name__}: {error}"
    return None


async def _judge(specimen: Specimen, damage: Damage) -> None:
    _judge_reader(specimen, damage)
    if specimen.is_own:
        await _judge_writer(specimen, damage)


def _judge_reader(specimen: Specimen, damage: Damage) -> None:
    found: list[Batch] = []
    try:
        with LogReader.open(DIRECTORY, fs=MemoryFs(damage.files)) as reader:
            found.extend(reader.batches())
            _compare_batches(specimen, damage, found, reader)
            _compare_identity(specimen, reader)
            _read_from_many_places(specimen, reader)
    except (CorruptLogError, RequestError, UnavailableError) as error:
        check_error(specimen, damage, error, found)


def _compare_batches(
    specimen: Specimen, damage: Damage, found: list[Batch], reader: LogReader
) -> None:
    if found != list(specimen.batches[: len(found)]):
        raise Silent("the reader gave other batches, and no error")
    end = found[-1].end_offset if found else reader.start_offset
    # A damaged slot of the mark hides its end; then the reader says that more follows.
    is_told = damage.names == (COMMIT_MARK,) and reader.awaits_writer
    if end not in (specimen.end_offset, damage.may_end_at) and not is_told:
        raise Silent(f"the reader ends at {end}, the log at {specimen.end_offset}")
    if reader.end_offset != end:
        raise Silent(f"the reader says it ends at {reader.end_offset}, and gave up to {end}")


def _compare_identity(specimen: Specimen, reader: LogReader) -> None:
    if (reader.kind == "own") != specimen.is_own:
        raise Silent(f"the reader takes it for kind {reader.kind}")
    if reader.start_offset != specimen.batches[0].base_offset:
        raise Silent(f"the reader starts at {reader.start_offset}")
    if (reader.base is None) != (specimen.base is None):
        raise Silent("the reader sees another base checkpoint")
    if reader.base is not None:
        rows = tuple(row for block in reader.base.rows() for row in block)
        if rows != specimen.base:
            raise Silent("the reader sees other rows in the base checkpoint")


def _read_from_many_places(specimen: Specimen, reader: LogReader) -> None:
    """Read a few batches by offset and by time, which uses the index."""
    for batch in specimen.batches[:: max(1, len(specimen.batches) // 3)]:
        if batch.base_offset >= reader.end_offset:
            return
        first = next(iter(reader.batches(batch.end_offset - 1)))
        if first != batch:
            raise Silent(f"reading from {batch.end_offset - 1} gave {first.base_offset}")
        if specimen.is_own and reader.last_offset_at(batch.timestamp) != batch.end_offset - 1:
            raise Silent(f"time {batch.timestamp} gave {reader.last_offset_at(batch.timestamp)}")


async def _judge_writer(specimen: Specimen, damage: Damage) -> None:
    fs = MemoryFs(damage.files)
    try:
        log = await MetadataLog.open(
            DIRECTORY, fs=fs, clock=StepClock(1_800_000_000_000), run_blocking=at_once
        )
    except (CorruptLogError, RequestError) as error:
        check_error(specimen, damage, error, None)
        _check_untouched(damage, fs)
        return
    await log.close()
    found: list[Batch] = []
    try:
        with LogReader.open(DIRECTORY, fs=fs) as reader:
            found.extend(reader.batches())
    except CorruptLogError as error:
        check_error(specimen, damage, error, None)
        _check_nothing_was_cut(damage, fs)
        return
    _check_kept(specimen, found)


def _check_untouched(damage: Damage, fs: MemoryFs) -> None:
    for name, data in damage.files.items():
        if claimed_epoch(name) is None and fs.content(name) != data:
            raise Silent(f"the writer refused the log and changed {name}")


def _check_nothing_was_cut(damage: Damage, fs: MemoryFs) -> None:
    """Check that a writer that opened a damaged log only appended to it."""
    for name, data in damage.files.items():
        if segment_offset(name) is not None and len(fs.content(name) or b"") < len(data):
            raise Silent(f"the writer cut {name}, and the log does not read well")


def _check_kept(specimen: Specimen, found: list[Batch]) -> None:
    """Check that after a writer all records are still there, followed by the start of its epoch."""
    *before, last = found
    if not isinstance(last.rows[0].payload, LeaderChangeMessage):
        raise Silent(f"the log ends with {type(last.rows[0].payload).__name__} after a start")
    if before != list(specimen.batches[: len(before)]):
        raise Silent("the log holds other batches after a writer's start")
    end = before[-1].end_offset if before else specimen.batches[0].base_offset
    if end < specimen.end_offset:
        raise Silent(f"the log ended at {specimen.end_offset}, a writer's start cut it to {end}")


def check_error(
    specimen: Specimen, damage: Damage, error: Exception, found: list[Batch] | None
) -> None:
    """Check that an error states nothing false.

    Args:
        found: The batches that a reader returned before the error; None for a writer.
    """
    text = str(error)
    if isinstance(error, UnavailableError):
        raise Silent(f"trying again will not help: {text}")
    if damage.is_harmless:
        raise Silent(f"it matters to nobody, and yet: {text}")
    if isinstance(error, RequestError) and error.code not in _MANIFEST_CODES:
        raise Silent(f"an answer that blames the caller: {error.code} {text}")
    if not any(name in text for name in damage.names):
        raise Silent(f"the error names none of {', '.join(damage.names)}: {text}")
    intact = _INTACT.search(text)
    place = _PLACE.search(text)
    if damage.place is not None and place is not None:
        name, first, last = damage.place
        if place[1].endswith("/" + name):
            _check_place(specimen, name, first, last, int(place[2]), text)
        if intact and int(intact[1]) > _span_at(specimen, name, first).base_offset:
            raise Silent(f"it holds damaged offsets to be intact: {text}")
    if intact and found is not None and found and int(intact[1]) > found[-1].end_offset:
        raise Silent(f"it holds offsets to be intact that it could not read: {text}")


def _check_place(
    specimen: Specimen, name: str, first: int, last: int, named: int, text: str
) -> None:
    start, end = _span_at(specimen, name, first).start, _span_at(specimen, name, last).end
    if not start <= named <= max(end, last):
        raise Silent(f"bytes {first} to {last} were changed, byte {named} is named: {text}")


def _span_at(specimen: Specimen, name: str, position: int) -> Span:
    """Return the header or block that contains a byte; the last one for bytes beyond the end."""
    spans = specimen.spans.get(name)
    if spans is None:
        return Span(0, len(specimen.files[name]), specimen.end_offset)
    for span in spans:
        if position < span.end:
            return span
    return spans[-1]
