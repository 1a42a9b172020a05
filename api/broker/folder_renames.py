"""Renames the folders of partitions whose topics were renamed."""

import logging
from collections.abc import Awaitable, Callable

import msgspec

from api.broker.disk import Disk
from api.broker.replica import Replica
from api.broker.replica_registry import Name, ReplicaRegistry, name_of
from api.broker.stale_folders import StaleFolders
from api.kafka.messages.replicas import LeaderAndIsrRequest
from records.base import ZERO_UUID

log = logging.getLogger(__name__)


class FolderRenames:
    """Renames the folders of partitions whose topics were renamed."""

    def __init__(self, registry: ReplicaRegistry, stale: StaleFolders, disk: Disk) -> None:
        self._registry = registry
        self._stale = stale
        self._disk = disk

    async def carry_out(self, request: LeaderAndIsrRequest) -> set[Name]:
        """Rename the folders of the partitions whose topic has a new name in the request.

        Returns:
            The partitions, under their new names, whose folders could not be renamed.
        """
        moved: dict[Name, Replica] = {}
        for topic in request.topic_states:
            if topic.topic_id == ZERO_UUID:
                continue
            for state in topic.partition_states:
                replica = self._registry.of(topic.topic_id, state.partition)
                new = (topic.topic, state.partition)
                if replica is not None and name_of(replica) != new:
                    moved[new] = replica
        for replica in moved.values():
            self._registry.remove(replica)
        # A topic may get a name that another is about to lose; the other one steps aside first.
        in_the_way = {new: r for new, r in moved.items() if name_of(r) in moved}
        stuck = await self._try_each(in_the_way, self._step_aside)
        return stuck | await self._try_each(
            {new: replica for new, replica in moved.items() if new not in stuck}, self._rename
        )

    async def _try_each(
        self, moved: dict[Name, Replica], rename: Callable[[Name, Replica], Awaitable[None]]
    ) -> set[Name]:
        """Apply `rename` to each replica; return the new names of those for which it failed."""
        stuck = set()
        for new, replica in moved.items():
            try:
                await rename(new, replica)
            except OSError as error:
                log.warning("%s cannot be renamed: %s", replica.path, error)
                if name_of(replica) not in self._registry:
                    self._registry.add(replica)
                stuck.add(new)
        return stuck

    async def _step_aside(self, _: Name, replica: Replica) -> None:
        directory, metadata = replica.directory, replica.metadata
        await self._disk.run(replica.log.move, lambda path: directory.step_aside(path, metadata))

    async def _rename(self, new: Name, replica: Replica) -> None:
        occupant = self._registry.get(new)
        if occupant is not None:
            await self._stale.stage(occupant, "another topic has its name now")
        directory = replica.directory
        metadata = msgspec.structs.replace(replica.metadata, name=new[0])
        await self._disk.run(replica.log.move, lambda path: directory.rename(path, metadata))
        replica.metadata = metadata
        self._registry.add(replica)
