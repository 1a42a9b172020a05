"""Fills a gap in a recording: joins the parts around it with the gap's records from a node.

The records are replayed from the state before the gap first, and the result must be the state with
which the part after the gap begins. No part is changed: the result is a mirror of its own.
"""

from collections.abc import Callable
from pathlib import Path

import msgspec

from metadata_log.files.fs import OsFs
from metadata_log.format.batch import Batch
from metadata_log.format.parts import EarlierPart, Gap, earlier_parts
from metadata_log.kraft.directory import open_directory
from metadata_log.kraft.gap_source import GapSource, gap_source
from metadata_log.kraft.joined_mirror import join_parts
from metadata_log.reader.log_reader import LogReader
from records.errors import RequestError
from replay.loader import Replayer, load_image
from replay.time_travel.across_gap import changes_across


class FilledGap(msgspec.Struct, frozen=True, kw_only=True):
    """A gap that was filled, and the mirror that has its records.

    Attributes:
        log: The new mirror.
        records: Number of records of the gap, NoOps included.
        first_offset, end_offset, confirmed_end: Bounds of the new mirror; ends are exclusive.
        earlier_parts: Number of earlier parts, each followed by a gap, that the new mirror lists.
    """

    log: str
    gap: Gap
    records: int
    first_offset: int
    end_offset: int
    confirmed_end: int
    earlier_parts: int


def fill_gap(
    source: Path,
    log: Path,
    target: Path,
    *,
    collapse_noops: bool = True,
    progress: Callable[[int], None] = lambda offset: None,
) -> FilledGap:
    """Make a mirror of the last two parts of a recording and of the records between them.

    Args:
        source: A node's directory that has the records of the gap.
        log: The newest part of the recording.
        target: The new mirror; beside `log` if it will have earlier parts.
        collapse_noops: Store each run of batches of NoOps in the gap as one record.
        progress: Called with the end offset of what was written.

    Raises:
        RequestError: `log` has no gap, `target` exists or must be beside `log`, a part is missing,
            or the directory lacks records of the gap or is of another history.
        CorruptLogError: a part or the directory is damaged.
        UnavailableError: the disk is full, or Kafka removed a file meanwhile.
    """
    with LogReader.open(log) as after:
        *earlier, last = _parts(log, after)
        log = log.resolve()
        _check_place(target, log, earlier)
        folder = log.with_name(last.folder)
        with _opened(folder, after, last.gap) as before:
            found = gap_source(open_directory(source), before, last.gap)
            _check_state(found, after)
            join_parts(
                found,
                after,
                tuple(earlier),
                target,
                collapse_noops=collapse_noops,
                progress=progress,
            )
            return FilledGap(
                log=str(target),
                gap=last.gap,
                records=last.gap.to_offset - last.gap.from_offset,
                first_offset=before.start_offset,
                end_offset=after.end_offset,
                confirmed_end=after.confirmed_end,
                earlier_parts=len(earlier),
            )


def _parts(log: Path, after: LogReader) -> tuple[EarlierPart, ...]:
    parts = earlier_parts(OsFs(), log)
    if not parts:
        raise RequestError("INVALID_REQUEST", f"{log} has no gap before it")
    assert after.history_start == parts[-1].gap.to_offset, "the part begins where its gap ends"
    return parts


def _check_place(target: Path, log: Path, earlier: list[EarlierPart]) -> None:
    """Check that earlier parts, which are found by their names, will be beside the new mirror."""
    if earlier and target.absolute().parent.resolve() != log.parent:
        raise RequestError(
            "INVALID_REQUEST",
            f"{target} will have the earlier parts of {log} ({earlier[-1].folder}, ...), so it has "
            f"to be beside them: name a folder in {log.parent}",
        )


def _opened(folder: Path, after: LogReader, gap: Gap) -> LogReader:
    before = LogReader.open(folder)
    if before.cluster_id != after.cluster_id or before.confirmed_end < gap.from_offset:
        raise RequestError(
            "INCONSISTENT_CLUSTER_ID",
            f"{folder} is not the part before {after.directory}: it should have cluster "
            f"{after.cluster_id!r} up to offset {gap.from_offset}",
        )
    return before


def _check_state(source: GapSource, after: LogReader) -> None:
    """Check that the gap's records lead from the state before it to the state after it.

    Raises:
        RequestError: they do not: the directory is of another history.
        ContradictionError: a record contradicts the state before it.
    """
    replayer = Replayer(load_image(source.before, source.begin - 1))
    for batch in source.batches():
        replayer.replay(Batch.of(batch.rows))
    expected = load_image(after, source.gap.to_offset - 1)
    differing = changes_across(replayer.image(), expected)
    if differing:
        first = differing[0]
        raise RequestError(
            "INCONSISTENT_CLUSTER_ID",
            f"{source.directory.path} is of another history: with its records, {first.object} has "
            f"{first.field} {first.before!r} at offset {source.gap.to_offset - 1}, and "
            f"{first.after!r} in {after.directory}",
        )
