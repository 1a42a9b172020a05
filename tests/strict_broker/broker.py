"""A broker of Kafka as far as its start: it registers, catches up, is unfenced and shuts down."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Coroutine
from types import TracebackType
from typing import Any, TypeVar

from tests.stand_in_quorum.wire import Reader
from tests.strict_broker.connection import REPLY_S, Connection
from tests.strict_broker.image import METADATA_VERSION, Registration
from tests.strict_broker.messages import (
    Address,
    Beaten,
    Endpoint,
    beat,
    read_beaten,
    read_registered,
    register,
)
from tests.strict_broker.raft import INCONSISTENT_CLUSTER_ID, Disk, Identity, RaftClient
from tests.strict_broker.releases import BROKER_HEARTBEAT, BROKER_REGISTRATION
from tests.strict_broker.traps import BrokenError, Trap

_T = TypeVar("_T")

DIRECTORIES_LEVEL = 17
"""3.7-IV2: from here on registrations have log directories."""

_BEAT_S = 0.01
"""Time between heartbeats while the broker starts; 2 s after that."""

_REPLY_S = 4.5
"""Timeout of registrations and heartbeats: half a session."""

_BEATS_MAX = 300
"""Heartbeats without the wanted answer after which it is taken for one that never comes."""

_VOTER_IDLE_MAX = 5
"""Answers to Fetch without the leader among the voters after which it never comes."""

_IDLE_MAX = 20
"""Answers to Fetch in a row that bring nothing although the broker waits for something."""


class StrictBroker:
    """One process of a broker; use it in `async with`, which runs its raft client.

    Attributes:
        disk: What survives the process; give it to the next one.
        broker_epoch: What the controller gave; -1 before the registration.
    """

    def __init__(
        self,
        identity: Identity,
        disk: Disk | None = None,
        *,
        max_wait_ms: int = 500,
        reply_s: float = REPLY_S,
        beat_s: float = _BEAT_S,
        **options: float,
    ) -> None:
        """Make a process of a broker; `options` are those of its raft client."""
        self.identity = identity
        self.disk = disk or Disk()
        self.raft = RaftClient(
            identity, self.disk, max_wait_ms=max_wait_ms, reply_s=reply_s, **options
        )
        self.broker_epoch = -1
        self._beat_s = beat_s
        self._incarnation = os.urandom(16)
        self._endpoints = [Endpoint("PLAINTEXT", "localhost", 9092 + identity.node_id)]
        self._controller: Connection | None = None
        self._thread: asyncio.Task[None] | None = None

    async def __aenter__(self) -> "StrictBroker":
        self._thread = asyncio.create_task(self.raft.run(), name="raft")
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._thread is not None
        self._thread.cancel()
        await asyncio.wait([self._thread])
        self.raft.close()
        self._hang_up()

    # What a test does

    async def start(self) -> Registration:
        """Go through the whole start; return the registration as the log has it at the end."""
        await self.load()
        await self.register()
        await self.catch_up()
        self._check_first_image()
        return await self.unfence()

    async def load(self) -> None:
        """Fetch the log up to its high watermark."""
        await self._until(lambda: self.raft.has_loaded, Trap.NO_RECORDS)

    async def register(self) -> None:
        """Register this process.

        Raises:
            BrokenError: It was refused, or got an epoch that another registration has.
        """
        highest = self.raft.image.highest_broker_epoch
        error, epoch = await self._while_fetching(self._register())
        if error:
            trap = Trap.OTHER_CLUSTER if error == INCONSISTENT_CLUSTER_ID else Trap.NOT_REGISTERED
            raise BrokenError(trap, f"error {error}")
        if epoch <= highest:
            raise BrokenError(Trap.BROKER_EPOCH, f"{epoch} after {highest}")
        self.broker_epoch = epoch

    async def catch_up(self) -> None:
        """Send heartbeats that want to be fenced until the broker is caught up."""
        await self._while_fetching(self._catch_up())

    async def unfence(self) -> Registration:
        """Send heartbeats until the broker is unfenced, by the answer and by the log."""
        await self._while_fetching(self._unfence())
        await self._until(lambda: not self._registration().is_fenced, Trap.NOT_UNFENCED)
        return self._registration()

    async def beat(self, *, want_shutdown: bool = False) -> Beaten:
        """Send one heartbeat of a broker that serves, or that wants to stop."""
        return await self._while_fetching(self._beat(want_shutdown=want_shutdown))

    async def shut_down(self) -> None:
        """Send heartbeats that want to shut down until the broker may."""
        await self._while_fetching(self._shut_down())
        await self._until(lambda: self._registration().is_fenced, Trap.NO_SHUTDOWN)
        self.disk.previous_broker_epoch = self.broker_epoch

    async def reach(self, offset: int) -> None:
        """Fetch and apply the log up to an offset, inclusive."""
        await self._until(lambda: self.raft.image.applied_offset >= offset, Trap.NOT_COMMITTED)

    # How it does that

    async def _while_fetching(self, step: Coroutine[Any, Any, _T]) -> _T:
        """Return a step's result; raise what the raft client raises meanwhile."""
        assert self._thread is not None
        task = asyncio.ensure_future(step)
        try:
            done, _ = await asyncio.wait({task, self._thread}, return_when=asyncio.FIRST_COMPLETED)
            if self._thread in done:
                self._thread.result()
            return task.result()
        finally:
            task.cancel()
            await asyncio.wait([task])

    def _place(self) -> str:
        raft = self.raft
        return (
            f"leader {raft.leader_id} in epoch {raft.disk.epoch}, log end {raft.disk.end_offset}, "
            f"high watermark {raft.high_watermark}, applied {raft.image.applied_offset}"
        )

    async def _until(self, condition: Callable[[], bool], trap: Trap) -> None:
        """Wait for the log; `trap` is what it is to be without the record that is waited for."""

        async def wait() -> None:
            place, idle = self._place(), 0
            while not condition():
                await self.raft.news()
                idle = idle + 1 if self._place() == place else 0
                place = self._place()
                if idle > _IDLE_MAX:
                    raise BrokenError(self.raft.stands_still or trap, f"{idle} answers at {place}")

        await self._while_fetching(wait())

    async def _ask(self, key: int, message: Callable[[int], bytes]) -> Reader:
        """Send a request to the leader; if its connection breaks, to the next one."""
        while True:
            try:
                return await self._asked_once(key, message)
            except (OSError, EOFError):
                self._hang_up()
                await self.raft.news()

    async def _asked_once(self, key: int, message: Callable[[int], bytes]) -> Reader:
        if self._controller is None:
            self._controller = await Connection.open(
                await self._leader_voter(),
                self.identity.release,
                reply_s=_REPLY_S,
                entry=self.identity.entry,
            )
        version = self._controller.version_of(key)
        return await self._controller.ask(key, version, message(version))

    async def _leader_voter(self) -> Address:
        """Return the leader's address among the voters, which a new leader may yet have to write.

        Raises:
            BrokenError: LEADER_NO_VOTER, it does not come.
        """
        for _ in range(_VOTER_IDLE_MAX):
            while self.raft.leader_id < 0:
                await self.raft.news()
            try:
                return self.raft.leader_voter()
            except BrokenError:
                await self.raft.news()
        return self.raft.leader_voter()

    def _hang_up(self) -> None:
        if self._controller is not None:
            self._controller.close()
            self._controller = None

    async def _register(self) -> tuple[int, int]:
        me = self.identity
        features = {name: (0, high) for name, high in me.release.features.items()}

        def message(version: int) -> bytes:
            return register(
                version,
                node_id=me.node_id,
                cluster_id=me.cluster_id,
                incarnation=self._incarnation,
                endpoints=self._endpoints,
                features={METADATA_VERSION: me.release.levels, **features},
                directories=[me.directory],
                previous_epoch=self.disk.previous_broker_epoch,
            )

        return read_registered(await self._ask(BROKER_REGISTRATION, message))

    async def _beat(self, *, want_fence: bool = False, want_shutdown: bool = False) -> Beaten:
        applied = self.raft.image.applied_offset

        def message(version: int) -> bytes:
            return beat(
                version,
                node_id=self.identity.node_id,
                broker_epoch=self.broker_epoch,
                offset=applied,
                want_fence=want_fence,
                want_shutdown=want_shutdown,
            )

        had_registration = self._has_registration()
        answer = read_beaten(await self._ask(BROKER_HEARTBEAT, message))
        if answer.error:
            raise BrokenError(Trap.HEARTBEAT_ERROR, f"error {answer.error}")
        if answer.is_caught_up and not had_registration:
            raise BrokenError(Trap.CAUGHT_UP_EARLY, f"at offset {applied}")
        if had_registration and not answer.is_caught_up:
            raise BrokenError(Trap.NOT_CAUGHT_UP, f"at offset {applied}")
        return answer

    def _has_registration(self) -> bool:
        found = self.raft.image.brokers.get(self.identity.node_id)
        return found is not None and found.epoch == self.broker_epoch

    def _registration(self) -> Registration:
        return self.raft.image.brokers[self.identity.node_id]

    async def _catch_up(self) -> None:
        async for answer in self._beats(Trap.NOT_CAUGHT_UP, want_fence=True):
            if not answer.is_fenced:
                raise BrokenError(Trap.UNFENCED_EARLY, f"{answer}")
            if answer.is_caught_up:
                return

    async def _unfence(self) -> None:
        async for answer in self._beats(Trap.NOT_UNFENCED):
            if not answer.is_fenced:
                return

    async def _shut_down(self) -> None:
        async for answer in self._beats(Trap.NO_SHUTDOWN, want_shutdown=True):
            if answer.should_shut_down:
                return

    async def _beats(self, trap: Trap, **wants: bool) -> AsyncIterator[Beaten]:
        """Yield the answers to heartbeats; too many of them are the trap."""
        for _ in range(_BEATS_MAX):
            yield await self._beat(**wants)
            await asyncio.sleep(self._beat_s)
        raise BrokenError(self.raft.stands_still or trap, f"{_BEATS_MAX} heartbeats")

    def _check_first_image(self) -> None:
        """Check what a broker needs from the log before it opens its listeners."""
        features = self.raft.image.features
        if self.identity.release.needs_metadata_version and METADATA_VERSION not in features:
            raise BrokenError(Trap.NO_METADATA_VERSION, f"features {features}")
        found = self._registration()
        has_directories = features.get(METADATA_VERSION, 1) >= DIRECTORIES_LEVEL
        expected = (self.identity.directory,) if has_directories else ()
        if (
            found.incarnation != self._incarnation
            or found.endpoints != tuple(self._endpoints)
            or found.directories != expected
        ):
            raise BrokenError(Trap.REGISTRATION_RECORD, f"{found}")
