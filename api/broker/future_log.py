"""Future log: a copy of a replica's log in another log directory, which will replace the log.

    {topic_id}_{partition}.{unique}-future/   the copy, with `partition.metadata`
    {topic_id}_{partition}.{unique}-future/complete

`complete` is written once the copy has all records and is synced; from then on the log is not
written until the copy has replaced it. So after a crash at any point, the two folders show how to
continue:

| the partition's own folder | the copy | at the next start |
|---|---|---|
| exists | any | the copy is removed, and the move begins again |
| missing | complete | the copy is renamed to the partition's folder |
| missing | not complete | the partition was deleted; the copy is removed |

Source: KIP-113.
"""

import secrets
from collections.abc import Iterable, Sequence
from pathlib import Path

from api.broker.batches import whole_batches
from api.broker.key_values import write_key_values
from api.broker.log_directory import LogDirectory, remove
from api.broker.open_files import OpenFiles
from api.broker.partition_log import PartitionLog
from api.broker.partition_metadata import (
    PartitionMetadata,
    read_partition_metadata,
    write_partition_metadata,
)
from metadata_log.files.fs import OsFs
from records.base import Uuid
from records.text import uuid_text

_SUFFIX = "-future"
_COMPLETE = "complete"
_CHUNK_SIZE_BYTES = 4 * 1024 * 1024

PartitionId = tuple[Uuid, int]
"""A topic id, and the number of a partition."""


class FutureLog:
    """A copy of one log. Its methods use the disk; call them in threads, one at a time.

    Attributes:
        log: The copy itself.
    """

    def __init__(self, log: PartitionLog) -> None:
        """Use an existing, empty log as the copy; `FutureLog.create` also creates its folder."""
        self.log = log
        self._truncations: int | None = None

    @classmethod
    def create(
        cls, directory: LogDirectory, metadata: PartitionMetadata, files: OpenFiles
    ) -> "FutureLog":
        """Create an empty copy in a log directory.

        Raises:
            OSError: the disk failed.
        """
        unique = secrets.token_hex(16)
        name = f"{uuid_text(metadata.topic_id)}_{metadata.partition}.{unique}{_SUFFIX}"
        folder = directory.path / name
        folder.mkdir(mode=0o700)
        write_partition_metadata(folder, metadata)
        OsFs().sync_directory(folder.parent)
        return cls(PartitionLog(folder, files))

    def is_behind_truncation(self, source: PartitionLog) -> bool:
        """True if copying must restart: the source was truncated or starts after the copy's end."""
        return self._truncations != source.truncations or (
            source.start_offset > self.log.end_offset
        )

    def catch_up(self, source: PartitionLog) -> bool:
        """Copy some of the missing records; True if the copy has reached the source's end.

        That end is the one at the start of the call; records written later do not count.

        Raises:
            CorruptLogError: a batch of the source is damaged.
            OSError: a disk failed.
        """
        if self.is_behind_truncation(source):
            self._begin(source)
        end = source.end_offset
        content = source.read(self.log.end_offset, up_to=end, size_bytes_max=_CHUNK_SIZE_BYTES)
        batches = list(whole_batches(content))
        if batches and batches[0].header.base_offset == self.log.end_offset:
            self.log.append(batches)
        return self.log.end_offset >= end

    def complete(self, source: PartitionLog) -> None:
        """Copy the remaining records of the source, and sync the copy.

        The source must not be written during the call.

        Raises:
            CorruptLogError: a batch of the source is damaged.
            OSError: a disk failed.
        """
        while not self.catch_up(source):
            pass
        self.log.delete_before(source.start_offset)
        self.log.close()
        write_key_values(self.log.folder / _COMPLETE, {"end_offset": self.log.end_offset})

    def adopt(self, directory: LogDirectory, metadata: PartitionMetadata) -> None:
        """Rename the complete copy's folder to the partition's folder.

        Raises:
            OSError: the disk failed; the copy keeps its name.
        """
        self.log.move(lambda folder: _adopted(folder, directory, metadata))

    def discard(self) -> None:
        """Delete the copy.

        Raises:
            OSError: the disk failed.
        """
        self.log.close()
        remove(self.log.folder)

    def _begin(self, source: PartitionLog) -> None:
        self._truncations = source.truncations
        start, end = source.start_offset, source.end_offset
        batch = next(whole_batches(source.read(start, up_to=end, size_bytes_max=1)), None)
        first = end if batch is None else batch.header.base_offset
        if (self.log.start_offset, self.log.end_offset) != (first, first):
            self.log.restart_at(first)


def recover_future_logs(directories: Sequence[LogDirectory]) -> dict[PartitionId, LogDirectory]:
    """Finish or undo the moves that a crash has interrupted.

    Returns:
        The partitions whose moves must start again, and the directories to move them to.

    Raises:
        CorruptLogError: a metadata file cannot be read.
        OSError: the disk failed.
    """
    there = set(_partitions(directories))
    again: dict[PartitionId, LogDirectory] = {}
    for directory in directories:
        for folder in sorted(directory.path.glob(f"*{_SUFFIX}")):
            metadata = read_partition_metadata(folder)
            key = None if metadata is None else (metadata.topic_id, metadata.partition)
            if metadata is not None and key not in there and (folder / _COMPLETE).exists():
                _adopted(folder, directory, metadata)
                continue
            if key is not None and key in there:
                again[key] = directory
            remove(folder)
    return again


def _partitions(directories: Iterable[LogDirectory]) -> Iterable[PartitionId]:
    for directory in directories:
        for found in directory.partitions():
            if found.metadata is not None:
                yield found.metadata.topic_id, found.metadata.partition


def _adopted(folder: Path, directory: LogDirectory, metadata: PartitionMetadata) -> Path:
    target = directory.rename(folder, metadata)
    (target / _COMPLETE).unlink(missing_ok=True)
    return target
