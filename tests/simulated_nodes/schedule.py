"""One schedule of faults, and what must hold whatever happens.

At every step: no two nodes lead in the same epoch. At the end, when all faults are over: all
folders have the bytes that the store has committed; every acknowledged change is there once, in the
order of the offsets that were told; what had outcome `nothing` is not there.
"""

import asyncio
import contextlib
import gc
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from random import Random
from typing import NamedTuple

from api.nodes.node import Node
from api.nodes.options import NodeOptions
from api.nodes.trimming import Trimming
from api.service.service import Service
from controller.authorization.caller import CONTROLLER
from controller.decisions.context.context import Settings
from controller.decisions.namespaces.namespaces import CreateNamespace
from metadata_log.format.segment import decode_header
from metadata_log.reader.log_reader import LogReader
from metadata_log.shared.shared_log import EntryKind
from records.errors import MetadataLogError, Outcome
from records.topics import NamespaceRecord
from tests.simulated_disk.crash import PowerLosses
from tests.simulated_disk.disk import SimulatedDisk
from tests.simulated_disk.loop import SimulatedLoop
from tests.simulated_nodes.store import SimulatedSharedLog, SimulatedStore

DIRECTORY = Path("/disk/log")
NODES = 3
OPERATIONS = 40
LEASE_MS = 1_000
TRIM_EVERY_S = 3.0
_HEAL_S = 60.0


class Change(NamedTuple):
    """What a client asked, and what it was told: the end offset, or the error's outcome."""

    name: str
    told: int | Outcome


class SimulatedClocks:
    """A machine's clocks, over virtual time; the wall clock can be set."""

    def __init__(self, loop: SimulatedLoop) -> None:
        self._loop = loop
        self.ahead_ns = 1_700_000_000_000_000_000

    def wall_ns(self) -> int:
        return self.boot_ns() + self.ahead_ns

    def boot_ns(self) -> int:
        return int(self._loop.time() * 1_000_000_000)


class SimulatedNode:
    """A node's machine: its disk, its clocks, and its process while that runs."""

    def __init__(self, schedule: "Schedule", number: int) -> None:
        self._schedule = schedule
        self.number = number
        self.disk = SimulatedDisk()
        self.clocks = SimulatedClocks(schedule.loop)
        self.service: Service | None = None
        self.log = SimulatedSharedLog(schedule.store, schedule.random)
        self._task: asyncio.Task[None] | None = None
        self._stop = asyncio.Event()

    @property
    def runs(self) -> bool:
        return self._task is not None and not self._task.done()

    def start(self) -> None:
        self._stop = asyncio.Event()
        self.log = SimulatedSharedLog(self._schedule.store, self._schedule.random)
        node = Node(
            DIRECTORY,
            self.log,
            NodeOptions(node_id=self.number, lease_ms=LEASE_MS),
            settings=Settings(),
            serve=self._serve,
            leads=self._leads,
            clocks=self.clocks,
            fs=self.disk,
            # Everything is archived, so that only the other nodes hold a leader back.
            trimming=Trimming(self.log, lambda: 2**62, every_s=TRIM_EVERY_S, kept_offsets=0),
        )
        self._task = self._schedule.loop.create_task(node.run(self._stop))

    def stop(self) -> None:
        self._stop.set()

    def end(self, *, loses_power: bool) -> None:
        """End the process at once, perhaps because the machine has lost its power."""
        if loses_power:
            losses = PowerLosses(self.disk, str(self._schedule.number))
            state = losses.state(self._schedule.random.randrange(losses.count + 20))
        else:
            state = self.disk.visible()
        # What the task still does as it is cancelled reaches neither store nor disk.
        self.log.is_dead = True
        self.disk = SimulatedDisk(state)
        self.service = None
        if self._task is not None:
            self._task.cancel()
            self._task = None

    def problem(self) -> BaseException | None:
        """Return the error that ended the process, if there is one."""
        if self._task is None or not self._task.done() or self._task.cancelled():
            return None
        return self._task.exception()

    @property
    def leads(self) -> bool:
        return self.service is not None and self.service.is_active

    def _leads(self, service: Service) -> None:
        self._schedule.led.append((service.controller_epoch, self.number))

    @contextlib.asynccontextmanager
    async def _serve(self, service: Service) -> AsyncIterator[None]:
        self.service = service
        try:
            yield
        finally:
            if self.service is service:
                self.service = None


class Schedule:
    """Runs the operations of a number, and returns what was wrong."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.random = Random(number)
        self.loop = SimulatedLoop()
        self.store = SimulatedStore()
        self.led: list[tuple[int, int]] = []
        self._changes: list[Change] = []
        self._asked = 0
        self._too_early: list[str] = []
        self._asking: list[asyncio.Task[None]] = []
        self.nodes = [SimulatedNode(self, number) for number in range(NODES)]

    def run(self, operations: Sequence[int] = range(OPERATIONS)) -> list[str]:
        """Run the operations that are named; return the problems that were found."""
        thresholds = gc.get_threshold()
        try:
            for node in self.nodes:
                node.start()
            self.loop.advance(2.0)
            for operation in range(OPERATIONS):
                seed = self.random.randrange(2**32)
                if operation in operations:
                    self._operate(Random(seed))
                self.loop.advance(Random(seed).choice((0.01, 0.2, 0.5, 1.5)))
                self._look_at_answers(operation)
            self._heal()
            return self._problems()
        finally:
            for node in self.nodes:
                node.end(loses_power=False)
            self.loop.advance(_HEAL_S)
            gc.set_threshold(*thresholds)

    def _look_at_answers(self, operation: int) -> None:
        """Note the nodes that would answer from records which a fail-over can take back."""
        confirmed = self.store.groups[: self.store.confirmed]
        end_offset = confirmed[-1].end_offset if confirmed else 0
        for node in self.nodes:
            if node.service is not None:
                seen = node.service.image.provenance.next_offset
                if seen > end_offset:
                    self._too_early.append(
                        f"after operation {operation} node {node.number} answers up to {seen}, "
                        f"confirmed is {end_offset}"
                    )

    def _operate(self, random: Random) -> None:
        node = random.choice(self.nodes)
        match random.randrange(16):
            case 0:
                node.log.is_cut = not node.log.is_cut
            case 1:
                node.log.delay_s = random.choice((0.0, 0.05, 1.2))
            case 2 | 3:
                node.log.fates.append(random.choice(("request", "answer", "late", "refused")))
            case 4:
                node.end(loses_power=False)
            case 5:
                node.end(loses_power=True)
            case 6:
                node.stop()
            case 7 | 8:
                if not node.runs:
                    node.start()
            case 9:
                self.store.is_alone = True
            case 10:
                self.store.come_back()
            case 11:
                self.store.fail_over()
            case 12:
                # By some seconds, or by more than a leader's clock may be wrong.
                node.clocks.ahead_ns += random.randrange(-10, 10) * random.choice((1, 20)) * 10**9
            case _:
                for _ in range(random.randrange(1, 5)):
                    self._ask()

    def _ask(self) -> None:
        """Let a client ask every node that believes it leads."""
        for node in self.nodes:
            if node.service is not None and node.leads:
                self._asked += 1
                name = f"n{self._asked}"
                self._asking.append(self.loop.create_task(self._change(node.service, name)))

    async def _change(self, service: Service, name: str) -> None:
        try:
            answer = await service.run(
                "namespaces create", CreateNamespace(name), caller=CONTROLLER
            )
            self._changes.append(Change(name, answer.end_offset))
        except MetadataLogError as error:
            self._changes.append(Change(name, error.outcome))

    def _heal(self) -> None:
        """End all faults, let the nodes find together, and make a last change."""
        self.store.come_back()
        for node in self.nodes:
            node.log.is_cut, node.log.delay_s = False, 0.0
            node.log.fates.clear()
        self.loop.advance(_HEAL_S)  # those that are to stop have stopped
        for node in self.nodes:
            if not node.runs:
                node.start()
        self.loop.advance(_HEAL_S)
        # The leader may have been fenced by a claim that came late; the first change finds out.
        for _ in range(2):
            self._ask()
            self.loop.advance(_HEAL_S)

    def _problems(self) -> list[str]:
        problems = [
            f"node {node.number} ended: {problem!r}"
            for node in self.nodes
            if (problem := node.problem()) is not None
        ]
        leaders = [node for node in self.nodes if node.leads]
        if len(leaders) != 1:
            problems.append(f"{len(leaders)} nodes lead in the end")
        epochs = dict(self.led)
        problems += [
            f"nodes {epochs[epoch]} and {number} led in epoch {epoch}"
            for epoch, number in self.led
            if epochs[epoch] != number
        ]
        if not self.store.start:
            problems.append("nothing was trimmed")
        committed = _content_of(self.store)
        problems += [
            f"the folder of node {node.number} is no copy of the store"
            for node in self.nodes
            if _files(node.disk) != committed
        ]
        problems += [
            f"node {node.number} answers from another state than its folder's"
            for node in self.nodes
            if node.service is None or _of_image(node.service) != set(_names(node.disk))
        ]
        problems += self._too_early[:1]
        problems += _wrong_epochs(self.store, self.nodes[0].disk)
        return problems + self._wrong_answers(_names(self.nodes[0].disk))

    def _wrong_answers(self, names: dict[str, list[int]]) -> list[str]:
        problems = []
        for change in self._changes:
            found = names.get(change.name, [])
            if isinstance(change.told, int) and found != [change.told]:
                problems.append(f"{change.name}: acknowledged up to {change.told}, is at {found}")
            if change.told is Outcome.NOTHING and found:
                problems.append(f"{change.name} had outcome nothing, is at {found}")
            if len(found) > 1:
                problems.append(f"{change.name} is there {len(found)} times")
        if not any(isinstance(change.told, int) for change in self._changes[-3:]):
            problems.append(f"the last change was not acknowledged: {self._changes[-3:]}")
        return problems


def _of_image(service: Service) -> set[str]:
    return {namespace.name for namespace in service.image.namespaces()}


def _wrong_epochs(store: SimulatedStore, disk: SimulatedDisk) -> list[str]:
    """Return the batches whose epoch is not that of the group they were committed with."""
    problems = []
    ends = [(group.end_offset, group.epoch) for group in store.groups if not group.is_claim]
    with LogReader.open(DIRECTORY, fs=disk) as reader:
        for batch in reader.batches():
            epochs = [epoch for end, epoch in ends if end >= batch.end_offset]
            if not epochs or batch.leader_epoch != epochs[0]:
                problems.append(f"batch of epoch {batch.leader_epoch} in a group of {epochs[:1]}")
    return problems


def _content_of(store: SimulatedStore) -> list[bytes]:
    """Return the segments that the groups of a store amount to, one after the other."""
    segments: list[bytes] = []
    for group in store.groups:
        for entry in group.entries:
            if entry.kind is EntryKind.SEGMENT:
                if segments and segments[-1] == _header_only(segments[-1]):
                    segments.pop()  # an empty segment is replaced
                segments.append(entry.content)
            else:
                segments[-1] += entry.content
    return segments


def _header_only(segment: bytes) -> bytes:
    return segment[: decode_header(segment)[1]]


def _files(disk: SimulatedDisk) -> list[bytes]:
    """Return the segments of a folder, in their order."""
    found = []
    for name in disk.list(DIRECTORY):
        if name.endswith(".avro"):
            file = disk.open(DIRECTORY / name)
            found.append(file.pread(file.size(), 0))
            file.close()
    return found


def _names(disk: SimulatedDisk) -> dict[str, list[int]]:
    """Return the namespaces in a folder, each with the end offsets of its records' batches."""
    found: dict[str, list[int]] = {}
    with LogReader.open(DIRECTORY, fs=disk) as reader:
        for batch in reader.batches():
            for row in batch.rows:
                if isinstance(row.payload, NamespaceRecord):
                    found.setdefault(row.payload.name, []).append(batch.end_offset)
    return found
