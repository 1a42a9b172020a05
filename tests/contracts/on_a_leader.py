"""A pytest plugin: a service that a test opens in its process is the leader of a node.

The log becomes a shared log in memory and stays that of the directory, so a service that is opened
there again is the same node.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from api.nodes.node import Node
from api.nodes.node_service import NodeService
from api.nodes.options import NodeOptions
from api.service.service import Service
from controller.decisions.context.context import Settings
from metadata_log.files.fs import OsFs
from metadata_log.format.manifest import Kind, read_manifest
from metadata_log.writer.clock import MachineClocks, SystemClocks
from tests.shared_log.filled import fill
from tests.shared_log.memory import MemorySharedLog, MemoryStore

COUNT = "services opened on leaders: "
"""Begins the line of the summary with the number of services opened."""

_LEASE_MS = 60_000
"""Long enough for a busy machine."""

_NS_PER_MS = 1_000_000

_open_service = Service.open
_stores: dict[Path, MemoryStore] = {}
_opened = 0


class _Impatient(Node):
    """A node that looks at the lease all the time, though it takes a long one."""

    @property
    def _look_s(self) -> float:
        return 0.01


class _SharedLogOnTheSameClock(MemorySharedLog):
    """A shared log whose store has the node's clock, which a test may set years off."""

    def __init__(self, store: MemoryStore, clocks: MachineClocks) -> None:
        super().__init__(store)
        self._clocks = clocks

    async def register(self, node_id: int, content: bytes, instead_of: bytes | None = None) -> int:
        await super().register(node_id, content, instead_of)
        return self._clocks.wall_ns() // _NS_PER_MS


async def _open(
    directory: Path | str,
    *,
    settings: Settings | None = None,
    machine: MachineClocks | None = None,
    progress: Callable[[int], None] | None = None,
    with_timers: bool = True,
) -> NodeService:
    """Return the service of a node that leads; when it is closed, the node hands over."""
    global _opened
    _opened += 1
    directory = Path(directory).resolve()
    store = await _store_of(directory)
    settings, clocks = settings or Settings(), machine or SystemClocks()
    leads: asyncio.Future[NodeService] = asyncio.get_running_loop().create_future()

    @contextlib.asynccontextmanager
    async def serve(service: NodeService) -> AsyncIterator[None]:
        yield

    def led(service: NodeService) -> None:
        if not leads.done():
            leads.set_result(service)

    node = _Impatient(
        directory,
        _SharedLogOnTheSameClock(store, clocks),
        NodeOptions(node_id=settings.node_id, lease_ms=_LEASE_MS, own_settings=True),
        settings=settings,
        serve=serve,
        leads=led,
        clocks=clocks,
    )
    return await _running(node, leads)


async def _store_of(directory: Path) -> MemoryStore:
    """Return the store of a directory's shared log, which is made from the log in it."""
    if directory not in _stores:
        if read_manifest(OsFs(), directory).kind is Kind.MIRROR:
            await _open_service(directory)  # refused
        fill(_stores.setdefault(directory, MemoryStore()), directory)
    return _stores[directory]


async def _running(node: Node, leads: "asyncio.Future[NodeService]") -> NodeService:
    """Run a node until its service is closed; return the service once it leads."""
    stop = asyncio.Event()
    running = asyncio.create_task(node.run(stop))
    await asyncio.wait((running, leads), return_when=asyncio.FIRST_COMPLETED)
    if running.done():
        await running
    service = leads.result()
    close = service.close

    async def end() -> None:
        stop.set()
        await running
        await close()

    service.close = end  # type: ignore[method-assign]
    return service


def pytest_configure() -> None:
    """Replace what opens a service, for fixtures of every scope."""
    Service.open = _open  # type: ignore[method-assign]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how many services were opened, so that a module that opens none is noticed."""
    terminalreporter.line(f"{COUNT}{_opened}")
