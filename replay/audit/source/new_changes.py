"""The changes of a range of a log, computed from a state kept in this process if there is one.

Spark reuses worker processes for the triggers of a stream. So a worker keeps the state after each
trigger that it ran. A worker without a usable state reads the log from its base.
"""

from collections.abc import Iterator
from typing import NamedTuple

import pyarrow
import pyarrow.compute as pc

from metadata_log.reader.log_reader import LogReader
from metadata_log.reader.position import Position
from records.errors import UnknownHistoryError
from replay.audit.committed_files import readable_files
from replay.audit.decoding.log_scan import LogScan, Task
from replay.audit.fold.changes import CHANGES
from replay.audit.fold.growing_changes import GrowingChanges
from replay.audit.log_files import LogFiles
from replay.audit.record_types import BULK, RARE, scan_tasks, wanted_records
from replay.audit.source.placed_scan import task_between
from replay.audit.stream_position import stream_position

_KEPT_MAX = 2
"""Maximum number of states that a process keeps: it rarely works for more streams at a time."""


class _Past(NamedTuple):
    """The state after the records before a position, which is outside transactions.

    Attributes:
        base_end_offset: End of the log's base when the state was made. If the base has moved since,
            the state is not used, because requests below the base are no longer known.
    """

    base_end_offset: int
    position: Position
    changes: GrowingChanges


_pasts: list[_Past] = []
"""The states of this process, the most recently used one last."""


def new_changes(reader: LogReader, first: int, end: int) -> pyarrow.Table:
    """Return the changes at offsets [first, end), with the columns of `CHANGES`.

    Args:
        first, end: Outside transactions.

    Raises:
        UnknownHistoryError: the log has deleted the records at `first`.
        CorruptLogError: the log is damaged.
    """
    if first < reader.start_offset:
        raise UnknownHistoryError(
            f"offset {first} is not kept: history starts at {reader.start_offset}"
        )
    files = readable_files(reader, None, lambda path, size: None)
    past = _taken(reader, files, first)
    if past is None:
        begin, changes = files.base_end_offset, GrowingChanges(files.base_end_offset)
        parts = scan_tasks(files, end - 1)
    else:
        begin, changes = past.position.end_offset, past.changes
        parts = (task_between(reader, files, begin, end),)
    batches = changes.of(_records(parts, begin, end))
    rows = pyarrow.Table.from_batches(batches, CHANGES)
    _pasts.append(_Past(files.base_end_offset, stream_position(reader, end), changes))
    del _pasts[:-_KEPT_MAX]
    return rows.filter(pc.greater_equal(rows["offset"], first))


def _taken(reader: LogReader, files: LogFiles, first: int) -> _Past | None:
    """Remove and return the latest usable state at or before an offset; None if there is none."""
    usable = [past for past in _pasts if _is_usable(past, reader, files, first)]
    if not usable:
        return None
    found = max(usable, key=lambda past: past.position.end_offset)
    _pasts.remove(found)
    return found


def _is_usable(past: _Past, reader: LogReader, files: LogFiles, first: int) -> bool:
    at = past.position.end_offset
    if past.base_end_offset != files.base_end_offset or not reader.start_offset < at <= first:
        return False
    same_log = past.position.cluster_id == reader.cluster_id
    return same_log and not stream_position(reader, at).contradicts(past.position)


def _records(parts: tuple[Task, ...], begin: int, end: int) -> Iterator[pyarrow.RecordBatch]:
    scan = LogScan(parts, wanted_records(BULK | RARE, with_origin=True), begin, end)
    for number in range(len(parts)):
        yield from scan.batches(number)
