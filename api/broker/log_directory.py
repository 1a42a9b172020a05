"""One log directory of a broker: its id, the partitions' folders in it, and what waits to go.

    meta.properties                        whose directory this is
    orders_0/partition.metadata            one partition, and whose data it is
    org/apache/kafka/orders_0/             one of a topic in a namespace
    deleting/{topic_id}_{partition}/       stale, removed after a delay

Everything that leaves goes through `deleting/` by one rename, so that a crash never leaves half a
folder where it could be taken for a partition.
"""

import contextlib
import errno
import os
import secrets
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import msgspec

from api.broker.folders import DELETING, MOVING, partition_folder, partition_of
from api.broker.key_values import read_key_values, sync_directory, write_key_values
from api.broker.partition_metadata import (
    PartitionMetadata,
    read_partition_metadata,
    write_partition_metadata,
)
from records.base import ZERO_UUID, Uuid
from records.errors import CorruptLogError, RequestError
from records.text import parse_uuid, uuid_text
from replay.image.metadata import NAMESPACE_SEPARATOR

_META = "meta.properties"
_DELETION = "deletion"
"""File in a stale folder that says since when it waits; without a time it goes at once."""

_STAGED_AT, _DELETE_AT = "staged_at_ms", "delete_at_ms"


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """A partition's folder as it lies on disk. `metadata` is None when it has no file.

    `name` and `partition` are what the folder is called.
    """

    path: Path
    name: str
    partition: int
    metadata: PartitionMetadata | None


class Stale(msgspec.Struct, frozen=True, kw_only=True):
    """A folder in `deleting/`, and when it goes, in ms since 1970."""

    path: Path
    delete_at_ms: int


class LogDirectory:
    """One directory.

    Attributes:
        directory_id: Random, made with the directory.
    """

    def __init__(self, path: Path, directory_id: Uuid) -> None:
        """Use `LogDirectory.open`."""
        self.path = path
        self.directory_id = directory_id
        # What the files in stale folders say; they never change.
        self._deletions: dict[Path, dict[str, int]] = {}
        # Held while folders get or lose names: one thread may remove an empty parent in which
        # another is about to make a folder.
        self._names = threading.Lock()

    @classmethod
    def open(cls, path: Path, *, cluster_id: str, broker_id: int) -> "LogDirectory":
        """Open a directory, or make one of a path that does not exist or is empty.

        Raises:
            RequestError: it belongs to another cluster or broker.
            CorruptLogError: its file cannot be read.
        """
        path = path.absolute()
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        meta = path / _META
        if not meta.exists():
            directory_id = Uuid(b"\1" + secrets.token_bytes(15))
            write_key_values(
                meta,
                {
                    "version": 1,
                    "cluster_id": cluster_id,
                    "broker_id": broker_id,
                    "directory_id": uuid_text(directory_id),
                },
            )
        values = read_key_values(meta)
        if (values.get("cluster_id"), values.get("broker_id")) != (cluster_id, str(broker_id)):
            raise RequestError(
                "INCONSISTENT_CLUSTER_ID",
                f"{path} is of broker {values.get('broker_id')} in cluster "
                f"{values.get('cluster_id')}, not of broker {broker_id} in {cluster_id}; name "
                "another directory",
            )
        try:
            return cls(path, parse_uuid(values["directory_id"]))
        except KeyError:
            raise CorruptLogError(f"{meta}: there is no directory_id") from None
        except ValueError as error:
            raise CorruptLogError(f"{meta}: {error}") from error

    def partitions(self) -> Iterator[Found]:
        """Find the partitions' folders, those that were being renamed included.

        Raises:
            CorruptLogError: a file of one cannot be read.
        """
        for root, names, _ in os.walk(self.path):
            here = PurePosixPath(root).relative_to(self.path)
            for name in sorted(names):
                called = partition_of(here / name)
                if called is not None:
                    path = Path(root) / name
                    yield Found(
                        path=path,
                        name=called[0],
                        partition=called[1],
                        metadata=read_partition_metadata(path),
                    )
            names[:] = [n for n in names if n != DELETING and partition_of(here / n) is None]

    def create(self, metadata: PartitionMetadata) -> Path:
        """Make the folder of a new partition; one that an earlier attempt left is taken.

        Raises:
            OSError: the disk refuses, or the folder holds data.
        """
        path = self._path(metadata.name, metadata.partition)
        with self._names:
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
        if any(path.glob("*.log")):
            raise OSError(errno.EEXIST, "a folder with data of an unknown partition", str(path))
        if metadata.topic_id != ZERO_UUID:
            write_partition_metadata(path, metadata)
        sync_directory(path.parent)
        return path

    def step_aside(self, path: Path, metadata: PartitionMetadata) -> Path:
        """Free the name of a folder whose topic gets another one."""
        waiting = self.path / MOVING
        with self._names:
            waiting.mkdir(mode=0o700, exist_ok=True)
            return self._rename(path, waiting / _id_name(metadata.topic_id, metadata.partition))

    def rename(self, path: Path, metadata: PartitionMetadata) -> Path:
        """Give a folder the name that its topic has now."""
        target = self._path(metadata.name, metadata.partition)
        write_partition_metadata(path, metadata)
        with self._names:
            target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._rename(path, target)
            self._remove_empty_parents(path)
        return target

    def stage(self, path: Path, topic_id: Uuid, partition: int, staged_at_ms: int | None) -> Path:
        """Move a stale folder to `deleting/` and return its new path.

        Args:
            staged_at_ms: Since when it waits (ms since 1970); None: it goes at the next purge.
        """
        deleting = self.path / DELETING
        with self._names:
            deleting.mkdir(mode=0o700, exist_ok=True)
            target = deleting / _id_name(topic_id, partition)
            life = 1
            while target.exists():
                # An earlier life of the same partition still waits.
                life += 1
                target = deleting / f"{_id_name(topic_id, partition)}.{life}"
            self._rename(path, target)
            self._remove_empty_parents(path)
        if not target.is_symlink():
            # On a full disk, say. The folder has moved; without the file its own time counts.
            with contextlib.suppress(OSError):
                write_key_values(
                    target / _DELETION,
                    {_DELETE_AT: 0} if staged_at_ms is None else {_STAGED_AT: staged_at_ms},
                )
        return target

    def stale(self, delay_ms: int) -> list[Stale]:
        """Return what waits in `deleting/`.

        Args:
            delay_ms: How long a folder waits.
        """
        waiting = self._waiting()
        self._deletions = {p: self._deletions[p] for p in waiting if p in self._deletions}
        return [Stale(path=p, delete_at_ms=self._time(p, delay_ms)) for p in waiting]

    def stale_of(self, topic_id: Uuid, partition: int) -> list[Path]:
        """Return the folders in which a partition's lives wait to go."""
        name = _id_name(topic_id, partition)
        return [p for p in self._waiting() if p.name == name or p.name.startswith(f"{name}.")]

    def _waiting(self) -> list[Path]:
        deleting = self.path / DELETING
        return sorted(deleting.iterdir()) if deleting.exists() else []

    def _time(self, path: Path, delay_ms: int) -> int:
        """Return when a folder goes. Files of earlier releases name that time themselves."""
        if path not in self._deletions:
            try:
                values = read_key_values(path / _DELETION)
                self._deletions[path] = {name: int(value) for name, value in values.items()}
            except (OSError, CorruptLogError, ValueError):
                # A crash left it without the file.
                return int(path.lstat().st_mtime * 1_000) + delay_ms
        values_ms = self._deletions[path]
        if _STAGED_AT in values_ms:
            return values_ms[_STAGED_AT] + delay_ms
        return values_ms.get(_DELETE_AT, 0)

    def _path(self, full_name: str, partition: int) -> Path:
        folder = partition_folder(full_name, partition)
        # A controller gives no such name; a log from elsewhere may hold any.
        if not _is_within(full_name) or folder.parts[0] in (DELETING, MOVING):
            raise OSError(errno.EINVAL, "a name that is no folder in a log directory", full_name)
        return self.path / folder

    def _rename(self, source: Path, target: Path) -> Path:
        os.rename(source, target)
        sync_directory(target.parent)
        sync_directory(source.parent)
        return target

    def _remove_empty_parents(self, path: Path) -> None:
        """A namespace's folder goes with the last folder in it."""
        for parent in path.parents:
            if parent == self.path:
                return
            try:
                parent.rmdir()
            except OSError:
                return  # not empty


def remove(path: Path) -> None:
    """Remove a folder from `deleting/`.

    Raises:
        OSError: it, or something in it, cannot be removed.
    """
    with contextlib.suppress(FileNotFoundError):  # somebody else has removed it
        shutil.rmtree(path)


def _is_within(full_name: str) -> bool:
    parts = full_name.split(NAMESPACE_SEPARATOR)
    return not any(part in ("", ".", "..") or "/" in part or "\0" in part for part in parts)


def _id_name(topic_id: Uuid, partition: int) -> str:
    return f"{uuid_text(topic_id)}_{partition}"
