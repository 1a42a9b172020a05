"""Random schedules in the middle of which the store loses what it has acknowledged."""

from random import Random

import pytest

from api.nodes.repair import put_back
from metadata_log.reader.log_reader import LogReader
from metadata_log.writer.folder_copy import LostRecordsError
from records.errors import UnknownHistoryError
from tests.simulated_nodes.committed import CommittedFiles
from tests.simulated_nodes.machine import DIRECTORY, SimulatedNode
from tests.simulated_nodes.schedule import OPERATIONS, Schedule
from tests.simulated_nodes.store import SimulatedSharedLog, SimulatedStore

_STOP_S = 60.0

_EXPECTED = (
    "is at []",
    "which was right at no time",
    "though it was done before",
    "batch of epoch",
)
"""What no folder had received is lost with the store, and who saw it was told what is gone. What is
put back is in groups of the claim that fenced before.
"""


class _Losing(Schedule):
    """A schedule whose store goes back when all operations are done; then it is repaired."""

    def __init__(self, number: int) -> None:
        self.store: SimulatedStore = SimulatedStore()
        super().__init__(number, self.store)
        self.put_back = 0
        self.written_over = False

    def _heal(self) -> None:
        self._end_faults()
        self._end_clients()
        self.loop.advance(1.0)
        self.checks.is_on = False
        random = Random(self.number)
        late = self._leave_behind(random) if random.random() < 0.5 else None
        self.store.lose(random.randrange(1, 6))
        end = self.store.end
        self.checks.leaders.clear()  # their claims may be lost, and their epochs used again
        if late is not None:
            late.start()
            self._change_something()
        self.loop.advance(_STOP_S)
        for node in self.nodes:
            if not node.runs:
                node.start()
        self.loop.advance(_STOP_S)
        ends = [self._end_of(node.disk) for node in self.nodes]
        is_noticed = any(isinstance(node.problem(), LostRecordsError) for node in self.nodes)
        # If no folder went on from where the store is now, nobody can tell, and all goes on.
        if is_noticed or max(ends) > self.store.end.end_offset:
            self._check_all_stopped()
            self.written_over = self.store.end.end_offset > end.end_offset
            if not self.written_over:
                self._repair(ends.index(max(ends)))
        if not self.written_over:
            self.checks.committed = CommittedFiles(self.store)
            super()._heal()

    def _leave_behind(self, random: Random) -> SimulatedNode:
        """Let a node miss the last changes; return it when no node runs."""
        late = random.choice(self.nodes)
        late.end(loses_power=False)
        for node in self.nodes:
            if node is not late and not node.runs:
                node.start()
        self._change_something()
        for node in self.nodes:
            node.end(loses_power=False)
        return late

    def _change_something(self) -> None:
        self.loop.advance(10.0)
        for _ in range(2):
            self.loop.create_task(self.clients.create_new(Random(0)))
            self.loop.advance(1.0)

    def _end_of(self, disk: object) -> int:
        with LogReader.open(DIRECTORY, fs=disk) as reader:  # type: ignore[arg-type]
            return reader.end_offset

    def _check_all_stopped(self) -> None:
        for node in self.nodes:
            if not isinstance(node.problem(), LostRecordsError | UnknownHistoryError):
                self.checks.problems.append(f"node {node.number} goes on: {node.problem()!r}")

    def _repair(self, furthest: int) -> None:
        """Put back what the furthest folder has."""

        async def repair() -> None:
            log = SimulatedSharedLog(self.store, self.random)
            node = self.nodes[furthest]
            found, may_run = await put_back(log, DIRECTORY, fs=node.disk)
            assert may_run
            self.put_back = found.lost

        task = self.loop.create_task(repair())
        self.loop.advance(_STOP_S)
        task.result()
        for node in self.nodes:
            node.start()

    def _problems(self) -> list[str]:
        if self.written_over:
            return self.checks.problems[:1]
        return [each for each in super()._problems() if not any(text in each for text in _EXPECTED)]


@pytest.mark.parametrize("number", range(14))
def test_what_folders_have_is_put_back_or_all_nodes_stand_still(number: int) -> None:
    assert _Losing(number).run(range(OPERATIONS)) == []
