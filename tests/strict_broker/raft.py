"""The raft client of a broker: an observer that fetches the metadata log from its leader.

It does what a broker's raft thread does with each answer, and raises where that thread would die,
or repeat itself for ever.
"""

import asyncio
import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field

from tests.strict_broker.batches import Batch, DamagedError, split
from tests.strict_broker.connection import REPLY_S, Connection, Entry
from tests.strict_broker.image import Image
from tests.strict_broker.messages import (
    TOPIC,
    TOPIC_ID,
    Address,
    Chunk,
    Fetched,
    Leader,
    Place,
    fetch,
    fetch_snapshot,
    read_chunk,
    read_fetched,
)
from tests.strict_broker.releases import FETCH, FETCH_SNAPSHOT, Release
from tests.strict_broker.traps import BrokenError, Trap

NOT_LEADER_OR_FOLLOWER, BROKER_NOT_AVAILABLE, UNAUTHORIZED, INVALID_REQUEST = 6, 8, 31, 42
FENCED_LEADER_EPOCH, UNKNOWN_LEADER_EPOCH = 74, 75
SNAPSHOT_NOT_FOUND, INCONSISTENT_CLUSTER_ID = 98, 104

_IN_VAIN_MAX = 10
"""Answers in a row that bring nothing although they came at once: an endless loop."""

_SEARCH_MAX = 250
"""Answers in a row that name no leader, with a pause after each: some seconds in all."""

_BACKOFF_S = 0.02


@dataclass(frozen=True)
class Identity:
    """What a broker knows of itself and of its cluster, from its files.

    Attributes:
        voters: `controller.quorum.voters`; empty with `controller.quorum.bootstrap.servers`.
        controller_listener: The first of `controller.listener.names`.
        bootstrap: Where the first request may go.
        entry: How it enters the controllers' listener.
    """

    node_id: int
    cluster_id: str
    release: Release
    voters: dict[int, Address] = field(default_factory=dict)
    bootstrap: tuple[Address, ...] = ()
    controller_listener: str = "CONTROLLER"
    directory: bytes = b"\7" * 16
    entry: Entry | None = None


@dataclass
class Disk:
    """What survives a restart of the broker: the log, its last snapshot and the epoch."""

    batches: list[Batch] = field(default_factory=list)
    snapshot: tuple[int, int] | None = None  # end offset, epoch
    snapshot_data: bytes = field(default=b"", repr=False)
    epoch: int = 0
    previous_broker_epoch: int = -1

    @property
    def end_offset(self) -> int:
        if self.batches:
            return self.batches[-1].end_offset
        return self.snapshot[0] if self.snapshot else 0

    @property
    def last_epoch(self) -> int:
        if self.batches:
            return self.batches[-1].epoch
        return self.snapshot[1] if self.snapshot else 0

    def truncate(self, epoch: int, end_offset: int) -> int:
        """Cut the log where it diverges from the leader's; return its new end."""
        kept = [b for b in self.batches if b.epoch <= epoch and b.end_offset <= end_offset]
        self.batches = kept
        return self.end_offset


class RaftClient:
    """Fetches until it is cancelled, or raises.

    `image` is what the loader made of the records below the high watermark.
    """

    def __init__(
        self,
        identity: Identity,
        disk: Disk,
        *,
        max_wait_ms: int = 500,
        reply_s: float = REPLY_S,
        backoff_s: float = _BACKOFF_S,
    ) -> None:
        self.identity = identity
        self.disk = disk
        self.image = Image(identity.release)
        self.high_watermark = -1
        self.leader_id = -1
        self._leader_address: Address | None = None
        self._max_wait_ms = max_wait_ms
        self._reply_s = reply_s
        self._backoff_s = backoff_s
        self._asked: Iterator[Address] = itertools.cycle(
            identity.bootstrap or tuple(identity.voters.values())
        )
        self._connections: dict[Address, Connection] = {}
        self._in_vain = 0
        self._applied_end = 0
        self._news = asyncio.Condition()
        self._reload()

    # What the life cycle asks

    def leader_voter(self) -> Address:
        """Return where the leader takes registrations: its address among the voters.

        Raises:
            BrokenError: LEADER_NO_VOTER.
        """
        found = self._voter(self.leader_id)
        if found is None:
            raise BrokenError(
                Trap.LEADER_NO_VOTER,
                f"leader {self.leader_id}, voters {self.image.voters or self.identity.voters}, "
                f"kraft.version {self.image.kraft_version}",
            )
        return found

    def _voter(self, node_id: int) -> Address | None:
        """Return a voter's address: the log's voters, if any, replace the configured ones."""
        if self.image.voters is None or not self.image.kraft_version:
            return self.identity.voters.get(node_id)
        return self.image.voter(node_id, self.identity.controller_listener)

    @property
    def has_loaded(self) -> bool:
        """True once the first image can be published: all below the high watermark is applied."""
        is_known = self.high_watermark >= 0 and self.image.record_count > 0
        return is_known and self.image.applied_offset >= self.high_watermark - 1

    @property
    def stands_still(self) -> Trap | None:
        """What keeps the image from going on; None if it has all that the controller served."""
        if self.leader_id < 0:
            return Trap.LEADER_NOT_FOUND
        if self.high_watermark < self.disk.end_offset:
            return Trap.NOT_COMMITTED
        return None if self.image.record_count else Trap.NO_RECORDS

    async def news(self) -> None:
        """Return after the next answer to Fetch."""
        async with self._news:
            await self._news.wait()

    def close(self) -> None:
        for connection in self._connections.values():
            connection.close()

    # The raft thread

    async def run(self) -> None:
        """Fetch for ever.

        Raises:
            BrokenError: A broker would not survive this answer.
        """
        while True:
            await self._fetch()
            async with self._news:
                self._news.notify_all()

    async def _fetch(self) -> None:
        address = self._leader_address or next(self._asked)
        try:
            connection = await self._connection(address)
            answer = await self._fetched(connection)
        except (OSError, EOFError):
            if (broken := self._connections.pop(address, None)) is not None:
                broken.close()
            self._forget_leader()
            await asyncio.sleep(self._backoff_s)
            return
        before = self.disk.end_offset, self.high_watermark, self.disk.epoch
        if not await self._handle(answer, connection) or self.leader_id < 0:
            await asyncio.sleep(self._backoff_s)
        if (self.disk.end_offset, self.high_watermark, self.disk.epoch) != before:
            self._in_vain = 0

    async def _connection(self, address: Address) -> Connection:
        if address not in self._connections:
            self._connections[address] = await Connection.open(
                address,
                self.identity.release,
                reply_s=self._reply_s,
                entry=self.identity.entry,
            )
        return self._connections[address]

    async def _fetched(self, connection: Connection) -> Fetched:
        version = connection.version_of(FETCH)
        if version < 13:
            raise BrokenError(Trap.VERSION_MISSING, f"Fetch {version} names no topic by its id")
        disk, me = self.disk, self.identity
        place = Place(disk.epoch, disk.end_offset, disk.last_epoch, self.high_watermark)
        message = fetch(
            version,
            place,
            node_id=me.node_id,
            cluster_id=me.cluster_id,
            directory=me.directory,
            max_wait_ms=self._max_wait_ms,
            max_bytes=me.release.fetch_size_bytes,
        )
        return read_fetched(await connection.ask(FETCH, version, message), version)

    async def _handle(self, answer: Fetched, connection: Connection) -> bool:
        """Process an answer; return False if the broker pauses before the next request."""
        self._check_top(answer.error, "Fetch")
        if answer.topics != 1 or answer.topic_id != TOPIC_ID:
            raise BrokenError(Trap.WRONG_TOPIC, f"Fetch: {answer.topics}, {answer.topic_id.hex()}")
        if self._is_about_leader(answer.partition_error, answer.leader, answer.addresses):
            return True
        if answer.partition_error:
            return self._fail(answer.partition_error, "Fetch")
        if answer.diverging is not None:
            self._truncate(*answer.diverging)
        elif answer.snapshot is not None:
            await self._fetch_snapshot(answer.snapshot, connection)
        else:
            self._append(answer.records)
            self._advance(answer.high_watermark)
        return True

    def _check_top(self, error: int, name: str) -> None:
        if error:
            traps = {UNAUTHORIZED: Trap.UNAUTHORIZED, INCONSISTENT_CLUSTER_ID: Trap.OTHER_CLUSTER}
            raise BrokenError(traps.get(error, Trap.UNEXPECTED_ERROR), f"{name}: {error}")

    def _fail(self, error: int, name: str) -> bool:
        if error == INVALID_REQUEST:
            raise BrokenError(Trap.INVALID_REQUEST, name)
        if error != BROKER_NOT_AVAILABLE:
            raise BrokenError(Trap.UNEXPECTED_ERROR, f"{name}: {error}")
        return False

    # Leader and epoch

    def _is_about_leader(self, error: int, leader: Leader, addresses: dict[int, Address]) -> bool:
        """Follow the leader that an answer names; True if that was all the answer said."""
        if leader.epoch < self.disk.epoch or error == UNKNOWN_LEADER_EPOCH:
            trap = Trap.NO_LEADER if leader.epoch < 0 else Trap.EPOCH_BEHIND
            self._count_in_vain(trap, f"{leader} after epoch {self.disk.epoch}")
            return True
        is_news = leader.epoch > self.disk.epoch
        if is_news or (self.leader_id < 0 <= leader.node_id):
            self._adopt(leader, addresses)
            return is_news or bool(error)
        if 0 <= leader.node_id != self.leader_id:
            raise BrokenError(
                Trap.TWO_LEADERS, f"{self.leader_id} and {leader.node_id} in {leader.epoch}"
            )
        if error in (FENCED_LEADER_EPOCH, NOT_LEADER_OR_FOLLOWER):
            self._count_in_vain(Trap.LEADER_NOT_FOUND, f"error {error}, {leader}", _SEARCH_MAX)
            self._forget_leader()
            return True
        return False

    def _adopt(self, leader: Leader, addresses: dict[int, Address]) -> None:
        if leader.node_id == self.identity.node_id:
            raise BrokenError(Trap.LEADER_IS_THE_BROKER, f"{leader}")
        self._forget_leader()
        self.disk.epoch = leader.epoch
        if leader.node_id < 0:
            return
        address = addresses.get(leader.node_id) or self._voter(leader.node_id)
        if address is None:
            raise BrokenError(Trap.LEADER_WITHOUT_ADDRESS, f"{leader}")
        self.leader_id, self._leader_address = leader.node_id, address

    def _forget_leader(self) -> None:
        self.leader_id, self._leader_address = -1, None

    def _count_in_vain(self, trap: Trap, detail: str, most: int = _IN_VAIN_MAX) -> None:
        self._in_vain += 1
        if self._in_vain > most:
            raise BrokenError(trap, f"{self._in_vain} answers: {detail}")

    # The log

    def _append(self, data: bytes) -> None:
        try:
            batches = list(split(data))
        except DamagedError as bad:
            self._count_in_vain(Trap.DAMAGED, str(bad))
            return
        if data and not batches:
            raise BrokenError(Trap.BATCH_CUT, f"{len(data)} bytes at {self.disk.end_offset}")
        for batch in batches:
            if batch.base_offset != self.disk.end_offset:
                raise BrokenError(
                    Trap.OFFSET, f"{batch.base_offset} where {self.disk.end_offset} is the end"
                )
            if not self.disk.last_epoch <= batch.epoch <= self.disk.epoch:
                raise BrokenError(Trap.EPOCH_ORDER, f"{batch.epoch} at {batch.base_offset}")
            self.disk.batches.append(batch)

    def _advance(self, high_watermark: int) -> None:
        """Move the high watermark as far as the broker's own log, and apply what it covers."""
        if high_watermark < 0:
            return
        moved = min(high_watermark, self.disk.end_offset)
        if moved < self.high_watermark:
            raise BrokenError(Trap.HIGH_WATERMARK_BACK, f"{moved} after {self.high_watermark}")
        self.high_watermark = moved
        for batch in self.disk.batches:
            if self._applied_end < batch.end_offset <= moved:
                self.image.apply(batch)
                self._applied_end = batch.end_offset

    def _truncate(self, epoch: int, end_offset: int) -> None:
        if end_offset < self.high_watermark or self.disk.truncate(epoch, end_offset) < (
            self.high_watermark
        ):
            raise BrokenError(Trap.DIVERGING, f"{end_offset} below {self.high_watermark}")
        self._count_in_vain(Trap.DIVERGING_IN_VAIN, f"{end_offset} in epoch {epoch}")

    async def _fetch_snapshot(self, snapshot: tuple[int, int], connection: Connection) -> None:
        end_offset, epoch = snapshot
        if (epoch, end_offset) <= (self.disk.last_epoch, self.disk.end_offset):
            raise BrokenError(Trap.SNAPSHOT_OLD, f"{snapshot} at {self.disk.end_offset}")
        data = b""
        size = 1
        while len(data) < size:
            chunk = await self._chunk(snapshot, len(data), connection)
            self._check_top(chunk.error, "FetchSnapshot")
            if chunk.topics != 1 or chunk.topic != TOPIC:
                raise BrokenError(Trap.WRONG_TOPIC, f"FetchSnapshot: {chunk.topic!r}")
            if self._is_about_leader(chunk.partition_error, chunk.leader, chunk.addresses):
                return
            if chunk.partition_error == SNAPSHOT_NOT_FOUND:
                self._count_in_vain(Trap.SNAPSHOT_GONE, f"{snapshot}")
                return
            if chunk.partition_error and not self._fail(chunk.partition_error, "FetchSnapshot"):
                return
            size = self._checked_size(chunk, snapshot, data, size)
            data += chunk.data
        self.disk.batches, self.disk.snapshot = [], snapshot
        self.disk.snapshot_data = data
        self._reload()

    async def _chunk(
        self, snapshot: tuple[int, int], position: int, connection: Connection
    ) -> Chunk:
        version, me = connection.version_of(FETCH_SNAPSHOT), self.identity
        message = fetch_snapshot(
            version,
            snapshot,
            position,
            leader_epoch=self.disk.epoch,
            node_id=me.node_id,
            cluster_id=me.cluster_id,
            directory=me.directory,
            max_bytes=me.release.chunk_size_bytes,
        )
        return read_chunk(await connection.ask(FETCH_SNAPSHOT, version, message), version)

    def _checked_size(self, chunk: Chunk, snapshot: tuple[int, int], data: bytes, size: int) -> int:
        is_next = chunk.snapshot == snapshot and chunk.position == len(data) and chunk.data
        is_same = not data or chunk.size == size
        if not is_next or not is_same or len(data) + len(chunk.data) > chunk.size:
            raise BrokenError(
                Trap.SNAPSHOT_CHUNK,
                f"{chunk.snapshot} at {chunk.position}, {len(chunk.data)} of {chunk.size} bytes, "
                f"asked for {snapshot} at {len(data)}",
            )
        return chunk.size

    def _reload(self) -> None:
        """Begin with what the disk has: a snapshot is committed, its log not yet known to be."""
        if self.disk.snapshot is None:
            return
        self.image.load(list(split(self.disk.snapshot_data)), self.disk.snapshot[0])
        self.high_watermark = max(self.high_watermark, self.disk.snapshot[0])
        self._applied_end = self.disk.snapshot[0]
