"""Incremental export of the effective changes to Parquet files, one per run and day.

A run writes the changes after the watermark (the end of the previous run) to a staging folder,
moves the files into place, and then advances the watermark. export_targets.py describes how an
interrupted run is repaired.
"""

import dataclasses
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from metadata_log.files.fs import Fs
from metadata_log.reader.log_reader import LogReader
from records.errors import RequestError, UnknownHistoryError
from replay.audit.earlier_part import where_it_is
from replay.audit.export_targets import ExportTarget, Watermark, open_target
from replay.audit.stream_position import check_same_history, stream_position

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from replay.audit.log_files import LogFiles

OpenSpark = Callable[[], "AbstractContextManager[tuple[SparkSession, LogFiles]]"]
"""Starts Spark over the log. Not called when there is nothing to export."""


class Exported(msgspec.Struct, frozen=True, kw_only=True):
    """Result of an export run: the changes at offsets in [from_offset, to_offset) were added.

    `unconfirmed_rows` are the changes after `to_offset` that Kafka may still replace; the next run
    replaces them.
    """

    from_offset: int
    to_offset: int
    files: int
    rows: int
    unconfirmed_rows: int = 0


def export_changes(
    reader: LogReader,
    location: str,
    open_spark: OpenSpark,
    *,
    show_secrets: bool = False,
    include_unconfirmed: bool = False,
    scratch: Path | str | None = None,
    fs: Fs | None = None,
) -> Exported:
    """Export the confirmed changes of a log that are not yet in the location.

    The export stops at the start of a transaction that is still open, because the transaction may
    be aborted. If a bucket has the claim of an unfinished run, only the claimed range is exported;
    the next run continues from there.

    Args:
        location: A directory that this machine and Spark's workers see, created if necessary, or
            `s3://bucket/prefix`.
        open_spark: Opens a Spark session and the log's files for a `with` block.
        show_secrets: Keep secret values. All runs into a location must choose the same.
        include_unconfirmed: Also write the changes after the confirmed ones, marked, to files that
            the next run removes.
        scratch: For a bucket: a folder that this machine and Spark's workers see.

    Raises:
        RequestError: WRONG_LOG: the location holds changes of another log or history.
        UnknownHistoryError: the log no longer has the offsets that follow the watermark.
        UnavailableError: another process is exporting to the location, or the disk is full.
        CorruptLogError: the log or the watermark is damaged.
    """
    with open_target(location, fs) as target:
        before = target.watermark()
        first = _first_offset(reader, before, location, show_secrets=show_secrets)
        end = _end_offset(reader, before)
        log_end = reader.end_offset if include_unconfirmed else end
        target.remove_unconfirmed(will_add=include_unconfirmed)
        done = Exported(from_offset=first, to_offset=first, files=0, rows=0)
        if first >= log_end:
            return done
        start = Watermark(
            start_offset=first if before is None else before.start_offset,
            position=stream_position(reader, first),
            show_secrets=show_secrets,
        )
        with open_spark() as (spark, files):
            run = _Run(target, reader, start, spark, files, scratch)
            if first < end:
                done = run.add(first, end)
            if end < log_end:
                count = run.add_unconfirmed(done.to_offset, log_end)
                done = msgspec.structs.replace(done, unconfirmed_rows=count)
    return done


@dataclasses.dataclass(frozen=True)
class _Run:
    """An export run that has something to export; `start` is the watermark before the run."""

    target: ExportTarget
    reader: LogReader
    start: Watermark
    spark: "SparkSession"
    files: "LogFiles"
    scratch: Path | str | None

    def add(self, first: int, end: int) -> Exported:
        """Export the changes at offsets in [first, end), up to an open transaction."""
        with self.target.staging(self.spark, self.scratch) as staging:
            end = self._stage(first, end, staging, confirmed=True)
            if first >= end:
                return Exported(from_offset=first, to_offset=first, files=0, rows=0)
            position = stream_position(self.reader, end)
            self.target.claim(msgspec.structs.replace(self.start, claimed=position))
            rows = self.target.publish(staging, first, end)
        self.target.advance(msgspec.structs.replace(self.start, position=position))
        return Exported(from_offset=first, to_offset=end, files=len(rows), rows=sum(rows))

    def add_unconfirmed(self, first: int, end: int) -> int:
        """Export unconfirmed changes at offsets in [first, end); return their number.

        The next run removes them.
        """
        with self.target.staging(self.spark, self.scratch) as staging:
            end = self._stage(first, end, staging, confirmed=False)
            return sum(self.target.publish(staging, first, end, confirmed=False))

    def _stage(self, first: int, end: int, staging: Path, *, confirmed: bool) -> int:
        return _stage(
            self.spark,
            self.files,
            first,
            end,
            staging,
            confirmed=confirmed,
            show_secrets=self.start.show_secrets,
        )


def _end_offset(reader: LogReader, before: Watermark | None) -> int:
    """Return the end of the range to export: an unfinished run's claim, or the confirmed end."""
    if before is None or before.claimed is None:
        return reader.confirmed_end
    check_same_history(reader, before.claimed)
    return before.claimed.end_offset


def _first_offset(
    reader: LogReader, before: Watermark | None, location: str, *, show_secrets: bool
) -> int:
    if before is None:
        return reader.history_start
    if before.show_secrets != show_secrets:
        raise RequestError(
            "INVALID_REQUEST",
            f"{location} was exported {'with' if before.show_secrets else 'without'} secrets; "
            "continue in the same way, or export to another location",
        )
    first = before.position.end_offset
    if first < reader.history_start:
        raise UnknownHistoryError(
            f"{location} ends at {first}, and the log starts at {reader.history_start}: records in "
            f"between are no longer kept{where_it_is(reader)}; export to another location"
        )
    check_same_history(reader, before.position)
    return first


def _stage(
    spark: "SparkSession",
    files: "LogFiles",
    first: int,
    end: int,
    staging: Path,
    *,
    confirmed: bool,
    show_secrets: bool,
) -> int:
    """Write the changes at offsets in [first, end) to the staging folder; return their end offset.

    The returned offset is below `end` if a transaction is still open.
    """
    from replay.audit.changes import COLUMNS, relation
    from replay.audit.history import History
    from replay.audit.session import activated

    with activated(spark), History(spark, files, end - 1, columns=COLUMNS) as history:
        settled = min(end, history.settled_end)
        rows = relation(history, "changes", first, show_secrets=show_secrets)
        # Days in UTC, whatever the session's time zone is.
        day = "date_from_unix_date(CAST(unix_millis(time) DIV 86400000 AS int)) AS day"
        by_day = rows.selectExpr("*", f"{confirmed} AS confirmed", day).repartition("day")
        sorted_rows = by_day.sortWithinPartitions("day", "offset")
        sorted_rows.write.partitionBy("day").mode("overwrite").parquet(f"file://{staging}")
    return settled
