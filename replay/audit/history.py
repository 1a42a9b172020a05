"""The records that make up the state at an offset, each with the position of its effect."""

import functools
import operator
from collections.abc import Callable
from functools import cached_property
from types import TracebackType

from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from records import registry
from records.errors import RequestError, UnknownHistoryError
from replay.audit.avro_types import UNION_MEMBER_PREFIX
from replay.audit.log_frame import LogFiles, read_base, read_log

_BULK = frozenset({"PartitionRecord", "PartitionChangeRecord"})
"""Most records of any log; read by a separate scan and never cached."""

_SILENT = frozenset(
    {
        "KRaftVersionRecord",
        "LeaderChangeMessage",
        "NoOpRecord",
        "NoOpRunRecord",
        "SnapshotFooterRecord",
        "SnapshotHeaderRecord",
        "UnknownRecord",
        "VotersRecord",
    }
)
"""Records without effect on the state."""

_RARE = frozenset(registry.BY_NAME) - _BULK - _SILENT

_FOR_EVER = 2**63 - 1


class History:
    """All records up to an offset, inclusive: base checkpoint, then the log.

    There are two scans. One caches the rare record types, which are read many times; the other
    reads the partitions' records and leaves caching to the caller. Use it in a `with` statement,
    which frees the cache.
    """

    def __init__(self, spark: SparkSession, files: LogFiles, at: int) -> None:
        """Open a log; segments that must be cut are copied.

        Args:
            at: In [files.history_start - 1, files.end_offset); the lowest one is the state before
                the first kept record.

        Raises:
            UnknownHistoryError: `at` is before the kept history.
            RequestError: `at` is past the end.
        """
        if at < files.history_start - 1:
            raise UnknownHistoryError(
                f"offset {at} is unknown: history starts at {files.history_start}"
            )
        if at >= files.end_offset:
            raise RequestError(
                "OFFSET_OUT_OF_RANGE",
                f"offset {at} is not committed: the log ends at {files.end_offset}",
            )
        log = read_log(spark, files, start=files.base_end_offset, end=at + 1)
        self._rows = _placed(log, F.col("offset"))
        if files.base is not None:
            # The base's rows come before every replayed record. Among themselves they have no
            # order, because each is the whole state of its object.
            position = F.lit(files.base_end_offset - 1).cast("long")
            self._rows = self._rows.union(_placed(read_base(spark, files), position))
        self._kept: dict[Callable[[History], DataFrame], DataFrame] = {}

    def __enter__(self) -> "History":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # Last first: Spark replans every cached frame that depends on a dropped one.
        for frame in reversed(self._kept.values()):
            frame.unpersist()
        self._kept.clear()

    def kept(self, compute: "Callable[[History], DataFrame]") -> DataFrame:
        """Cache a frame that several parts need."""
        if compute not in self._kept:
            self._kept[compute] = compute(self).persist()
        return self._kept[compute]

    def has(self, *names: str) -> bool:
        """True if any of these rare record types occurs."""
        return not self._present.isdisjoint(names)

    def of(self, name: str) -> DataFrame:
        """Return the records of one rare type that took effect.

        Returns:
            One row per record: `position` long, then the record's fields. The last record of a key
            is the one with the highest position.
        """
        rows = self.rare.where(F.col(name).isNotNull()).select("position", f"{name}.*")
        # Spark removes everything that depends on an empty frame from its plan.
        return rows if self.has(name) else rows.where(F.lit(False))

    @cached_property
    def rare(self) -> DataFrame:
        """The records that took effect, except those of partitions.

        Returns:
            One row per record: `position` long, and a struct for each rare record type under its
            name, of which one is not null.
        """
        return self.kept(_rare_in_effect)

    @cached_property
    def partitions(self) -> DataFrame:
        """The partitions' records that took effect.

        Returns:
            One row per record: `position` long and the structs PartitionRecord and
            PartitionChangeRecord, of which one is not null.
        """
        return self._in_effect(self._of_types(_BULK))

    @cached_property
    def _present(self) -> frozenset[str]:
        names = sorted(_RARE)
        counts = self.kept(_rare_rows).agg(*(F.count(name).alias(name) for name in names)).first()
        assert counts is not None
        return frozenset(name for name in names if counts[name])

    def _of_types(self, names: frozenset[str]) -> DataFrame:
        members = {name: F.col(f"payload.{UNION_MEMBER_PREFIX}{name}") for name in sorted(names)}
        wanted = functools.reduce(operator.or_, (m.isNotNull() for m in members.values()))
        return self._rows.where(wanted).select(
            "position", *(member.alias(name) for name, member in members.items())
        )

    def _in_effect(self, rows: DataFrame) -> DataFrame:
        """Drop the rows of transactions that were aborted or are still open.

        Nothing else is written while a transaction is open, so a completed transaction's records
        keep their order when they take effect at its end.
        """
        if not self.has("BeginTransactionRecord"):
            return rows
        unfinished = F.broadcast(self.kept(_unfinished_transactions))
        inside = F.col("position").between(F.col("begin"), F.col("last"))
        return rows.join(unfinished, inside, "left_anti")


def _placed(rows: DataFrame, position: Column) -> DataFrame:
    return rows.select(position.alias("position"), "payload")


def _rare_rows(history: History) -> DataFrame:
    return history._of_types(_RARE)


def _rare_in_effect(history: History) -> DataFrame:
    return history._in_effect(history.kept(_rare_rows)).coalesce(1)


def _unfinished_transactions(history: History) -> DataFrame:
    """Return (begin long, last long), one row per transaction that did not end."""
    began, ended = F.col("BeginTransactionRecord"), F.col("EndTransactionRecord")
    markers = history.kept(_rare_rows).where(
        began.isNotNull() | ended.isNotNull() | F.col("AbortTransactionRecord").isNotNull()
    )
    # There are few markers, so one task may sort them all.
    following = Window.orderBy("position")
    return (
        markers.select(
            began.isNotNull().alias("began"),
            F.col("position").alias("begin"),
            F.lead(ended.isNotNull()).over(following).alias("ended"),
            F.lead("position", 1, _FOR_EVER).over(following).alias("last"),
        )
        .where("began AND NOT coalesce(ended, false)")
        .select("begin", "last")
    )
