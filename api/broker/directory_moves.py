"""Moves replicas between the log directories of a broker, while the replicas are in use.

The replica's records are first copied to a future log. Then writes are blocked, and the remaining
records are copied and synced. Finally renames replace the log by the future log: the old folder
moves to `deleting/`, and the new folder gets the partition's name. From then on the replica is in
the other directory.

Source: KIP-113.
"""

import asyncio
import logging
from collections.abc import Mapping

import msgspec

from api.broker.disk import Disk
from api.broker.folders import DELETING
from api.broker.future_log import FutureLog, PartitionId
from api.broker.log_directory import LogDirectory, remove
from api.broker.replica import Replica
from api.broker.replica_registry import ReplicaRegistry, name_of
from api.broker.stale_folders import now_ms
from records.errors import CorruptLogError

log = logging.getLogger(__name__)


class Move(msgspec.Struct, eq=False):
    """A move in progress. `future` is None until the folder of the future log exists."""

    replica: Replica
    target: LogDirectory
    future: FutureLog | None = None
    is_cancelled: bool = False


class DirectoryMoves:
    """Moves replicas to other log directories; each replica has at most one move in progress."""

    def __init__(self, registry: ReplicaRegistry, disk: Disk, one_at_a_time: asyncio.Lock) -> None:
        """Create the object, with no move in progress.

        Args:
            one_at_a_time: Lock that requests hold while they create, rename or remove folders.
        """
        self._registry = registry
        self._disk = disk
        self._one_at_a_time = one_at_a_time
        self._moves: dict[Replica, Move] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_closed = False

    def get(self, replica: Replica) -> Move | None:
        """Return the move that is in progress for a replica; None if there is none."""
        return self._moves.get(replica)

    async def start(self, replica: Replica, target: LogDirectory) -> None:
        """Start to move a replica; cancel its current move if that has another target.

        Once this returns, the move is continued even after a restart of the broker.

        Raises:
            OSError: the copy cannot be created; the replica stays where it is.
        """
        current = self._moves.pop(replica, None)
        if current is not None and current.target is target:
            self._moves[replica] = current
            return
        if current is not None:
            current.is_cancelled = True
        if replica.directory is not target and not self._is_closed:
            move = self._moves[replica] = Move(replica, target)
            try:
                move.future = await self._disk.run(
                    FutureLog.create, target, replica.metadata, self._disk.files
                )
            except OSError:
                self._forget(move)
                raise
            task = asyncio.create_task(self._run(move), name=f"move {replica.path}")
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def start_again(self, interrupted: Mapping[PartitionId, LogDirectory]) -> None:
        """Restart the moves that were not finished when the previous process ended.

        Args:
            interrupted: The partitions to move, and their target directories.
        """
        for (topic_id, partition), target in interrupted.items():
            replica = self._registry.of(topic_id, partition)
            if replica is not None:
                try:
                    await self.start(replica, target)
                except OSError as error:
                    log.warning("%s is not moved to %s: %s", replica.path, target.path, error)

    async def close(self) -> None:
        """Stop copying; the broker's next process restarts the incomplete moves."""
        self._is_closed = True
        await asyncio.gather(*self._tasks)

    async def _run(self, move: Move) -> None:
        try:
            await self._carry_out(move)
        except (OSError, CorruptLogError) as error:
            log.warning("%s is not moved to %s: %s", move.replica.path, move.target.path, error)
            if move.replica.path.parent.name != DELETING:
                await self._discard(move)
            # Else both renames failed, the one back too: the next start adopts the copy.
        finally:
            self._forget(move)

    def _forget(self, move: Move) -> None:
        if self._moves.get(move.replica) is move:
            del self._moves[move.replica]

    async def _carry_out(self, move: Move) -> None:
        replica, future = move.replica, move.future
        assert future is not None, "it was created at the start"
        while True:
            if self._is_pointless(move):
                # A replica that is being renamed has no name for a moment.
                async with self._one_at_a_time:
                    if self._is_pointless(move):
                        await self._discard(move)
                        return
            if self._is_closed:
                return  # the copy on disk says where to
            if not await self._disk.run(future.catch_up, replica.log):
                continue
            async with self._one_at_a_time, replica.order:
                if not future.is_behind_truncation(replica.log) and not self._is_pointless(move):
                    await self._exchange(move, future)
                    return

    def _is_pointless(self, move: Move) -> bool:
        is_gone = self._registry.get(name_of(move.replica)) is not move.replica
        return is_gone or move.is_cancelled

    async def _exchange(self, move: Move, future: FutureLog) -> None:
        replica, old = move.replica, move.replica.log
        await self._disk.run(_exchange, replica, move.target, future)
        self._registry.relocate(replica, move.target)
        replica.log = future.log
        log.info("%s is where the replica lies now, no longer %s", replica.path, old.folder)
        await self._disk.run(old.close)
        await self._disk.run(remove, old.folder)

    async def _discard(self, move: Move) -> None:
        if move.future is not None and move.replica.log is not move.future.log:
            try:
                await self._disk.run(move.future.discard)
            except OSError as error:
                log.warning("%s cannot be removed: %s", move.future.log.folder, error)


def _exchange(replica: Replica, target: LogDirectory, future: FutureLog) -> None:
    metadata, source = replica.metadata, replica.directory
    future.complete(replica.log)
    # If a crash leaves the old folder there, it is removed after the delay of stale folders.
    replica.log.move(
        lambda path: source.stage(path, metadata.topic_id, metadata.partition, now_ms())
    )
    try:
        future.adopt(target, metadata)
    except OSError:
        replica.log.move(lambda path: source.rename(path, metadata))
        raise
