"""Follower fetching: find where the follower's log diverges from the leader's, truncate, then copy.

There is one task for each broker that leads partitions which this broker follows. For every such
partition, the task asks the leader for the end of the epoch of the follower's last batch, and
truncates the follower's log to that offset.

Source: KIP-101, KIP-279 (truncation by leader epoch).
"""

import asyncio
import logging

from api.broker.cluster import Cluster
from api.broker.replica import Replica
from api.broker.replicas import Replicas
from api.kafka.connection import Connection
from api.kafka.errors import CODES, NONE, name_of
from api.kafka.messages.brokers import ReplicaLag
from api.kafka.messages.records_io import (
    NAMES_UNTIL,
    EpochPartition,
    EpochTopic,
    FetchedPartition,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
)
from api.security.client import PLAIN_TEXT, ConnectionSecurity
from api.transport.shutdown import cancel_all
from records.errors import CorruptLogError, RequestError, UnavailableError

log = logging.getLogger(__name__)

_MAX_WAIT_MS = 100
_MIN_BYTES = 1
_MAX_BYTES = 4 * 1024 * 1024
_PARTITION_MAX_BYTES = 1024 * 1024
_PAUSE_S = 0.1
"""Pause before a retry when a leader was away or refused a partition."""

_Life = tuple[bytes, int, int]
"""Topic id, partition and leader epoch: the log is truncated once for each combination."""


class ReplicaFetchers:
    """The tasks in which a broker fetches from leaders, one task per leader."""

    def __init__(
        self,
        broker_id: int,
        replicas: Replicas,
        cluster: Cluster,
        security: ConnectionSecurity = PLAIN_TEXT,
    ) -> None:
        """Create the object, without tasks; `refresh` starts them.

        Args:
            security: TLS and authentication of connections to other brokers.
        """
        self._security = security
        self._broker_id = broker_id
        self._replicas = replicas
        self._cluster = cluster
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._lags: dict[_Life, int] = {}

    def refresh(self) -> None:
        """Start a task for each current leader that has none.

        The tasks of former leaders end by themselves.
        """
        for leader in {r.leader_to_follow for r in self._replicas}:
            if leader is None:
                continue
            task = self._tasks.get(leader)
            if task is None or task.done():
                self._tasks[leader] = asyncio.create_task(
                    self._follow(leader), name=f"fetch from {leader}"
                )

    def lags(self) -> list[ReplicaLag]:
        """Return the lag of each followed partition, in records.

        A partition is left out before its first fetch from a leader and after a failed fetch.
        """
        return [
            ReplicaLag(
                topic_id=replica.metadata.topic_id,
                partition_index=replica.metadata.partition,
                lag=lag,
            )
            for replica in self._replicas
            if replica.leader_to_follow is not None
            and (lag := self._lags.get(_life(replica))) is not None
        ]

    async def close(self) -> None:
        """Cancel the tasks and wait for their end."""
        await cancel_all(*self._tasks.values())

    async def _follow(self, leader: int) -> None:
        """Fetch from one leader as long as it leads a partition that this broker follows."""
        while self._followed(leader):
            address = self._cluster.address(leader)
            if address is not None:
                try:
                    await self._fetch_from(leader, address)
                except (UnavailableError, RequestError) as error:
                    log.info("broker %d cannot be fetched from: %s", leader, error)
                except Exception:
                    log.exception("fetching from broker %d has failed; it is begun anew", leader)
            await asyncio.sleep(_PAUSE_S)

    async def _fetch_from(self, leader: int, address: tuple[str, int]) -> None:
        client_id = f"replica-{self._broker_id}"
        connection = await Connection.open(*address, client_id, self._security)
        in_line: set[_Life] = set()
        try:
            while self._cluster.address(leader) == address:
                replicas = self._followed(leader)
                if not replicas:
                    return
                for replica in replicas:
                    if _life(replica) not in in_line and await self._is_cut(connection, replica):
                        in_line.add(_life(replica))
                ready = [r for r in replicas if _life(r) in in_line]
                refused = await self._copy(connection, ready) if ready else set()
                in_line -= refused
                for life in refused:
                    self._lags.pop(life, None)
                if refused or not ready:
                    await asyncio.sleep(_PAUSE_S)
        finally:
            for life in in_line:
                self._lags.pop(life, None)
            await connection.close()

    def _followed(self, leader: int) -> list[Replica]:
        return [r for r in self._replicas if r.leader_to_follow == leader]

    async def _is_cut(self, connection: Connection, replica: Replica) -> bool:
        """Truncate a replica like `_cut`; on a disk failure, log the failure and return False."""
        try:
            return await self._cut(connection, replica)
        except OSError as error:
            log.warning("%s cannot be cut to what its leader has: %s", replica.path, error)
            return False

    async def _cut(self, connection: Connection, replica: Replica) -> bool:
        """Truncate the records that the leader does not have; return True once that is complete.

        Raises:
            OSError: the disk failed.
        """
        life = _life(replica)
        while replica.log.last_epoch is not None:
            requested = replica.log.last_epoch
            end = await self._epoch_end(connection, replica, requested)
            if end is None or _life(replica) != life:
                return False
            leader_epoch, end_offset = end
            ours = replica.log.epoch_end(leader_epoch)
            keep = min(end_offset, 0 if ours is None else ours.end_offset)
            await replica.truncate_to(keep, life[2])
            if leader_epoch == requested:
                break
        return _life(replica) == life

    async def _epoch_end(
        self, connection: Connection, replica: Replica, epoch: int
    ) -> tuple[int, int] | None:
        """Return the leader's highest epoch at or below `epoch`, and the end offset of that epoch.

        None if the leader refuses the request.
        """
        metadata = replica.metadata
        requested = EpochPartition(
            partition=metadata.partition,
            current_leader_epoch=replica.leader_epoch,
            leader_epoch=epoch,
        )
        topic = EpochTopic(topic=metadata.name, topic_id=metadata.topic_id, partitions=(requested,))
        request = OffsetForLeaderEpochRequest(replica_id=self._broker_id, topics=(topic,))
        response = await connection.request(request, OffsetForLeaderEpochResponse)
        (partition,) = response.topics[0].partitions
        if partition.error_code != NONE:
            return None
        # The epoch is below all of the leader's: the logs have nothing in common.
        return partition.leader_epoch, max(partition.end_offset, 0)

    async def _copy(self, connection: Connection, replicas: list[Replica]) -> set[_Life]:
        """Fetch once and write the batches; return the partitions for which this failed."""
        by_place = {(r.metadata.name, r.metadata.partition): (r, _life(r)) for r in replicas}
        response = await connection.request(
            self._request(replicas), FetchResponse, version=NAMES_UNTIL
        )
        refused: set[_Life] = set()
        for topic in response.responses:
            for fetched in topic.partitions:
                replica, life = by_place[topic.topic, fetched.partition_index]
                if _life(replica) != life:
                    continue  # it has another leader by now, or none
                if not await self._taken(replica, fetched, life):
                    refused.add(life)
        return refused

    def _request(self, replicas: list[Replica]) -> FetchRequest:
        return FetchRequest(
            replica_id=self._broker_id,
            max_wait_ms=_MAX_WAIT_MS,
            min_bytes=_MIN_BYTES,
            max_bytes=_MAX_BYTES,
            topics=tuple(
                [
                    FetchTopic(
                        topic=replica.metadata.name,
                        topic_id=replica.metadata.topic_id,
                        partitions=(
                            FetchPartition(
                                partition=replica.metadata.partition,
                                current_leader_epoch=replica.leader_epoch,
                                fetch_offset=replica.log.end_offset,
                                log_start_offset=replica.log.start_offset,
                                partition_max_bytes=_PARTITION_MAX_BYTES,
                            ),
                        ),
                    )
                    for replica in replicas
                ]
            ),
        )

    async def _taken(self, replica: Replica, fetched: FetchedPartition, life: _Life) -> bool:
        try:
            if _must_restart(replica, fetched):
                await replica.restart_at(fetched.log_start_offset, life[2])
                return True
            if fetched.error_code != NONE:
                log.info("%s: the leader says %s", replica.path, name_of(fetched.error_code))
                return False
            await replica.replicate(
                fetched.records or b"", life[2], fetched.high_watermark, fetched.log_start_offset
            )
        except (OSError, CorruptLogError) as error:
            log.warning("%s cannot take what the leader sent: %s", replica.path, error)
            return False
        self._lags[life] = max(fetched.high_watermark - replica.log.end_offset, 0)
        return True


def _must_restart(replica: Replica, fetched: FetchedPartition) -> bool:
    """True if the replica must drop its log and restart at the start of the leader's log.

    Either the leader has deleted the records that the replica needs next, or the replica's log is
    empty and starts beyond the end of the leader's log.
    """
    if fetched.error_code != CODES["OFFSET_OUT_OF_RANGE"] or fetched.log_start_offset < 0:
        return False
    is_empty = replica.log.last_epoch is None
    return is_empty or fetched.log_start_offset > replica.log.end_offset


def _life(replica: Replica) -> _Life:
    return replica.metadata.topic_id, replica.metadata.partition, replica.leader_epoch
