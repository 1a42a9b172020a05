"""The view `gaps`: the offsets that a recording lacks, before and between its parts."""

from collections.abc import Iterable
from typing import NamedTuple

import pyarrow

from metadata_log.format.parts import EarlierPart

_TIME = pyarrow.timestamp("us", "UTC")


class _Column(NamedTuple):
    type: pyarrow.DataType
    comment: str


_COLUMNS = {
    "from_offset": _Column(pyarrow.int64(), "The first offset that was not recorded."),
    "from_epoch": _Column(pyarrow.int32(), "Leader epoch of the last record before the gap."),
    "from_time": _Column(_TIME, "Time of the last record before the gap; null: there is none."),
    "to_offset": _Column(pyarrow.int64(), "End of the gap, exclusive: the end of the snapshot."),
    "to_epoch": _Column(pyarrow.int32(), "Leader epoch of the snapshot's last record."),
    "to_time": _Column(_TIME, "Time of the snapshot's last record."),
    "found_time": _Column(_TIME, "When the gap was found."),
    "source": _Column(pyarrow.string(), "Address of the leader that lacked the records."),
    "log_start_offset": _Column(pyarrow.int64(), "Where the leader's log started then."),
    "leader_epoch": _Column(pyarrow.int32(), "The leader's epoch then."),
    "reason": _Column(pyarrow.string(), "Why the records are missing."),
    "part": _Column(pyarrow.string(), "Folder of the part before the gap."),
}

GAPS_SCHEMA = {name: column.comment for name, column in _COLUMNS.items()}
"""The comments of the view's columns, in order."""

_SCHEMA = pyarrow.schema([(name, column.type) for name, column in _COLUMNS.items()])


def gaps_table(parts: Iterable[EarlierPart]) -> pyarrow.Table:
    """Return the gaps after the earlier parts of a recording, oldest first.

    Returns:
        from_offset int64, from_epoch int32, from_time timestamp (UTC), to_offset int64, to_epoch
        int32, to_time, found_time timestamp, source string, log_start_offset int64, leader_epoch
        int32, reason and part string.
    """
    return pyarrow.Table.from_pylist([_row(part) for part in parts], _SCHEMA)


def _row(part: EarlierPart) -> dict[str, int | str | None]:
    row = {name: getattr(part.gap, name) for name in _COLUMNS if name != "part"}
    times = {name: _in_us(row[name]) for name in row if _COLUMNS[name].type == _TIME}
    return row | times | {"part": part.folder}


def _in_us(time_ms: int | None) -> int | None:
    return None if time_ms is None else time_ms * 1_000
