"""One schedule of faults, and what must hold whatever happens.

At every step: one leader an epoch; each folder is a prefix of what the store has committed, but for
what retention dropped; no node answers beyond that; no node leads whose release does not understand
the log. In the end, when all faults are over: all folders have all that is committed; no
acknowledged change is lost, doubled or moved; one order explains all answers; no broker was fenced
that sent its heartbeats.

The store of schedules with an even number is like PostgreSQL, that of the others a bucket.
"""

import contextlib
import errno
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from random import Random
from unittest.mock import patch

from api.nodes.release import Release, this_release
from metadata_log.format.batch import Batch
from metadata_log.shared.shared_log import Group
from records.errors import Outcome, UnavailableError, UnknownHistoryError
from tests.simulated_disk.loop import SimulatedLoop
from tests.simulated_nodes import history
from tests.simulated_nodes.bucket import SimulatedBucket
from tests.simulated_nodes.checks import Checks
from tests.simulated_nodes.clients import NEW, Broker, Clients
from tests.simulated_nodes.committed import segments
from tests.simulated_nodes.faults import FEATURE, Faults
from tests.simulated_nodes.machine import LEASE_MS, WINDOW_OFFSETS, SimulatedNode, Store
from tests.simulated_nodes.store import SimulatedStore

__all__ = ["LEASE_MS", "OPERATIONS", "Schedule", "SimulatedNode"]

NODES = 3
CLIENTS = 2
OPERATIONS = 40

_HEAL_S = 60.0
_BUSY_S = 5.0
"""Clients ask on for so long when all faults are over."""

_FINGERPRINT = "api.questions.workers.fingerprint"
"""Of this program's files, which do not change here: 20 ms for each process that is asked."""

_WINDOW = "metadata_log.writer.request_window.REQUEST_WINDOW_OFFSETS"


class Schedule:
    """Runs the operations of a number, and returns what was wrong."""

    def __init__(self, number: int, store: Store | None = None) -> None:
        self.number = number
        self.random = Random(number)
        self.loop = SimulatedLoop()
        self.store: Store = store or (SimulatedBucket() if number % 2 else SimulatedStore())
        self._newer = frozenset(self.random.choice(((0, 1, 2), (1, 2), (2,))))
        self.nodes = [SimulatedNode(self, number) for number in range(NODES)]
        self.checks = Checks(self.store, self.nodes, self.loop)
        self.clients = Clients(self.nodes, self.checks.committed_end, self.checks.must_have)
        self.brokers = [Broker(n, self.nodes, self.loop.time) for n in (1, 2)]
        self._operations = Faults(self.nodes, self.store, self.clients, self.loop).weighted()
        self.events = self.store.events

    def leads(self, node: SimulatedNode) -> None:
        """Look at a node that begins to lead."""
        self.checks.leads(node)
        assert node.service is not None
        self.events["take-over"] += 1
        self.events["take-over by a cut folder"] += segments(node.disk)[0][0] > 0
        self.events["next release"] += FEATURE in node.service.image.features()

    def release(self, number: int) -> Release:
        """Return the release of a node: the newest, or the one before."""
        this = this_release()
        if number not in self._newer:
            return this
        return Release("next", {**this.levels, FEATURE: (0, 1)})

    def run(self, operations: Sequence[int] = range(OPERATIONS)) -> list[str]:
        """Run the operations that are named; return the problems that were found."""
        with self.running():
            for operation in range(OPERATIONS):
                seed = self.random.randrange(2**32)
                if operation in operations:
                    self._operate(Random(seed))
                self.loop.advance(Random(seed).choice((0.01, 0.2, 0.5, 1.5)))
            self._heal()
            self._count()
            return self._problems()

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """Run the nodes, the brokers and clients while the body runs."""
        self.loop.at_rest = self.checks.look
        with patch(_WINDOW, WINDOW_OFFSETS), patch(_FINGERPRINT, return_value=b""):
            try:
                self._begin()
                yield
            finally:
                for node in self.nodes:
                    node.end(loses_power=False)
                self.loop.at_rest = lambda: None
                self.loop.advance(1.0)

    def _operate(self, random: Random) -> None:
        random.choice(self._operations)(random.choice(self.nodes), random)

    def _begin(self) -> None:
        for node in self.nodes:
            node.start()
        for broker in self.brokers:
            self.loop.create_task(broker.run())
        self._asking = [
            self.loop.create_task(self.clients.keep_asking(Random(f"{self.number}/{client}")))
            for client in range(CLIENTS)
        ]
        self.loop.advance(2.0)

    def _heal(self) -> None:
        """End all faults, let the nodes find together, and make a last change."""
        self._end_faults()
        self.loop.advance(_BUSY_S)
        self._end_clients()
        self.loop.advance(self.store.LATE_S - _BUSY_S)
        self._until(lambda: all(self._is_settled(node) for node in self.nodes))
        self._until(self._is_whole)
        # The leader may have been fenced by a claim that came late; the first change finds out.
        for _ in range(2):
            self.loop.create_task(self.clients.create_new(Random(0)))
            self.loop.advance(3.0)
            self._until(self._is_whole)

    def _end_faults(self) -> None:
        self.store.come_back()
        for node in self.nodes:
            node.log.heal()
            node.make_room()
            node.resume()

    def _end_clients(self) -> None:
        for client in self._asking:
            client.cancel()

    def _until(self, holds: Callable[[], bool]) -> None:
        """Let time pass until something holds, at most a minute."""
        until = self.loop.time() + _HEAL_S
        while not holds() and self.loop.time() < until:
            self.loop.advance(1.0)

    def _is_settled(self, node: SimulatedNode) -> bool:
        """Return whether a node that is to stop has stopped, and the others have begun."""
        return not node.runs or node.service is not None

    def _restart(self, node: SimulatedNode) -> None:
        """Start a node, as an operator does who reads what it said when it ended."""
        if isinstance(node.problem(), UnknownHistoryError):
            for source in self.nodes:
                if source.leads:
                    self.events["restored"] += 1
                    node.restore(source)
                    node.start()
        elif not node.runs and _ends_by_itself(node):
            node.start()

    def _is_whole(self) -> bool:
        for node in self.nodes:
            self._restart(node)
        end_offset = self.checks.committed_end()
        return [node.leads for node in self.nodes].count(True) == 1 and all(
            node.service is not None and node.service.image.provenance.next_offset == end_offset
            for node in self.nodes
        )

    def _problems(self) -> list[str]:
        problems = [
            f"node {node.number} ended: {problem!r}"
            for node in self.nodes
            if (problem := node.problem()) is not None
        ]
        leaders = [node for node in self.nodes if node.leads]
        if len(leaders) != 1:
            problems.append(f"{len(leaders)} nodes lead in the end")
        problems += (
            self.checks.problems + self.clients.problems[:1] + getattr(self.store, "problems", [])
        )
        problems += self.checks.unlike_nodes()
        truth = self.checks.committed.truth
        problems += _wrong_epochs(self.store.groups, truth.batches)
        problems += history.problems(self.clients.calls, truth)
        problems += self.checks.fenced_too_early(self.brokers, truth.batches)
        problems += [problem for broker in self.brokers for problem in broker.problems[:1]]
        last = [call for call in self.clients.calls if call.name.startswith(NEW)][-1]
        if not isinstance(last.told, int):
            problems.append(f"the last change was not acknowledged: {last}")
        return problems

    def _count(self) -> None:
        """Count what happened, apart from the operations themselves."""
        self.events["trimmed"] += self.store.start > 0
        told: dict[int, list[object]] = {}
        for call in self.clients.calls:
            told.setdefault(call.number, []).append(call.told)
        self.events["repeated"] += sum(
            isinstance(answers[-1], int) and Outcome.UNKNOWN in answers for answers in told.values()
        )


def _ends_by_itself(node: SimulatedNode) -> bool:
    """Return whether a node that ended can be started again: it stopped, or could not begin.

    Without a store, or without room on its disk, it cannot begin. What serves outlives both.
    """
    problem = node.problem()
    is_full = isinstance(problem, OSError) and problem.errno == errno.ENOSPC
    return problem is None or (
        (is_full or isinstance(problem, UnavailableError)) and not node.has_served
    )


def _wrong_epochs(groups: Sequence[Group], batches: Sequence[Batch]) -> list[str]:
    """Return the batches whose epoch is not that of the group they were committed with."""
    ends = [group.end_offset for group in groups]
    found = [groups[bisect_left(ends, batch.end_offset)].epoch for batch in batches]
    return [
        f"batch of epoch {batch.leader_epoch} in a group of {epoch}"
        for batch, epoch in zip(batches, found, strict=True)
        if batch.leader_epoch != epoch
    ]
