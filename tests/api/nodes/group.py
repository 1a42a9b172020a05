"""Several nodes in one process, over one store in memory."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

from api.nodes.node import Node
from api.nodes.node_service import NodeService
from api.nodes.options import NodeOptions
from api.nodes.trimming import Trimming
from controller.authorization.caller import CONTROLLER
from controller.decisions.context.context import Settings
from controller.decisions.namespaces.namespaces import CreateNamespace
from controller.results.answer import Answer
from metadata_log.shared.identity import Identity
from metadata_log.writer.clock import SystemClocks
from tests.shared_log.memory import MemorySharedLog, MemoryStore

LEASE_MS = 600
TRIM_EVERY_S = 0.05
KEPT_OFFSETS = 10
WAIT_S = 20.0


class WrongClocks(SystemClocks):
    """Those of a machine whose wall clock is ahead."""

    ahead_s = 0

    def wall_ns(self) -> int:
        return super().wall_ns() + self.ahead_s * 10**9


class Member:
    """A node, as its operator sees it."""

    def __init__(self, directory: Path, store: MemoryStore, number: int) -> None:
        self.number = number
        self._store = store
        self.directory = directory
        self.log = MemorySharedLog(store)
        self.service: NodeService | None = None
        self.roles: list[str] = []
        self.clocks = WrongClocks()
        self.settings = Settings()
        self.lease_ms = LEASE_MS
        self.own_settings = False
        self.addresses: dict[str, str] = {}
        self.archived_end: int | None = None
        self._stop = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._stop = asyncio.Event()
        node = Node(
            self.directory,
            self.log,
            NodeOptions(
                node_id=self.number,
                lease_ms=self.lease_ms,
                addresses=self.addresses,
                own_settings=self.own_settings,
            ),
            settings=self.settings,
            serve=self._serve,
            leads=lambda service: self.roles.append("leader"),
            stands_by=lambda service: self.roles.append("standby"),
            clocks=self.clocks,
            trimming=Trimming(
                self.log, lambda: self.archived_end, every_s=TRIM_EVERY_S, kept_offsets=KEPT_OFFSETS
            ),
        )
        self._task = asyncio.create_task(node.run(self._stop))

    @property
    def leads(self) -> bool:
        return self.service is not None and self.service.is_active

    async def serves(self) -> NodeService:
        """Wait until this node answers questions."""
        async with asyncio.timeout(WAIT_S):
            while self.service is None:
                await asyncio.sleep(0.01)
        return self.service

    async def ended(self) -> None:
        """Wait until this node ends by itself; raise its error."""
        task, self._task = self._task, None
        assert task is not None
        await asyncio.wait_for(task, WAIT_S)

    async def stop(self) -> None:
        """Stop as by SIGTERM."""
        self._stop.set()
        if self._task is not None:
            await asyncio.wait_for(self._task, WAIT_S)

    def kill(self) -> None:
        """End at once, as by SIGKILL: nothing more reaches the store."""
        self.log.is_cut = True
        assert self._task is not None
        self._task.cancel()
        self._task = None
        self.service = None
        self.log = MemorySharedLog(self._store)

    @contextlib.asynccontextmanager
    async def _serve(self, service: NodeService) -> AsyncIterator[None]:
        self.service = service
        try:
            yield
        finally:
            self.service = None

    async def create(self, name: str) -> Answer[object]:
        """Create a namespace at this node, which leads."""
        assert self.service is not None
        return await self.service.run("namespaces create", CreateNamespace(name), caller=CONTROLLER)


class Group:
    """The nodes of one shared log."""

    def __init__(self, scratch: Path, count: int = 3, member: type[Member] = Member) -> None:
        self.store = MemoryStore()
        self.store.identity = Identity(cluster_id="shared", log_id="1")
        self.members = [
            member(scratch / f"node-{number}", self.store, number) for number in range(count)
        ]

    def start(self) -> None:
        for member in self.members:
            member.start()

    async def leader(self, *others: Member) -> Member:
        """Wait until a node leads that is not one of `others`."""
        async with asyncio.timeout(WAIT_S):
            while True:
                for member in self.members:
                    if member.leads and member not in others:
                        return member
                await asyncio.sleep(0.01)

    async def stop(self) -> None:
        for member in self.members:
            await member.stop()
