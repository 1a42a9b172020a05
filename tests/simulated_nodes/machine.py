"""A node's machine: its disk, its clocks, and its process while that runs."""

import asyncio
import contextlib
import errno
from collections.abc import AsyncIterator, Awaitable, Callable
from contextvars import Context, copy_context
from pathlib import Path
from random import Random
from typing import Any, Protocol, TypeVar

from api.nodes.node import Node
from api.nodes.options import NodeOptions
from api.nodes.release import Release
from api.nodes.trimming import Trimming
from api.service.service import Service
from controller.decisions.context.context import Settings
from records.errors import Outcome, UnavailableError
from replay.care.retain import retain
from tests.simulated_disk.crash import PowerLosses
from tests.simulated_disk.disk import SimulatedDisk
from tests.simulated_disk.loop import PROCESS, SimulatedLoop
from tests.simulated_nodes.bucket import SimulatedBucket
from tests.simulated_nodes.full_disk import make_room
from tests.simulated_nodes.store import WALL_MS, SimulatedStore

DIRECTORY = Path("/disk/log")
LEASE_MS = 1_000
SESSION_MS = 3_000
TRIM_EVERY_S = 1.0

WINDOW_OFFSETS = 12
"""Of the ids of requests, in a schedule, which writes some hundred."""

_END = 2**62

T = TypeVar("T")

Store = SimulatedStore | SimulatedBucket


class SimulatedClocks:
    """A machine's clocks, over virtual time; the wall clock can be set.

    Attributes:
        off_ms: How far the wall clock is ahead of the store's.
    """

    def __init__(self, loop: SimulatedLoop) -> None:
        self._loop = loop
        self.off_ms = 0

    def jump(self, seconds: int) -> None:
        self.off_ms += seconds * 1_000

    def wall_ns(self) -> int:
        return self.boot_ns() + (WALL_MS + self.off_ms) * 1_000_000

    def boot_ns(self) -> int:
        return int(self._loop.time() * 1_000_000_000)


class Surroundings(Protocol):
    """What a machine is in."""

    loop: SimulatedLoop
    random: Random

    @property
    def store(self) -> Store:
        """The store of the shared log."""
        ...

    def release(self, number: int) -> Release:
        """Return the release of a node."""
        ...

    def leads(self, node: "SimulatedNode") -> None:
        """Hear that a node begins to lead."""
        ...


class SimulatedNode:
    """A node's machine.

    Attributes:
        service: The service, once the process has caught up.
        has_served: Whether the process, or the last one, has ever had a service.
        log: The process's connections to the store.
        lives: Number of processes so far.
    """

    def __init__(self, around: Surroundings, number: int) -> None:
        self._around = around
        self.number = number
        self.disk = SimulatedDisk()
        self.clocks = SimulatedClocks(around.loop)
        self.service: Service | None = None
        self.has_served = False
        self.log = around.store.connect(around.random)
        self.lives = 0
        self._context = Context()
        self._task: asyncio.Task[None] | None = None
        self._stop = asyncio.Event()
        self._calls: set[asyncio.Task[Any]] = set()

    @property
    def runs(self) -> bool:
        return self._task is not None and not self._task.done()

    @property
    def leads(self) -> bool:
        return self.service is not None and self.service.is_active

    @property
    def release(self) -> Release:
        return self._around.release(self.number)

    @property
    def _process(self) -> tuple[int, int]:
        return (self.number, self.lives)

    def start(self) -> None:
        self.lives += 1
        self.has_served = False
        self._stop = asyncio.Event()
        self._context = copy_context()
        self._context.run(PROCESS.set, self._process)
        self.log = self._around.store.connect(self._around.random)
        node = Node(
            DIRECTORY,
            self.log,
            NodeOptions(node_id=self.number, lease_ms=LEASE_MS),
            settings=Settings(session_timeout_ms=SESSION_MS),
            serve=self._serve,
            leads=lambda service: self._around.leads(self),
            clocks=self.clocks,
            fs=self.disk,
            # Everything is archived, so that only the window and the other nodes hold a leader
            # back.
            trimming=Trimming(
                self.log, lambda: 2**62, every_s=TRIM_EVERY_S, kept_offsets=WINDOW_OFFSETS
            ),
            release=self.release,
        )
        self._task = self._around.loop.create_task(node.run(self._stop), context=self._context)

    def stop(self) -> None:
        """Ask the process to end, as SIGTERM does."""
        self._stop.set()

    def pause(self) -> None:
        """Stop the process, as SIGSTOP does."""
        if self.runs:
            self._around.loop.pause(self._process)

    def resume(self) -> None:
        self._around.loop.resume(self._process)

    @property
    def is_paused(self) -> bool:
        return self._around.loop.is_paused(self._process)

    def end(self, *, loses_power: bool) -> None:
        """End the process at once, perhaps because the machine has lost its power."""
        if loses_power:
            losses = PowerLosses(self.disk, str(self.number))
            state = losses.state(self._around.random.randrange(losses.count + 20))
        else:
            state = self.disk.visible()
        # What the task still does as it is cancelled reaches neither store nor disk.
        self.log.is_dead = True
        full = self.disk
        self.disk = SimulatedDisk(state)
        self.disk.capacity, self.disk.faults = full.capacity, full.faults
        self.service = None
        for call in self._calls:
            call.cancel()
        if self._task is not None:
            self._task.cancel()
            self._task = None
        self.resume()

    def retain(self) -> int:
        """Drop all segments that may go, as the upkeep beside a service does; return how many."""
        try:
            found = retain(DIRECTORY, _END, fs=self.disk, check_dropped=lambda segments: None)
        except UnavailableError:
            return 0
        except OSError as error:
            if error.errno not in (errno.ENOENT, errno.ENOSPC):
                raise
            return 0
        return found.dropped_segments

    def restore(self, source: "SimulatedNode") -> None:
        """Fill the folder of a node that is too old from an archive, which begins late."""
        backup = source.disk.visible()
        self.disk = SimulatedDisk({n: c for n, c in backup.items() if not n.endswith("/node.json")})
        self.retain()

    def make_room(self) -> None:
        """End a fault of the disk."""
        make_room(self.disk)

    def problem(self) -> BaseException | None:
        """Return the error that ended the process, if there is one."""
        if self._task is None or not self._task.done() or self._task.cancelled():
            return None
        return self._task.exception()

    async def call(self, ask: Callable[[Service], Awaitable[T]]) -> T:
        """Let the process carry out a request.

        Raises:
            UnavailableError: with outcome NOTHING, nobody listens; UNKNOWN, the process has died.
            MetadataLogError: the answer.
        """
        service = self.service
        if service is None:
            raise UnavailableError("nobody listens")

        async def answer() -> T:
            return await ask(service)

        task = self._around.loop.create_task(answer(), context=self._context.copy())
        self._calls.add(task)
        task.add_done_callback(self._called)
        await asyncio.wait([task])
        if task.cancelled():
            raise UnavailableError("the connection is broken", outcome=Outcome.UNKNOWN)
        result: T = task.result()
        return result

    def _called(self, call: asyncio.Task[Any]) -> None:
        self._calls.discard(call)
        if not call.cancelled():
            call.exception()  # perhaps nobody waits for it any more

    @contextlib.asynccontextmanager
    async def _serve(self, service: Service) -> AsyncIterator[None]:
        self.service = service
        self.has_served = True
        try:
            yield
        finally:
            if self.service is service:
                self.service = None
