"""The records of a log as Arrow batches in this process, for the folds (fold/)."""

from collections.abc import Iterator

import pyarrow
import pyarrow.compute as pc

from records import registry
from records.avro.schema import envelope_schema
from replay.audit.decoding.columns import Wanted
from replay.audit.decoding.log_scan import POSITION, LogScan, tasks
from replay.audit.fold import workers
from replay.audit.log_files import LogFiles
from replay.audit.record_types import BULK, MARKERS, RARE, scan_tasks, wanted_records
from replay.audit.states import NEVER_MS

_MARKER = rf'^\{{"({"|".join(sorted(MARKERS))})"'


class Records:
    """The records that the folds need, in order; decoded once for all queries up to an offset."""

    def __init__(self, files: LogFiles, *, keep: bool) -> None:
        """Read the records of a log when they are needed.

        Args:
            keep: Decode records of all types, because several queries will need them.
        """
        self.files = files
        self._keep = keep
        self._decoded: dict[int, tuple[frozenset[str], list[pyarrow.RecordBatch]]] = {}

    def of_types(self, at: int, types: frozenset[str]) -> list[pyarrow.RecordBatch]:
        """Return all records up to an offset, of these types and possibly more, with their origin.

        Raises:
            UnknownHistoryError, RequestError: as for `LogFiles.check_known`.
            CorruptLogError: a file is damaged.
        """
        known, batches = self._decoded.get(at, (frozenset(), []))
        if not types <= known:
            self.files.check_known(at)
            types = BULK | RARE if self._keep else types | known
            scan = LogScan(
                scan_tasks(self.files, at),
                wanted_records(types, with_origin=True),
                self.files.base_end_offset,
                at + 1,
            )
            found = [each for number in range(len(scan.tasks)) for each in scan.batches(number)]
            # A block makes a batch, and an own log has blocks of a few records: folding each of
            # them by itself takes longer than to copy them.
            batches = (
                pyarrow.Table.from_batches(found).combine_chunks().to_batches() if found else []
            )
            self._decoded[at] = types, batches
        return batches

    def others(self, at: int, types: frozenset[str] = RARE) -> list[pyarrow.RecordBatch]:
        """Return the records up to an offset, without those of partitions."""
        return [each.filter(each["record"].is_valid()) for each in self.of_types(at, types)]

    def effect_of(self, first: int, last: int) -> int:
        """Return the first offset whose record takes effect at or after `first`.

        This is `first` itself or, if a transaction is open at `first`, the transaction's start,
        because all records of a transaction take effect at its end.

        Args:
            last: The end of the range, up to which records are decoded.
        """
        if first <= self.files.base_end_offset:
            return first
        rare = self.others(last, MARKERS)
        markers = (each.filter(pc.match_substring_regex(each["record"], _MARKER)) for each in rare)
        for found in workers.last_marker(markers, first):
            if found["is_begin"][0].as_py():
                return int(found["position"][0].as_py())
        return first


def period(files: LogFiles, first: int, last: int) -> tuple[int | None, int | None]:
    """Return the times in ms of the last records at or before two offsets, None for no record."""
    paths = dict.fromkeys(path for at in (first, last) for path in files.in_range(at, at + 1))
    run = pyarrow.schema([("count", pyarrow.int64()), ("last_timestamp", pyarrow.int64())])
    wanted = Wanted(
        types=pyarrow.schema([(POSITION, pyarrow.int64()), ("timestamp", pyarrow.int64()), *run]),
        paths={
            POSITION: ("offset",),
            "timestamp": ("timestamp",),
            **{name: (f"payload.NoOpRunRecord.{name}",) for name in run.names},
        },
        union="payload",
        kept=frozenset(registry.BY_NAME),
        in_json=frozenset(),
        schema=envelope_schema(),
    )
    scan = LogScan(tasks([files.place(path) for path in paths]), wanted, 0, files.end_offset)
    rows = [row for number in range(len(scan.tasks)) for row in _rows(scan, number)]
    return _time_at(rows, first), _time_at(rows, last)


def known_period(files: LogFiles, first: int, last: int) -> tuple[int, int]:
    """Return the same times as `period`, but NEVER_MS or 0 in place of None."""
    first_ms, last_ms = period(files, first, last)
    return NEVER_MS if first_ms is None else first_ms, last_ms or 0


_Row = tuple[int, int, int | None, int | None]


def _rows(scan: LogScan, number: int) -> Iterator[_Row]:
    for batch in scan.batches(number):
        names = (POSITION, "timestamp", "count", "last_timestamp")
        yield from zip(*(batch[name].to_pylist() for name in names), strict=True)


def _time_at(rows: list[_Row], offset: int) -> int | None:
    """Return the time of the last record at or before an offset, None if there is none.

    A NoOpRunRecord covers several offsets, so the record may begin before the offset. Of the times
    in a run, only the first and the last are kept.
    """
    before = [row for row in rows if row[0] <= offset]
    if not before:
        return None
    position, timestamp, count, last_timestamp = max(before, key=lambda row: row[0])
    is_end = count is not None and offset == position + count - 1
    return last_timestamp if is_end else timestamp
