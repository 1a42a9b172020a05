"""What holds at every step: whenever no callback is left to run before the time moves on."""

from bisect import bisect_right
from operator import itemgetter

from api.service.service import Service
from controller.decisions.brokers.heartbeats import FENCE
from metadata_log.format.batch import Batch
from metadata_log.writer.log import MetadataLog
from metadata_log.writer.request_window import RequestWindow, window_start
from records.brokers import BrokerRegistrationChangeRecord, FenceBrokerRecord
from replay.image.digest import image_digest
from tests.simulated_disk.loop import SimulatedLoop
from tests.simulated_nodes.clients import Broker
from tests.simulated_nodes.committed import CommittedFiles, segments
from tests.simulated_nodes.machine import LEASE_MS, SESSION_MS, WINDOW_OFFSETS, SimulatedNode, Store

_CLOCK_SLACK = 0.8
"""A log's clock that takes a correction over runs at most a tenth faster, and a time is rounded."""

_LOOK_S = 0.01
"""What a node hears from the store is so old by then, beside the time that it counts."""


class Checks:
    """Looks at all nodes, and keeps what is wrong.

    Attributes:
        committed: What the store has committed.
        problems: What was found.
        is_on: False for a store that loses what it has acknowledged.
        leaders: Who led in each epoch, and since when.
    """

    def __init__(self, store: Store, nodes: list[SimulatedNode], loop: SimulatedLoop) -> None:
        self._store = store
        self._nodes = nodes
        self._loop = loop
        self.committed = CommittedFiles(store)
        self.problems: list[str] = []
        self.is_on = True
        self.leaders: dict[int, tuple[int, float]] = {}
        # The part of a disk's history that was looked at, by node.
        self._seen: dict[int, tuple[int, int, int]] = {}

    def committed_end(self) -> int:
        """Return the end offset of what can never vanish."""
        self.committed.grow(self._loop.time())
        return self.committed.end_offset

    def must_have(self, service: Service) -> int:
        """Return the end offset that an answer of now has, by what the service says of its age.

        A leader is bounded by its lease; an append of its own may be there without an answer yet.
        """
        standing, epoch = service.standing, service.controller_epoch
        old_ms = LEASE_MS if standing is None else standing.lag_ms + 1
        self.committed_end()
        at_s = self._loop.time() - old_ms / 1_000 - _LOOK_S
        count = bisect_right(self.committed.written_s, at_s, key=itemgetter(1))
        if not count or (service.is_active and self._store.groups[count - 1].epoch <= epoch):
            return 0
        end_offset = self.committed.written_s[count - 1][0]
        return self.committed.truth.answered_end(end_offset)

    def leads(self, node: SimulatedNode) -> None:
        """Look at a node that begins to lead."""
        assert node.service is not None
        epoch = node.service.controller_epoch
        number, _ = self.leaders.setdefault(epoch, (node.number, self._loop.time()))
        if number != node.number:
            self.problems.append(f"nodes {number} and {node.number} led in epoch {epoch}")
        unknown = node.release.not_understood(node.service.image)
        if unknown:
            self.problems.append(f"node {node.number} leads and does not understand {unknown}")
        self._knows_requests(node)

    def _knows_requests(self, node: SimulatedNode) -> None:
        """Compare the request window that a leader kept as a standby with that of its folder."""
        assert node.service is not None
        log = node.service._log
        assert isinstance(log, MetadataLog)
        kept = log._requests.window
        with log.reader() as reader:
            read = RequestWindow.of_tail(reader)
            start = max(reader.start_offset, window_start(reader.end_offset))
            origins = [
                batch.rows[0].origin
                for batch in reader.batches(start)
                if batch.base_offset >= start
            ]
        unknown = [each for each in origins if kept.find(each) != read.find(each)]
        if unknown:
            self._found(f"node {node.number} leads and does not know {unknown[0]}")

    def look(self) -> None:
        """Look at all nodes."""
        if not self.is_on:
            return
        end_offset = self.committed_end()
        start = self._store.start
        if start and self._store.groups[start].end_offset > max(end_offset - WINDOW_OFFSETS, 0):
            self._found(f"the store begins with group {start}, within the request window")
        for node in self._nodes:
            if node.service is None:
                continue  # after a power loss its folder is not whole until it has been opened
            seen = node.service.image.provenance.next_offset
            if seen > end_offset:
                self._found(f"node {node.number} answers up to {seen}, confirmed is {end_offset}")
            if seen < end_offset and not node.is_paused:
                wanted = self.must_have(node.service)
                if seen < wanted:
                    self._found(f"node {node.number} answers up to {seen} instead of {wanted}")
            state = (node.lives, node.disk.boundary_count, end_offset)
            if self._seen.get(node.number) != state:
                self._seen[node.number] = state
                if (problem := self.committed.problem(node.disk)) is not None:
                    self._found(f"the folder of node {node.number} is no copy: {problem}")

    def unlike_nodes(self) -> list[str]:
        """Return the nodes whose folder or image is not that of the store, when all is quiet."""
        self.committed_end()
        committed = [(base, bytes(each)) for base, each in self.committed.files.items()]
        problems, digests = [], set()
        for node in self._nodes:
            found = segments(node.disk)
            if not found or found != committed[-len(found) :]:
                problems.append(f"the folder of node {node.number} is no copy of the store")
            if node.service is not None:
                digests.add(image_digest(node.service.image))
        if len(digests) != 1:
            problems.append("nodes answer from another state than others")
        return problems

    def fenced_too_early(self, brokers: list[Broker], batches: list[Batch]) -> list[str]:
        """Return the brokers that a leader fenced although it had heard of them in time.

        A new leader waits for a whole session.
        """
        written = iter(self.committed.written_s)
        found, (end_offset, at_s) = [], next(written, (0, 0.0))
        for batch in batches:
            while end_offset < batch.end_offset:
                end_offset, at_s = next(written)
            for broker in brokers:
                if not any(_fences(row.payload, broker.number) for row in batch.rows):
                    continue
                epoch = batch.leader_epoch
                _, since_s = self.leaders.get(epoch, (0, at_s))
                silent_s = at_s - max(since_s, broker.heard_before(epoch, at_s))
                if epoch in self.leaders and silent_s < SESSION_MS / 1_000 * _CLOCK_SLACK:
                    found.append(f"broker {broker.number} is fenced after {silent_s:.2f} s")
        return found

    def _found(self, problem: str) -> None:
        if len(self.problems) < 3:
            self.problems.append(f"at {self._loop.time():.3f} s {problem}")


def _fences(record: object, broker_id: int) -> bool:
    match record:
        case BrokerRegistrationChangeRecord():
            return record.broker_id == broker_id and record.fenced == FENCE
        case FenceBrokerRecord():
            return record.id == broker_id
    return False
