"""Destinations of exported changes: a directory, or a prefix in a bucket, each with a watermark.

    LOCATION/day=2026-01-31/<first offset>-<end offset>.parquet
    LOCATION/day=2026-01-31/<first offset>-<end offset>.unconfirmed.parquet
    LOCATION/_watermark.json

A directory is locked. Files in it that end beyond its watermark were left by an interrupted run;
the next run removes them. Each run also removes the unconfirmed files of the run before. A bucket
has no locks, so a run first claims its range of offsets in the watermark. A run that finds a claim
exports the claimed range again, even if the claiming run is still active: the rows and file names
are the same, so nothing is duplicated, whichever of the two runs writes last.
"""

import re
import shutil
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, Self

import msgspec

from metadata_log.files.fs import ByteStore, Fs, OsFs
from metadata_log.files.json_file import read_json
from metadata_log.files.names import MANIFEST
from metadata_log.reader.position import Position
from metadata_log.stores.store import DirectoryStore, Store, open_store
from records.errors import RequestError
from replay.audit.session import is_cluster

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WATERMARK = "_watermark.json"
_STAGING = "_metalog_staging"
_FORMAT = 1
_DAY = re.compile(r"day=\d{4}-\d{2}-\d{2}")
_FILE = re.compile(r"(\d{20})-(\d{20})\.parquet")
_UNCONFIRMED = re.compile(r"\d{20}-\d{20}\.unconfirmed\.parquet")


class Watermark(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """State of an export: the changes at [start_offset, position.end_offset) are exported.

    Attributes:
        claimed: Position at the end of the range that an unfinished run is exporting; null if there
            is no such run.
    """

    start_offset: int
    position: Position
    show_secrets: bool
    claimed: Position | None = None
    format: int = _FORMAT


class ExportTarget(Protocol):
    """A destination of exported files. Use it in a `with` statement."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *error: object) -> None: ...

    def watermark(self) -> Watermark | None:
        """Return the watermark; None if nothing was exported yet.

        Raises:
            RequestError: UNSUPPORTED_VERSION: a later release wrote the watermark.
            CorruptLogError: the watermark is damaged.
        """
        ...

    def staging(
        self, spark: "SparkSession", scratch: Path | str | None
    ) -> AbstractContextManager[Path]:
        """Yield a folder for Spark to write to.

        Args:
            scratch: A folder that Spark's workers see.

        Raises:
            RequestError: INVALID_REQUEST: a cluster needs `scratch`, and it is None.
        """
        ...

    def claim(self, watermark: Watermark) -> None:
        """Ensure that no other range is written until the watermark advances.

        Raises:
            UnavailableError: another run wrote the watermark first.
        """
        ...

    def publish(self, staging: Path, first: int, end: int, *, confirmed: bool = True) -> list[int]:
        """Move the staged files into place; return the number of rows of each file."""
        ...

    def remove_unconfirmed(self, *, will_add: bool) -> None:
        """Remove the files of unconfirmed changes.

        Args:
            will_add: True if this run will write unconfirmed changes again.

        Raises:
            RequestError: INVALID_REQUEST: `will_add` is true, and the target is a bucket.
        """
        ...

    def advance(self, watermark: Watermark) -> None:
        """Complete the run: write its watermark atomically, and fsync it.

        Raises:
            UnavailableError: another run wrote the watermark first.
        """
        ...


def open_target(location: str, fs: Fs | None = None) -> ExportTarget:
    """Return the target for a directory (also as a `file://` URL) or for `s3://bucket/prefix`.

    Raises:
        RequestError: INVALID_REQUEST: the location is a log, or a URL of another kind.
    """
    place = location.removeprefix("file://")
    store = open_store(place, fs)
    if MANIFEST in store.names():
        raise RequestError(
            "INVALID_REQUEST", f"{location!r} is a log; name another place for the export"
        )
    if isinstance(store, DirectoryStore):
        return ExportDirectory(fs or OsFs(), store)
    return ExportBucket(place, store)


def _read_watermark(fs: ByteStore, path: Path) -> Watermark | None:
    try:
        found = read_json(fs, path, Watermark, "remove it, and all is exported anew")
    except FileNotFoundError:
        return None
    if found.format > _FORMAT:
        raise RequestError(
            "UNSUPPORTED_VERSION", f"{path} has format {found.format}: use a later release"
        )
    return found


def _put_watermark(store: Store, watermark: Watermark) -> None:
    store.put(WATERMARK, [msgspec.json.encode(watermark)])


def _staged_files(staging: Path) -> Iterator[tuple[Path, int]]:
    """Yield the staged files, at most one per day, each with its number of rows."""
    from pyarrow.parquet import read_metadata

    days = set()
    for path in sorted(staging.glob("day=*/*.parquet")):
        assert path.parent.name not in days, f"two files for one day: {path}"
        days.add(path.parent.name)
        yield path, read_metadata(path).num_rows


def _file_name(first: int, end: int, *, confirmed: bool = True) -> str:
    return f"{first:020}-{end:020}{'' if confirmed else '.unconfirmed'}.parquet"


class ExportDirectory:
    """A directory of exported files, locked while it is open."""

    def __init__(self, fs: Fs, store: DirectoryStore) -> None:
        self._fs = fs
        self._store = store
        self._directory = store.directory
        self._staging = store.directory / _STAGING

    def __enter__(self) -> Self:
        self._lock = self._store.prepare()
        self._remove_staging()
        return self

    def __exit__(self, *error: object) -> None:
        if self._lock is not None:
            self._lock.release()

    def watermark(self) -> Watermark | None:
        return _read_watermark(self._fs, self._directory / WATERMARK)

    @contextmanager
    def staging(self, spark: "SparkSession", scratch: Path | str | None) -> Iterator[Path]:
        """Yield a folder within the directory, so that its files can be published by a rename."""
        # A folder for each run: Spark's Java may outlive a run that is killed, for a moment.
        yield self._staging / uuid.uuid4().hex
        self._remove_staging()

    def claim(self, watermark: Watermark) -> None:
        """Remove the files that end beyond the watermark; an interrupted run left them."""
        for day in self._days():
            for name in self._fs.list(day):
                file = _FILE.fullmatch(name)
                if file is not None and int(file[2]) > watermark.position.end_offset:
                    self._fs.unlink(day / name)

    def publish(self, staging: Path, first: int, end: int, *, confirmed: bool = True) -> list[int]:
        rows = []
        for staged, row_count in _staged_files(staging):
            day = self._directory / staged.parent.name
            if not self._fs.exists(day):
                self._fs.make_directory(day)
            self._sync(staged)
            self._fs.rename(staged, day / _file_name(first, end, confirmed=confirmed))
            self._fs.sync_directory(day)
            rows.append(row_count)
        self._fs.sync_directory(self._directory)
        return rows

    def advance(self, watermark: Watermark) -> None:
        _put_watermark(self._store, watermark)

    def remove_unconfirmed(self, *, will_add: bool) -> None:
        for day in self._days():
            for name in filter(_UNCONFIRMED.fullmatch, self._fs.list(day)):
                self._fs.unlink(day / name)

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
        shutil.rmtree(self._staging, ignore_errors=True)


class ExportBucket:
    """A prefix in a bucket; a file is replaced only if it has not changed since the run began."""

    def __init__(self, url: str, store: Store) -> None:
        self._url = url.rstrip("/")
        self._store = store

    def __enter__(self) -> Self:
        self._store.prepare()
        return self

    def __exit__(self, *error: object) -> None:
        """Do nothing: a bucket has no lock to release."""

    def watermark(self) -> Watermark | None:
        return _read_watermark(self._store.fs, self._store.directory / WATERMARK)

    @contextmanager
    def staging(self, spark: "SparkSession", scratch: Path | str | None) -> Iterator[Path]:
        if scratch is None and is_cluster(spark):
            raise RequestError(
                "INVALID_REQUEST",
                f"{self._url}: an export by a Spark cluster needs a folder that its workers and "
                "this machine see; name one (`scratch` of audit.open), or export on one machine",
            )
        with tempfile.TemporaryDirectory(prefix="metalog-export-", dir=scratch) as folder:
            yield Path(folder, "changes")

    def claim(self, watermark: Watermark) -> None:
        _put_watermark(self._store, watermark)

    def publish(self, staging: Path, first: int, end: int, *, confirmed: bool = True) -> list[int]:
        assert confirmed, "refused by remove_unconfirmed"
        rows = []
        for staged, row_count in _staged_files(staging):
            day = open_store(f"{self._url}/{staged.parent.name}")
            day.prepare()
            day.put(_file_name(first, end), [staged.read_bytes()])
            rows.append(row_count)
        return rows

    def advance(self, watermark: Watermark) -> None:
        _put_watermark(self._store, watermark)

    def remove_unconfirmed(self, *, will_add: bool) -> None:
        if will_add:
            raise RequestError(
                "INVALID_REQUEST",
                f"{self._url}: unconfirmed changes cannot be exported to a bucket, which has no "
                "lock against two runs at once; export them to a directory",
            )
