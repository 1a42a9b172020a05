"""The records that determine the state at an offset, with the positions where they take effect."""

import uuid
from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from records.avro.schema import projected_schema
from replay.audit.avro_types import OTHER, UNION_MEMBER_PREFIX, narrow
from replay.audit.decoding.columns import Wanted
from replay.audit.decoding.log_scan import LogScan, Task
from replay.audit.fold.objects import CONTROL, FOR_EVER
from replay.audit.log_files import LogFiles
from replay.audit.log_frame import read_base, read_log
from replay.audit.record_types import BULK, RARE, scan_tasks
from replay.audit.session import is_remote

_MARKERS = """
    sort_array(collect_list(CASE
        WHEN BeginTransactionRecord IS NOT NULL THEN struct(position, 'begin' AS kind)
        WHEN EndTransactionRecord IS NOT NULL THEN struct(position, 'end' AS kind)
        WHEN AbortTransactionRecord IS NOT NULL THEN struct(position, 'abort' AS kind)
    END)) AS markers
"""


class History:
    """All records up to an offset, inclusive: the base checkpoint's, then the log's.

    Each scan decodes only the record types that it needs. The rare types are cached, because they
    are read several times. Use it in a `with` statement, which frees the cache.

    Attributes:
        spark: The session.
        packed: Cached frames of packed records, by the records' types and fields.
    """

    def __init__(
        self, spark: SparkSession, files: LogFiles, at: int, *, columns: Sequence[str] = ()
    ) -> None:
        """Select the records up to an offset; `files` must be frozen.

        Args:
            at: In [files.history_start - 1, files.end_offset); the lowest value selects the state
                before the first kept record.
            columns: Envelope columns to add to all frames.

        Raises:
            UnknownHistoryError: `at` is before the kept history.
            RequestError: `at` is past the end.
        """
        files.check_known(at)
        self.spark = spark
        self._files = files
        self._at = at
        self._columns = tuple(columns)
        self._views: dict[int, tuple[str, DataFrame]] = {}
        self._kept: list[DataFrame] = []
        self.packed: dict[frozenset[str], DataFrame] = {}

    def __enter__(self) -> "History":
        return self

    def __exit__(self, *_: object) -> None:
        for frame in self._kept:
            frame.unpersist()

    def sql(self, text: str, **frames: DataFrame) -> DataFrame:
        """Run an SQL query over frames.

        `{name}` in the text stands for the frame given as the argument `name`, `{rare}` for
        `self.rare`.
        """
        named = {"rare": self.rare, **frames}
        if is_remote(self.spark):
            views = {name: self._view(frame) for name, frame in named.items()}
            return self.spark.sql(text.format(**views))
        # One text costs one call of Java; an expression made of columns costs one for each.
        return self.spark.sql(text, **named)

    def _view(self, frame: DataFrame) -> str:
        """Return the name of a temporary view of a frame; create it on first use.

        A client of Spark Connect sends a frame's plan at each reference, and the server analyzes it
        each time; a view is sent and analyzed once.
        """
        if id(frame) not in self._views:
            name = f"history_{uuid.uuid4().hex}"
            frame.createOrReplaceTempView(name)
            # With the frame, so that no other one gets its id.
            self._views[id(frame)] = (name, frame)
        return self._views[id(frame)][0]

    def has(self, *names: str) -> bool:
        """True if the history has a record of any of these rare types."""
        return any(self._found[name] for name in names)

    @cached_property
    def rare(self) -> DataFrame:
        """The records that took effect, except those of partitions.

        Returns:
            One row per record: `position` long, and a struct for each rare record type under its
            name, exactly one of which is not null. The last record of a key is the one with the
            highest position.
        """
        return self.in_effect(self.rare_written, self.undone).coalesce(1)

    @cached_property
    def partitions(self) -> DataFrame:
        """The records of partitions that took effect.

        Returns:
            One row per record: `position` long and the structs PartitionRecord and
            PartitionChangeRecord, exactly one of which is not null.
        """
        return self.in_effect(self.partitions_written, self.undone)

    @property
    def is_one_task(self) -> bool:
        """True if a single task reads all records, so that they are in order."""
        return len(self._tasks) == 1

    def reading(self, wanted: Wanted) -> LogScan:
        """Return the tasks that read all records up to the offset, those of the base first."""
        return LogScan(self._tasks, wanted, self._files.base_end_offset, self._at + 1)

    @cached_property
    def _tasks(self) -> tuple[Task, ...]:
        return scan_tasks(self._files, self._at)

    def kept(self, frame: DataFrame) -> DataFrame:
        """Cache a frame that is read several times, until this history is closed."""
        self._kept.append(frame.persist())
        return self._kept[-1]

    @cached_property
    def rare_written(self) -> DataFrame:
        """All records except those of partitions, including records that took no effect."""
        return self.kept(self.of_types(RARE))

    @cached_property
    def partitions_written(self) -> DataFrame:
        """All records of partitions, including records that took no effect."""
        return self.of_types(BULK)

    @property
    def settled_end(self) -> int:
        """The first offset of the transaction that is still open, or the end if there is none."""
        open_ = (first for first, last in self.undone if last == FOR_EVER)
        return next(open_, self._at + 1)

    @property
    def replayed_from(self) -> int:
        """The first offset after the base; without a base, the log's start."""
        return self._files.base_end_offset

    @property
    def misplaced_marker(self) -> int | None:
        """The position of the first misplaced transaction marker, or None.

        A begin marker is misplaced inside a transaction; an end or abort marker is misplaced
        outside one.
        """
        is_open = False
        for mark in self._found["markers"]:
            if is_open == (mark.kind == "begin"):
                return int(mark.position)
            is_open = not is_open
        return None

    def in_effect(self, rows: DataFrame, undone: Sequence[tuple[int, int]]) -> DataFrame:
        """Drop the rows of transactions that were aborted or are still open.

        While a transaction is open, only its own records are written. So the records of a completed
        transaction take effect in the order of their positions.

        Args:
            undone: The first and the last position of each of these transactions.
        """
        if not undone:
            return rows
        return rows.join(self._spans(undone), F.expr(_undone(rows)), "left_anti")

    @cached_property
    def _found(self) -> Row:
        """The number of records of each rare type, and the transaction markers in order."""
        counts = [f"count({name}) AS {name}" for name in sorted(RARE)]
        found = self.rare_written.selectExpr(*counts, _MARKERS).first()
        assert found is not None
        return found

    def of_types(self, names: frozenset[str]) -> DataFrame:
        """Return all records of some types, including those that took no effect.

        Returns:
            position long, the columns of the envelope, and a struct for each type under its name,
            exactly one of which is not null.
        """
        schema = narrow(projected_schema({"offset", *self._columns}, names))
        log = read_log(
            self.spark,
            self._files,
            start=self._files.base_end_offset,
            end=self._at + 1,
            schema=schema,
        )
        rows = log.selectExpr("offset AS position", *self._columns, "payload")
        if self._files.base is not None:
            # The base's rows come before every replayed record. Among themselves they have no
            # order, because each is the whole state of its object.
            position = f"{self._files.base_end_offset - 1}L AS position"
            base = read_base(self.spark, self._files, schema)
            rows = rows.union(base.selectExpr(position, *self._columns, "payload"))
        named = (f"payload.{UNION_MEMBER_PREFIX}{name} AS {name}" for name in sorted(names))
        wanted = rows.where(f"payload.{UNION_MEMBER_PREFIX}{OTHER} IS NULL")
        return wanted.selectExpr("position", *self._columns, *named)

    @cached_property
    def undone(self) -> list[tuple[int, int]]:
        """The first and the last position of each aborted or still open transaction."""
        return _unfinished_transactions(self._found["markers"])

    def _spans(self, undone: Sequence[tuple[int, int]]) -> DataFrame:
        """Return (aborted_at long, last long) of each aborted or still open transaction."""
        # VALUES stay in Java; rows of Python would start its workers.
        values = ", ".join(f"({begin}L, {last}L)" for begin, last in undone)
        return self.spark.sql(f"VALUES {values} AS spans(aborted_at, last)").hint("broadcast")


def _undone(rows: DataFrame) -> str:
    """Return an SQL condition: true if the row is of an aborted or still open transaction."""
    control = [f"{name} IS NULL" for name in CONTROL if name in rows.columns]
    inside = "position BETWEEN aborted_at AND last"
    return f"{inside} AND (last = {FOR_EVER}L OR {' AND '.join(control)})" if control else inside


def _unfinished_transactions(markers: list[Row]) -> list[tuple[int, int]]:
    """Return the first and last position of each transaction that was aborted or is still open."""
    after_all = Row(position=FOR_EVER, kind="none")
    return [
        (marker.position, following.position)
        for marker, following in pairwise([*markers, after_all])
        if marker.kind == "begin" and following.kind != "end"
    ]
