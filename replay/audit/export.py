"""Export of the effective changes as Parquet files by day, again and again, each change once.

    LOCATION/day=2026-01-31/<first offset>-<end offset>.parquet
    LOCATION/_watermark.json                                        written last

A run writes the changes from the watermark on into a staging folder, renames the files into place,
and then moves the watermark. Files that end beyond the watermark are what a run left that died in
between; the next one removes them before it does anything else.
"""

import re
import shutil
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from metadata_log.care.store import DirectoryStore
from metadata_log.fs import Fs, OsFs
from metadata_log.json_file import read_json
from metadata_log.log_reader import LogReader
from metadata_log.names import MANIFEST
from metadata_log.position import Position
from records.errors import RequestError, UnknownHistoryError
from replay.audit.stream_position import check_same_history, stream_position

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from replay.audit.log_frame import LogFiles

WATERMARK = "_watermark.json"
_STAGING = "_metalog_staging"
_FORMAT = 1
_DAY = re.compile(r"day=\d{4}-\d{2}-\d{2}")
_FILE = re.compile(r"(\d{20})-(\d{20})\.parquet")

OpenSpark = Callable[[], "AbstractContextManager[tuple[SparkSession, LogFiles]]"]
"""Starts Spark over the log. Not called when there is nothing to export."""


class Watermark(msgspec.Struct, frozen=True, kw_only=True):
    """The changes at offsets in [start_offset, position.end_offset) are exported."""

    start_offset: int
    position: Position
    show_secrets: bool
    format: int = _FORMAT


class Exported(msgspec.Struct, frozen=True, kw_only=True):
    """What a run added: the changes at offsets in [from_offset, to_offset)."""

    from_offset: int
    to_offset: int
    files: int
    rows: int


def export_changes(
    reader: LogReader,
    location: str,
    open_spark: OpenSpark,
    *,
    show_secrets: bool = False,
    fs: Fs | None = None,
) -> Exported:
    """Export the changes that are confirmed in a log and not in a location yet.

    Up to the start of a transaction that is still open: whether it takes effect is not known.

    Args:
        location: A directory that this machine and Spark's workers see; created if necessary.
        show_secrets: Keep secret values. All runs into a location must choose the same.

    Raises:
        RequestError: WRONG_LOG: the location holds changes of another log or history.
        UnknownHistoryError: the log no longer has what follows the watermark.
        UnavailableError: another process is exporting there, or the disk is full.
        CorruptLogError: the log or the watermark is damaged.
    """
    folder = ExportFolder(fs or OsFs(), _directory(location))
    with folder:
        before = folder.watermark()
        first = _first_offset(reader, before, location, show_secrets=show_secrets)
        folder.remove_unfinished(first)
        end = reader.confirmed_end
        if first < end:
            with open_spark() as (spark, files):
                end = _stage(spark, files, first, end, folder.staging, show_secrets=show_secrets)
        if first >= end:
            return Exported(from_offset=first, to_offset=first, files=0, rows=0)
        rows = folder.publish(first, end)
        start = first if before is None else before.start_offset
        position = stream_position(reader, end)
        folder.advance(Watermark(start_offset=start, position=position, show_secrets=show_secrets))
    return Exported(from_offset=first, to_offset=end, files=len(rows), rows=sum(rows))


def _directory(location: str) -> Path:
    path = location.removeprefix("file://")
    if not path or "://" in path or Path(path, MANIFEST).exists():
        raise RequestError(
            "INVALID_REQUEST",
            f"{location!r}: name a directory of its own, not a log or an object store",
        )
    return Path(path).absolute()


def _first_offset(
    reader: LogReader, before: Watermark | None, location: str, *, show_secrets: bool
) -> int:
    if before is None:
        return reader.history_start
    if before.show_secrets != show_secrets:
        raise RequestError(
            "INVALID_REQUEST",
            f"{location} was exported {'with' if before.show_secrets else 'without'} secrets; go "
            "on in the same way, or export to another location",
        )
    first = before.position.end_offset
    if first < reader.history_start:
        raise UnknownHistoryError(
            f"{location} ends at {first}, and the log starts at {reader.history_start}: what is "
            "between is no longer known; export to another location"
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
    show_secrets: bool,
) -> int:
    """Write the changes at offsets in [first, end) to the staging folder; return their end."""
    from replay.audit.changes import changes
    from replay.audit.history import History
    from replay.audit.settings import COLUMNS

    with History(spark, files, end - 1, columns=COLUMNS) as history:
        settled = min(end, history.settled_end)
        rows = changes(history, first, show_secrets=show_secrets)
        # Days in UTC, whatever the session's time zone is.
        day = "date_from_unix_date(CAST(unix_millis(time) DIV 86400000 AS int)) AS day"
        by_day = rows.selectExpr("*", day).repartition("day")
        sorted_rows = by_day.sortWithinPartitions("day", "offset")
        sorted_rows.write.partitionBy("day").mode("overwrite").parquet(f"file://{staging}")
    return settled


class ExportFolder:
    """A directory of exported files. Use it in a `with` statement, which locks it."""

    def __init__(self, fs: Fs, directory: Path) -> None:
        self._fs = fs
        self._directory = directory
        self._store = DirectoryStore(fs, directory)
        self.staging = directory / _STAGING

    def __enter__(self) -> "ExportFolder":
        self._lock = self._store.prepare()
        self._remove_staging()
        return self

    def __exit__(self, *error: object) -> None:
        if self._lock is not None:
            self._lock.release()

    def watermark(self) -> Watermark | None:
        """Return how far the export goes; None if nothing was exported.

        Raises:
            RequestError: UNSUPPORTED_VERSION: a later release wrote it.
            CorruptLogError: it is damaged.
        """
        path = self._directory / WATERMARK
        try:
            found = read_json(self._fs, path, Watermark, "remove it, and all is exported anew")
        except FileNotFoundError:
            return None
        if found.format > _FORMAT:
            raise RequestError(
                "UNSUPPORTED_VERSION", f"{path} has format {found.format}: use a later release"
            )
        return found

    def remove_unfinished(self, end_offset: int) -> None:
        """Remove the files that end beyond an offset: the run that wrote them did not finish."""
        for day in self._days():
            for name in self._fs.list(day):
                file = _FILE.fullmatch(name)
                if file is not None and int(file[2]) > end_offset:
                    self._fs.unlink(day / name)

    def publish(self, first: int, end: int) -> list[int]:
        """Move the staged files into place; return how many rows each has."""
        from pyarrow.parquet import read_metadata

        rows = []
        for staged in sorted(self.staging.glob("day=*/*.parquet")):
            day = self._directory / staged.parent.name
            if not self._fs.exists(day):
                self._fs.make_directory(day)
            target = day / f"{first:020}-{end:020}.parquet"
            assert not self._fs.exists(target), f"two files for one day: {staged}"
            rows.append(read_metadata(staged).num_rows)
            self._sync(staged)
            self._fs.rename(staged, target)
            self._fs.sync_directory(day)
        self._fs.sync_directory(self._directory)
        self._remove_staging()
        return rows

    def advance(self, watermark: Watermark) -> None:
        """Write the watermark, atomically and synced: the run is done."""
        self._store.put(WATERMARK, [msgspec.json.encode(watermark)])

    def _days(self) -> list[Path]:
        names = filter(_DAY.fullmatch, self._fs.list(self._directory))
        return [self._directory / name for name in names]

    def _sync(self, path: Path) -> None:
        file = self._fs.open(path, write=True)
        try:
            file.sync()
        finally:
            file.close()

    def _remove_staging(self) -> None:
        shutil.rmtree(self.staging, ignore_errors=True)
