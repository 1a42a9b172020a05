"""One log directory of a broker: its id, folders of partitions, and folders to be deleted.

    meta.properties                        id and owner of this directory
    orders_0/partition.metadata            identity of one partition
    org/apache/kafka/orders_0/             a partition of a topic in a namespace
    deleting/{topic_id}_{partition}/       stale, removed after a delay

A folder to be deleted is first renamed into `deleting/`. A crash during the deletion therefore
never leaves a partial folder that looks like a partition.
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
from api.broker.key_values import read_key_values, write_key_values
from api.broker.partition_metadata import (
    PartitionMetadata,
    read_partition_metadata,
    write_partition_metadata,
)
from metadata_log.files.fs import OsFs
from records.base import ZERO_UUID, Uuid
from records.errors import CorruptLogError, RequestError
from records.text import parse_uuid, uuid_text
from replay.image.metadata import NAMESPACE_SEPARATOR

_META = "meta.properties"
_DELETION = "deletion"
"""File in a stale folder: the time of the move to `deleting/`; without it, no delay applies."""

_STAGED_AT, _DELETE_AT = "staged_at_ms", "delete_at_ms"


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """A partition's folder on disk. `metadata` is None if the folder has no metadata file.

    `name` and `partition` are taken from the folder's name.
    """

    path: Path
    name: str
    partition: int
    metadata: PartitionMetadata | None


class Stale(msgspec.Struct, frozen=True, kw_only=True):
    """A folder in `deleting/`, and the time at which to remove it, in ms since 1970."""

    path: Path
    delete_at_ms: int


class LogDirectory:
    """One log directory of a broker.

    Attributes:
        directory_id: Id of the directory, generated at random when the directory was created.
    """

    def __init__(self, path: Path, directory_id: Uuid) -> None:
        """Create the object for an existing directory; see also `LogDirectory.open`."""
        self.path = path
        self.directory_id = directory_id
        # Times read from the files in stale folders; they never change.
        self._deletions: dict[Path, dict[str, int]] = {}
        # Held while folders are created, renamed or removed: one thread could remove an empty
        # parent in which another is about to create a folder.
        self._names = threading.Lock()

    @classmethod
    def open(cls, path: Path, *, cluster_id: str, broker_id: int) -> "LogDirectory":
        """Open a directory, or create one if the path does not exist or is empty.

        Raises:
            RequestError: the directory belongs to another cluster or broker.
            CorruptLogError: its `meta.properties` cannot be read.
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
        """Yield the folders of partitions, including those whose rename was interrupted.

        Raises:
            CorruptLogError: a metadata file cannot be read.
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
        """Create the folder of a new partition, or reuse an empty folder from an earlier attempt.

        Raises:
            OSError: the disk failed, or the folder has segments.
        """
        path = self._path(metadata.name, metadata.partition)
        with self._names:
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
        if any(path.glob("*.log")):
            raise OSError(errno.EEXIST, "the folder has stray segments; move it away", str(path))
        if metadata.topic_id != ZERO_UUID:
            write_partition_metadata(path, metadata)
        OsFs().sync_directory(path.parent)
        return path

    def step_aside(self, path: Path, metadata: PartitionMetadata) -> Path:
        """Move a folder to a temporary path, so that another topic's folder can take its name.

        Returns:
            The temporary path.
        """
        waiting = self.path / MOVING
        with self._names:
            waiting.mkdir(mode=0o700, exist_ok=True)
            return self._rename(path, waiting / _id_name(metadata.topic_id, metadata.partition))

    def rename(self, path: Path, metadata: PartitionMetadata) -> Path:
        """Rename a folder to the partition's current name in `metadata`; return the new path."""
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
            staged_at_ms: Start of the delay, ms since 1970; None: delete the folder at the next
                purge.
        """
        deleting = self.path / DELETING
        with self._names:
            deleting.mkdir(mode=0o700, exist_ok=True)
            target = deleting / _id_name(topic_id, partition)
            life = 1
            while target.exists():
                # An earlier incarnation of the same partition is still there.
                life += 1
                target = deleting / f"{_id_name(topic_id, partition)}.{life}"
            self._rename(path, target)
            self._remove_empty_parents(path)
        if not target.is_symlink():
            # A full disk, for example. The folder was moved; without the file its mtime counts.
            with contextlib.suppress(OSError):
                write_key_values(
                    target / _DELETION,
                    {_DELETE_AT: 0} if staged_at_ms is None else {_STAGED_AT: staged_at_ms},
                )
        return target

    def stale(self, delay_ms: int) -> list[Stale]:
        """Return the folders in `deleting/`, each with the time at which to remove it.

        Args:
            delay_ms: How long a folder stays in `deleting/`, in ms.
        """
        waiting = self._waiting()
        self._deletions = {p: self._deletions[p] for p in waiting if p in self._deletions}
        return [Stale(path=p, delete_at_ms=self._time(p, delay_ms)) for p in waiting]

    def stale_of(self, topic_id: Uuid, partition: int) -> list[Path]:
        """Return the stale folders of a partition's earlier incarnations."""
        name = _id_name(topic_id, partition)
        return [p for p in self._waiting() if p.name == name or p.name.startswith(f"{name}.")]

    def _waiting(self) -> list[Path]:
        deleting = self.path / DELETING
        return sorted(deleting.iterdir()) if deleting.exists() else []

    def _time(self, path: Path, delay_ms: int) -> int:
        """Return the time at which to delete a folder, in ms since 1970.

        A file in the folder contains the time when the folder was moved to `deleting/`; earlier
        releases wrote the time of deletion instead.
        """
        if path not in self._deletions:
            try:
                values = read_key_values(path / _DELETION)
                self._deletions[path] = {name: int(value) for name, value in values.items()}
            except (OSError, CorruptLogError, ValueError):
                # A crash left the folder without its file.
                return int(path.lstat().st_mtime * 1_000) + delay_ms
        values_ms = self._deletions[path]
        if _STAGED_AT in values_ms:
            return values_ms[_STAGED_AT] + delay_ms
        return values_ms.get(_DELETE_AT, 0)

    def _path(self, full_name: str, partition: int) -> Path:
        folder = partition_folder(full_name, partition)
        # Our controller allows no such name; a log made by other software may hold any.
        if not _is_within(full_name) or folder.parts[0] in (DELETING, MOVING):
            raise OSError(errno.EINVAL, "the name cannot be a folder in a log directory", full_name)
        return self.path / folder

    def _rename(self, source: Path, target: Path) -> Path:
        os.rename(source, target)
        OsFs().sync_directory(target.parent)
        OsFs().sync_directory(source.parent)
        return target

    def _remove_empty_parents(self, path: Path) -> None:
        """Remove the empty namespace folders above a path."""
        for parent in path.parents:
            if parent == self.path:
                return
            try:
                parent.rmdir()
            except OSError:
                return  # not empty


def remove(path: Path) -> None:
    """Delete a folder with its content, if it exists.

    Raises:
        OSError: the folder or something in it cannot be removed.
    """
    with contextlib.suppress(FileNotFoundError):  # removed by another thread or by hand
        shutil.rmtree(path)


def _is_within(full_name: str) -> bool:
    parts = full_name.split(NAMESPACE_SEPARATOR)
    return not any(part in ("", ".", "..") or "/" in part or "\0" in part for part in parts)


def _id_name(topic_id: Uuid, partition: int) -> str:
    return f"{uuid_text(topic_id)}_{partition}"
