"""A stream of the effective changes of a log; on request, the initial state comes first.

A change takes effect at the end of its transaction, so each trigger ends where no transaction is
open. The values before the changes come from all earlier records (new_changes.py).
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import msgspec
import pyarrow
import pyarrow.compute as pc
from pyspark.sql.datasource import InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit

from metadata_log.reader.log_reader import LogReader
from metadata_log.reader.position import Position
from replay.audit.fold.churn import HOUR_MS
from replay.audit.queries.asking import Range
from replay.audit.selection import EVERYTHING
from replay.audit.source.new_changes import new_changes
from replay.audit.source.open_transaction import open_transaction
from replay.audit.source.record_stream import RecordStream
from replay.audit.source.recording import Recording
from replay.audit.source.records import Span
from replay.audit.source.relations import changes_rows, computed, relation_schema, typed

SNAPSHOT = "Snapshot"
"""The `record` of a row that has a value from before the stream's start."""

_MARK = "snapshot"
"""Key in a stream's first position that requests the state before that position."""


class ChangeStream(RecordStream):
    """Reads the changes as a stream; a row is a field that a record changed."""

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        found = super().initialOffset()
        return found | {_MARK: True} if self.options.snapshot else found

    def start(self, reader: LogReader) -> int:
        """Return the offset at which a new query begins; never inside a transaction."""
        return _settled(reader, reader.history_start, super().start(reader))

    def end(self, reader: LogReader, first: int, end: int, limit: ReadLimit) -> int:
        """Return the end of a trigger: an offset outside transactions, even beyond the limit."""
        settled = _settled(reader, first, super().end(reader, first, end, limit))
        if settled > first or isinstance(limit, ReadAllAvailable):
            return settled
        # A transaction that exceeds the limit is read whole, and with it what follows.
        return _settled(reader, first, end)

    def idle(self, start: dict[str, Any]) -> dict[str, Any]:
        """Return `start` without the request for the state, for a trigger without new records."""
        return {name: value for name, value in start.items() if name != _MARK}

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        first, last = start["end_offset"], end["end_offset"]
        stop = msgspec.convert(end, Position)
        super().partitions(start, end)  # for its checks; the range is read in one task
        state = [Span(0, first, is_snapshot=True, planned=stop)] if start.get(_MARK) else []
        return state + ([Span(first, last, planned=stop)] if last > first else [])

    def _recording(self, reader: LogReader) -> AbstractContextManager[Recording]:
        # The values before the changes are those of one part.
        return nullcontext(Recording(reader, ()))

    after_a_gap = "Copy the changes anew, with the option snapshot and another checkpoint"

    def read(self, partition: Span) -> Iterator[pyarrow.RecordBatch]:
        offsets = Range(partition.first, partition.end - 1)
        with LogReader.open(self.options.log) as reader:
            partition.check(reader)
            if not partition.is_snapshot:
                rows = new_changes(reader, partition.first, partition.end)
                return changes_rows(reader, self.options, rows)
            state = computed(reader, self.options, "net_changes", offsets, EVERYTHING)
            is_confirmed = pc.less(state["offset"], reader.confirmed_end)
        return typed(_as_changes(state, is_confirmed), relation_schema(self.options))


def _settled(reader: LogReader, first: int, end: int) -> int:
    """Return `end`, or if a transaction is open at `end`, the start of that transaction."""
    if end <= first:
        return end
    begin = open_transaction(reader, first, end)
    return end if begin is None else begin


def _as_changes(state: pyarrow.Table, confirmed: pyarrow.Array) -> pyarrow.Table:
    """Return the fields of a state with the columns of changes."""
    ms = state["time"].cast(pyarrow.timestamp("ms", "UTC")).cast(pyarrow.int64())
    hour = pc.multiply(pc.divide(ms, HOUR_MS), HOUR_MS).cast(pyarrow.timestamp("ms", "UTC"))
    nothing = pyarrow.nulls(state.num_rows)
    columns = {name: state[name] for name in state.column_names} | {
        "hour": hour,
        "record": pyarrow.repeat(SNAPSHOT, state.num_rows),
        "in_effect": pyarrow.repeat(True, state.num_rows),
        "confirmed": confirmed,
        **dict.fromkeys(("asked_offset", "asked_principal", "asked_reason"), nothing),
    }
    return pyarrow.table(columns)
