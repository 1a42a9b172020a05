"""All replicas of a broker: what lies on its disks, and what the controller says should.

A FULL request names every partition that the broker has, so whatever else is on disk is stale. In
any request a partition whose topic id, or whose creation, differs from what is on disk makes that
stale too. Stale folders are moved to `deleting/` and removed after a delay; a folder whose topic id
is known under another name is renamed instead.

Source: KIP-516.
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime

import msgspec

from api.broker.identity import completed_by, named_by, nobodys, why_stale
from api.broker.log_directory import Found, LogDirectory, remove
from api.broker.partition_log import PartitionLog
from api.broker.partition_metadata import write_partition_metadata
from api.broker.replica import Replica
from api.kafka.errors import CODES, NONE
from api.kafka.messages.replicas import (
    FULL,
    UNSPECIFIED,
    LeaderAndIsrPartition,
    LeaderAndIsrRequest,
    LeaderAndIsrTopic,
    ReplicaResult,
    StoppedTopic,
    StopReplicaRequest,
)
from metadata_log.clock import SystemClock
from records.base import ZERO_UUID, Uuid
from records.errors import CorruptLogError, RequestError
from records.text import uuid_text

log = logging.getLogger(__name__)

DELETE_STALE_DELAY_MS = 14_400_000
"""`delete.stale.topic.delay.ms`: four hours."""

now_ms = SystemClock().now_ms
"""Milliseconds since 1970."""

Name = tuple[str, int]
"""A partition by the full name of its topic and its id."""


class Replicas:
    """The replicas of one broker, by name and by topic id."""

    def __init__(
        self,
        broker_id: int,
        directories: Sequence[LogDirectory],
        *,
        delete_stale_delay_ms: int = DELETE_STALE_DELAY_MS,
    ) -> None:
        """Find what lies on disk; nothing of it is served before the controller names it.

        Raises:
            RequestError: INVALID_REQUEST, two directories hold the same partition.
            CorruptLogError: a folder cannot be read.
        """
        self._broker_id = broker_id
        self._directories = directories
        self._delay_ms = delete_stale_delay_ms
        self._by_name: dict[Name, Replica] = {}
        for directory in directories:
            for found in directory.partitions():
                self._open(directory, found)

    def __iter__(self) -> Iterator[Replica]:
        """Iterate over all replicas, served or not."""
        return iter(list(self._by_name.values()))

    def get(self, name: str, partition: int) -> Replica | None:
        """Return the replica of a name."""
        return self._by_name.get((name, partition))

    def has_topic(self, topic_id: Uuid) -> bool:
        """Return whether a partition of a topic lies here, under any name."""
        return any(replica.metadata.topic_id == topic_id for replica in self._by_name.values())

    def take_over(self, request: LeaderAndIsrRequest) -> tuple[ReplicaResult, ...]:
        """Bring what is on disk in line with a request, and take the parts that it gives."""
        if request.type == FULL:
            self._stage_absent(request)
        stuck = set() if request.type == UNSPECIFIED else self._rename_moved(request)
        return tuple(
            [
                _storage_error(topic, state.partition)
                if (topic.topic, state.partition) in stuck
                else self._taken(topic, state, request.type)
                for topic in request.topic_states
                for state in topic.partition_states
            ]
        )

    def leave(self, request: StopReplicaRequest) -> tuple[ReplicaResult, ...]:
        """Stop serving and following partitions, and delete them if the request says so."""
        return tuple(
            [
                self._left(topic, partition, delete=request.delete_partitions)
                for topic in request.partitions
                for partition in topic.partition_ids
            ]
        )

    def purge(self, now_ms: int) -> None:
        """Remove the stale folders whose time has come."""
        for directory in self._directories:
            for stale in directory.stale(self._delay_ms):
                if stale.delete_at_ms <= now_ms:
                    try:
                        remove(stale.path)
                    except OSError as error:
                        log.warning("%s cannot be removed: %s", stale.path, error)

    def close(self) -> None:
        """Bring everything to stable storage."""
        for replica in self._by_name.values():
            replica.log.close()

    def _open(self, directory: LogDirectory, found: Found) -> None:
        name = (found.name, found.partition)
        other = self._by_name.get(name)
        if other is not None:
            raise RequestError(
                "INVALID_REQUEST",
                f"{found.path} and {other.path} hold the same partition; keep one of them",
            )
        # What the folder is called counts: a crash may have left the file ahead of a renaming.
        metadata = msgspec.structs.replace(
            found.metadata or nobodys(found), name=found.name, partition=found.partition
        )
        replica_log = PartitionLog.open(found.path)
        self._by_name[name] = Replica(self._broker_id, metadata, directory, replica_log)

    def _stage_absent(self, request: LeaderAndIsrRequest) -> None:
        """Whatever a FULL request does not name, by id or by name, is no longer this broker's."""
        ids = {(t.topic_id, p.partition) for t in request.topic_states for p in t.partition_states}
        names = {(t.topic, p.partition) for t in request.topic_states for p in t.partition_states}
        for name, replica in list(self._by_name.items()):
            key = (replica.metadata.topic_id, replica.metadata.partition)
            named = name in names if replica.metadata.topic_id == ZERO_UUID else key in ids
            if not named:
                try:
                    self._stage(name, replica, "the controller does not name it any more")
                except OSError as error:
                    log.warning("%s cannot be moved away: %s", replica.path, error)

    def _rename_moved(self, request: LeaderAndIsrRequest) -> set[Name]:
        """Rename the folders of topics that have another name now; never stage them.

        Returns:
            The new names whose folders could not be renamed.
        """
        moved: dict[Name, Replica] = {}
        by_id = {(r.metadata.topic_id, r.metadata.partition): n for n, r in self._by_name.items()}
        for topic in request.topic_states:
            for state in topic.partition_states:
                old = by_id.get((topic.topic_id, state.partition))
                new = (topic.topic, state.partition)
                if topic.topic_id != ZERO_UUID and old is not None and old != new:
                    moved[new] = self._by_name.pop(old)
        # A topic may get the name that another one is about to lose; that one steps aside first.
        in_the_way = {new: r for new, r in moved.items() if _name(r) in moved}
        stuck = self._try_each(in_the_way, self._step_aside)
        return stuck | self._try_each(
            {new: replica for new, replica in moved.items() if new not in stuck}, self._rename
        )

    def _try_each(
        self, moved: dict[Name, Replica], rename: Callable[[Name, Replica], None]
    ) -> set[Name]:
        """Rename some folders; return the new names of those that could not be."""
        stuck = set()
        for new, replica in moved.items():
            try:
                rename(new, replica)
            except OSError as error:
                log.warning("%s cannot be renamed: %s", replica.path, error)
                self._by_name[_name(replica)] = replica
                stuck.add(new)
        return stuck

    def _step_aside(self, _: Name, replica: Replica) -> None:
        replica.log.moved_to(replica.directory.step_aside(replica.path, replica.metadata))

    def _rename(self, new: Name, replica: Replica) -> None:
        occupant = self._by_name.get(new)
        if occupant is not None:
            self._stage(new, occupant, "another topic has its name now")
        metadata = msgspec.structs.replace(replica.metadata, name=new[0])
        replica.log.moved_to(replica.directory.rename(replica.path, metadata))
        replica.metadata = metadata
        self._by_name[new] = replica

    def _taken(
        self, topic: LeaderAndIsrTopic, state: LeaderAndIsrPartition, request_type: int
    ) -> ReplicaResult:
        code = NONE
        try:
            self._take(topic, state, request_type)
        except RequestError as error:
            code = CODES[error.code]
            log.warning("%s_%d: %s", topic.topic, state.partition, error)
        except (OSError, CorruptLogError) as error:
            code = CODES["KAFKA_STORAGE_ERROR"]
            log.warning("%s_%d: %s", topic.topic, state.partition, error)
        return ReplicaResult(
            topic=topic.topic,
            topic_id=topic.topic_id,
            partition=state.partition,
            error_code=code,
        )

    def _take(
        self, topic: LeaderAndIsrTopic, state: LeaderAndIsrPartition, request_type: int
    ) -> None:
        name = (topic.topic, state.partition)
        replica = self._by_name.get(name)
        reason = None if replica is None else why_stale(replica.metadata, topic, state)
        if replica is not None and reason is not None:
            if request_type == UNSPECIFIED:
                raise RequestError("INCONSISTENT_TOPIC_ID", reason)
            self._stage(name, replica, reason)
            replica = None
        if replica is None:
            if state.leader < 0:
                return  # nothing to hold yet
            replica = self._created(topic, state)
        self._identify(replica, topic, state)
        replica.assign(state, now_ms())

    def _created(self, topic: LeaderAndIsrTopic, state: LeaderAndIsrPartition) -> Replica:
        metadata = named_by(topic, state)
        counts = {id(directory): 0 for directory in self._directories}
        for replica in self._by_name.values():
            counts[id(replica.directory)] += 1
        directory = min(self._directories, key=lambda one: counts[id(one)])
        path = directory.create(metadata)
        replica = Replica(self._broker_id, metadata, directory, PartitionLog.open(path))
        self._by_name[topic.topic, state.partition] = replica
        return replica

    def _identify(
        self, replica: Replica, topic: LeaderAndIsrTopic, state: LeaderAndIsrPartition
    ) -> None:
        """Write down what a folder did not know of itself."""
        known = replica.metadata
        completed = completed_by(known, topic, state)
        if completed != known and completed.topic_id != ZERO_UUID:
            write_partition_metadata(replica.path, completed)
            replica.metadata = completed

    def _left(self, topic: StoppedTopic, partition: int, *, delete: bool) -> ReplicaResult:
        code = NONE
        try:
            replica = self._of(topic, partition)
            if replica is not None:
                replica.stop()
            if delete:
                self._delete(topic.topic_id, partition, replica)
        except OSError as error:
            code = CODES["KAFKA_STORAGE_ERROR"]
            log.warning("%s_%d cannot be deleted: %s", topic.topic, partition, error)
        return ReplicaResult(
            topic=topic.topic, topic_id=topic.topic_id, partition=partition, error_code=code
        )

    def _of(self, topic: StoppedTopic, partition: int) -> Replica | None:
        if topic.topic_id == ZERO_UUID:
            return self._by_name.get((topic.topic, partition))
        for replica in self._by_name.values():
            if (replica.metadata.topic_id, replica.metadata.partition) == (
                topic.topic_id,
                partition,
            ):
                return replica
        return None

    def _delete(self, topic_id: Uuid, partition: int, replica: Replica | None) -> None:
        """Remove a replica, and what waits of earlier lives, at once."""
        if replica is not None:
            del self._by_name[replica.metadata.name, partition]
            replica.log.close()
            path = replica.path
            remove(replica.directory.stage(path, topic_id, partition, delete_at_ms=0).path)
        if topic_id != ZERO_UUID:
            for directory in self._directories:
                for waiting in directory.stale_of(topic_id, partition):
                    remove(waiting)

    def _stage(self, name: Name, replica: Replica, reason: str) -> None:
        delete_at_ms = now_ms() + self._delay_ms
        log.warning(
            "%s (topic id %s) is stale: %s; it will be deleted at %s",
            replica.path,
            uuid_text(replica.metadata.topic_id),
            reason,
            datetime.fromtimestamp(delete_at_ms / 1_000, UTC).isoformat(timespec="seconds"),
        )
        replica.stop()
        replica.log.close()
        del self._by_name[name]
        replica.directory.stage(
            replica.path,
            replica.metadata.topic_id,
            replica.metadata.partition,
            delete_at_ms=delete_at_ms,
        )


def _name(replica: Replica) -> Name:
    return replica.metadata.name, replica.metadata.partition


def _storage_error(topic: LeaderAndIsrTopic, partition: int) -> ReplicaResult:
    return ReplicaResult(
        topic=topic.topic,
        topic_id=topic.topic_id,
        partition=partition,
        error_code=CODES["KAFKA_STORAGE_ERROR"],
    )
