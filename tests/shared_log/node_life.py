"""Operations on a node whose disk is simulated: it follows, leads, is killed, and loses power.

At each I/O boundary some of the states that a power loss may leave of its folder are collected. A
node that is started on one of them has to be equal to the other node in the end. The shared log is
then trimmed as far as this node has allowed, by what it had reported to be on its disk.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from random import Random

from metadata_log.shared.shared_log import Group
from records.errors import UnknownHistoryError
from tests.shared_log.memory import MemorySharedLog, MemoryStore
from tests.shared_log.node import Node
from tests.simulated_disk.crash import PowerLosses
from tests.simulated_disk.disk import ROOT, DiskState, SimulatedDisk
from tests.simulated_disk.expectations import Violation
from tests.simulated_disk.explorer import Chooser
from tests.simulated_disk.operations import Operation, random_operations

_LOG = Path(ROOT) / "log"
_SEGMENT_SIZE_BYTES_MAX = 15_000
"""A header and some blocks, so that segments are full within an epoch, too."""
_OFTEN = 16
"""Of how many cases one is also recovered with power losses, and from a shorter shared log."""
_STATES_OF_A_RECOVERY = 2


class Kind(StrEnum):
    """The kinds of operations."""

    APPEND = "append"
    FOLLOW = "follow"
    SYNC = "sync"
    CHANGE_LEADER = "change-leader"
    REOPEN = "reopen"
    KILL = "kill"
    POWER_LOSS = "power-loss"


_WEIGHTS = {
    Kind.APPEND: 6,
    Kind.FOLLOW: 3,
    Kind.SYNC: 2,
    Kind.CHANGE_LEADER: 3,
    Kind.REOPEN: 1,
    Kind.KILL: 1,
    Kind.POWER_LOSS: 1,
}


def make_operations(seed: int, count: int) -> list[Operation[Kind]]:
    """Return `count` operations; the first two give the log some records."""
    first = (Kind.APPEND, Kind.FOLLOW)
    return random_operations(Random(seed), _WEIGHTS, seed, count, first)


@dataclass(frozen=True, slots=True)
class NodeCase:
    """A state that a power loss may leave; `reported` is the end that the node had on its disk."""

    point: int
    number: int
    state: DiskState
    reported: int


@dataclass
class NodeLife:
    """Runs operations on a node, beside another one whose disk never fails.

    Attributes:
        choose: Chooses the states to collect at a boundary.
        cases: What was collected.
    """

    seed: int
    choose: Chooser
    cases: list[NodeCase] = field(default_factory=list)
    _point: int = 0
    _reported: int = 0

    async def run(self, operations: Sequence[Operation[Kind]]) -> "Truth":
        """Run the operations; return what the node's folder has to be in the end."""
        self._store = MemoryStore()
        self._disk = SimulatedDisk()
        self._node = _node(self._disk, self._store, 1)
        self._other = _node(SimulatedDisk(), self._store, 2)
        self._disk.boundary = self._collect
        await self._node.start()
        await self._other.start()
        await self._other.lead()
        for operation in operations:
            await self._run(operation.kind, operation.random())
            self._report()
        await self._node.stop()
        if self._other.leads is None:
            await self._other.follow()
        truth = Truth.of(self._store.groups, self._other)
        await self._other.stop()
        return truth

    async def _run(self, kind: Kind, random: Random) -> None:
        node = self._node
        leader = node if node.leads is not None else self._other
        match kind:
            case Kind.APPEND:
                await leader.append(random.choice((1, 2, 50)))
            case Kind.FOLLOW if node.leads is None:
                await node.follow()
            case Kind.SYNC if node.copy is not None:
                node.copy.sync()
            case Kind.CHANGE_LEADER:
                await leader.stop()
                await leader.start()
                await (self._other if leader is node else node).lead()
            case Kind.REOPEN if leader is not node:
                await node.stop()
                await node.start()
            case Kind.KILL:
                node.crash()
                await self._come_back(leader)
            case Kind.POWER_LOSS:
                node.crash()
                losses = PowerLosses(self._disk, f"loss/{self.seed}/{self._point}")
                self._disk = SimulatedDisk(losses.state(random.choice(losses.sample(random, 6))))
                self._disk.boundary = self._collect
                self._node = _node(self._disk, self._store, 1)
                await self._come_back(leader if leader is self._other else self._node)

    async def _come_back(self, leader: Node) -> None:
        await self._node.start()
        if leader is self._node:
            await leader.lead()

    def _report(self) -> None:
        node = self._node
        writer = node.owned.writer if node.owned is not None else node.copy
        self._reported = max(self._reported, getattr(writer, "durable_end", 0))

    def _collect(self) -> None:
        self._point += 1
        losses = PowerLosses(self._disk, f"{self.seed}/{self._point}")
        for number in self.choose(self._point, losses):
            state = losses.state(number)
            self.cases.append(NodeCase(self._point, number, state, self._reported))


@dataclass(frozen=True)
class Truth:
    """The groups of the shared log, and the folder of a node that has them all."""

    groups: Sequence[Group]
    files: dict[str, bytes]
    ends: list[int]

    @classmethod
    def of(cls, groups: Sequence[Group], node: Node) -> "Truth":
        return cls(groups, node.files(), [batch.end_offset for batch in node.batches()])

    async def judge(self, case: NodeCase) -> None:
        """Start a node on the state that a power loss left, and let it follow.

        Raises:
            Violation: its folder is another, or the node cannot start.
        """
        try:
            await self._judge(case)
        except Violation:
            raise
        except Exception as error:
            raise Violation(f"{type(error).__name__}: {error}") from error

    async def _judge(self, case: NodeCase) -> None:
        disk = SimulatedDisk(case.state)
        kept = await self._recovered(disk, case.reported)
        if kept < case.reported:
            raise Violation(f"{case.reported} was reported to be on the disk, {kept} is there")
        if case.number % _OFTEN == 0:
            for state in await _recovery_states(case, self._trimmed_to(case.reported)):
                await self._recovered(SimulatedDisk(state), case.reported)
            await self._refused(SimulatedDisk(case.state), kept)

    async def _recovered(self, disk: SimulatedDisk, reported: int) -> int:
        """Let a node come back over a log that is trimmed to `reported`; return what it had."""
        node = _node(disk, self._trimmed_to(reported), 1)
        await node.start()
        assert node.copy is not None
        kept = node.copy.tail.end_offset
        await node.follow()
        if node.files() != self.files:
            raise Violation("the folder is not equal to that of the other node")
        if [batch.end_offset for batch in node.batches()] != self.ends:
            raise Violation("a reader of the folder sees other batches")
        await node.stop()
        return kept

    async def _refused(self, disk: SimulatedDisk, kept: int) -> None:
        """Let a node come back over a log that is trimmed to its last group."""
        store = self._trimmed_to(self.groups[-1].end_offset)
        begins_at = store.last_trimmed.end_offset if store.last_trimmed else 0
        try:
            await _node(disk, store, 1).start()
        except UnknownHistoryError:
            if kept > begins_at:
                raise Violation(f"{kept} is there, the log begins at {begins_at}") from None
        else:
            if kept < begins_at:
                raise Violation(f"only {kept} is there, and the log begins at {begins_at}")

    def _trimmed_to(self, end_offset: int) -> MemoryStore:
        """Return the shared log trimmed as `Trimming` does it, for a node with this much."""
        numbers = [group.number for group in self.groups if group.end_offset >= end_offset]
        start = max(min(numbers, default=len(self.groups)) - 1, 0)
        store = MemoryStore()
        store.groups = list(self.groups[start:])
        store.start = start
        store.last_trimmed = self.groups[start - 1] if start else None
        return store


async def _recovery_states(case: NodeCase, store: MemoryStore) -> list[DiskState]:
    """Return states that a second power loss leaves while a node recovers from the first one."""
    disk, states = SimulatedDisk(case.state), list[DiskState]()

    def observe() -> None:
        at = f"{case.point}/{case.number}/{disk.boundary_count}"
        losses = PowerLosses(disk, at)
        states.extend(losses.state(n) for n in losses.sample(Random(at), _STATES_OF_A_RECOVERY))

    disk.boundary = observe
    await _node(disk, store, 1).take_over()
    return states


def _node(disk: SimulatedDisk, store: MemoryStore, number: int) -> Node:
    log = MemorySharedLog(store)
    return Node(_LOG, log, number, disk, segment_size_bytes_max=_SEGMENT_SIZE_BYTES_MAX)
