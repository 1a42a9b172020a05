"""Stale folders of a broker: moved to `deleting/`, and removed after a delay."""

import logging
from collections.abc import Sequence
from datetime import UTC, datetime

from api.broker.disk import Disk
from api.broker.log_directory import LogDirectory, remove
from api.broker.replica import Replica
from api.broker.replica_registry import ReplicaRegistry
from metadata_log.writer.clock import SystemClock
from records.base import ZERO_UUID, Uuid
from records.text import uuid_text

log = logging.getLogger(__name__)

now_ms = SystemClock().now_ms
"""Wall clock, ms since 1970: stale folders keep this time across restarts."""


class StaleFolders:
    """Moves the folders of stale replicas to `deleting/`, and removes them after a delay.

    Attributes:
        delay_ms: Time for which stale folders are kept, in ms; also applies to folders that are
            already in `deleting/`.
    """

    def __init__(
        self,
        registry: ReplicaRegistry,
        directories: Sequence[LogDirectory],
        disk: Disk,
        delay_ms: int,
    ) -> None:
        self._registry = registry
        self._directories = directories
        self._disk = disk
        self.delay_ms = delay_ms

    async def stage(self, replica: Replica, reason: str) -> None:
        """Close a replica, and move its folder to `deleting/`.

        Raises:
            OSError: the folder cannot be moved.
        """
        staged_at_ms = now_ms()
        log.warning(
            "%s (topic id %s) is stale: %s; it will be deleted at %s",
            replica.path,
            uuid_text(replica.metadata.topic_id),
            reason,
            _time_text(staged_at_ms + self.delay_ms),
        )
        await replica.close()
        metadata = replica.metadata
        await self._move_away(replica, metadata.topic_id, metadata.partition, staged_at_ms)

    async def delete(self, topic_id: Uuid, partition: int, replica: Replica | None) -> None:
        """Remove a replica and the stale folders of its earlier incarnations, without the delay.

        Raises:
            OSError: a folder cannot be removed.
        """
        if replica is not None:
            await replica.close()
            await self._move_away(replica, topic_id, partition, None)
            await self._disk.run(remove, replica.path)
        if topic_id != ZERO_UUID:
            await self._disk.run(_delete_staged, self._directories, topic_id, partition)

    async def purge(self, now_ms: int) -> None:
        """Remove the stale folders whose delay is over."""
        delay_ms = self.delay_ms
        for directory in self._directories:
            try:
                await self._disk.run(_purge, directory, now_ms, delay_ms)
            except OSError as error:
                log.warning("stale partitions in %s cannot be removed: %s", directory.path, error)

    async def _move_away(
        self, replica: Replica, topic_id: Uuid, partition: int, staged_at_ms: int | None
    ) -> None:
        directory = replica.directory
        # The log moves with its folder: a fetch that still reads it must not see the records of the
        # next partition of this name.
        await self._disk.run(
            replica.log.move, lambda path: directory.stage(path, topic_id, partition, staged_at_ms)
        )
        self._registry.remove(replica)


def _purge(directory: LogDirectory, now_ms: int, delay_ms: int) -> None:
    for stale in directory.stale(delay_ms):
        if stale.delete_at_ms <= now_ms:
            try:
                remove(stale.path)
            except OSError as error:
                log.warning("%s cannot be removed: %s", stale.path, error)


def _delete_staged(directories: Sequence[LogDirectory], topic_id: Uuid, partition: int) -> None:
    for directory in directories:
        for waiting in directory.stale_of(topic_id, partition):
            remove(waiting)


def _time_text(time_ms: int) -> str:
    return datetime.fromtimestamp(time_ms / 1_000, UTC).isoformat(timespec="seconds")
