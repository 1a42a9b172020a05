"""The quorum: its nodes, what a test does to them, and what its clients asked."""

import contextlib
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.stand_in_quorum import answers, requests, rules
from tests.stand_in_quorum.connection import Encodes, Exchange, Raw, serve
from tests.stand_in_quorum.faults import Fault, Last
from tests.stand_in_quorum.fetch import Endpoint, FetchAnswer, FetchRequest
from tests.stand_in_quorum.fetch_snapshot import FetchSnapshotRequest
from tests.stand_in_quorum.frames import API_VERSIONS, METADATA, NAMES, Header
from tests.stand_in_quorum.in_flight import InFlight
from tests.stand_in_quorum.listener import HOST, Listener
from tests.stand_in_quorum.log import Batch, Log, SnapshotId
from tests.stand_in_quorum.orders import Order, Orders
from tests.stand_in_quorum.releases import RELEASES, Versions
from tests.stand_in_quorum.rules import NodeState
from tests.stand_in_quorum.session import Sasl, Session
from tests.stand_in_quorum.wire import Reader

CLUSTER_ID = "stand-in-quorum-000000"
BROKER = -1


@dataclass(frozen=True)
class Seen:
    """A request: by whom, when, and of which node (BROKER for the broker's port)."""

    node_id: int
    header: Header
    request: Any
    at: float
    principal: str

    @property
    def name(self) -> str:
        return NAMES[self.header.key]


class Quorum:
    """Controllers that serve a metadata log. See the package for how to use it."""

    def __init__(
        self,
        directory: Path,
        *,
        release: str = "4.0",
        nodes: int = 1,
        cluster_id: str = CLUSTER_ID,
        end_offset: int | None = None,
        high_watermark: int | None = None,
        tls: ssl.SSLContext | None = None,
        sasl: Sasl | None = None,
        allowed: frozenset[str] | None = None,
        allows_anything: bool = False,
    ) -> None:
        self.release = RELEASES[release]
        self.cluster_id = cluster_id
        self.source = Log.of_directory(directory)
        self.seen: list[Seen] = []
        self.breaches: list[str] = []
        self.sasl = sasl
        self.allowed = allowed
        self._allows_anything = allows_anything
        self._changed = threading.Condition(threading.RLock())
        self._orders = Orders()
        self._in_flight = InFlight(self._changed)
        self._is_closed = False
        log = self.source.copy()
        if end_offset is not None:
            log.cut(end_offset)
        committed = log.end_offset if high_watermark is None else high_watermark
        self.nodes = {
            node_id: NodeState(
                node_id,
                self.release,
                cluster_id,
                log.copy(),
                max(log.last_epoch, 1),
                leader_id=1,
                high_watermark=committed if node_id == 1 else -1,
            )
            for node_id in range(1, nodes + 1)
        }
        self.listeners = {
            node_id: Listener(self._server_of(node_id), tls) for node_id in (*self.nodes, BROKER)
        }
        for node in self.nodes.values():
            node.endpoints = {i: Endpoint(i, HOST, self.listeners[i].port) for i in self.nodes}

    # How a reader finds it

    @property
    def bootstrap(self) -> str:
        """The addresses of the controllers, `HOST:PORT,HOST:PORT`."""
        return ",".join(self.address(node_id) for node_id in self.nodes)

    def address(self, node_id: int) -> str:
        return f"{HOST}:{self.listeners[node_id].port}"

    @property
    def broker(self) -> str:
        """The address of a broker, which knows the cluster id and has no metadata log to fetch."""
        return self.address(BROKER)

    @property
    def leader(self) -> NodeState:
        """The node with the highest epoch that believes to lead it."""
        leaders = [node for node in self.nodes.values() if node.is_leader]
        return max(leaders, key=lambda node: node.epoch)

    # What a test does to it; each call wakes the requests that wait

    @contextlib.contextmanager
    def change(self) -> Iterator[None]:
        """Change nodes at once: no request is answered meanwhile."""
        with self._changed:
            yield
            self._changed.notify_all()

    def reveal(self, end_offset: int | None = None, *, commit: bool = True) -> int:
        """Append the source's batches below `end_offset` (all without) to every node.

        `commit` moves the high watermark to the new end. Returns the end.
        """
        end = self.source.end_offset if end_offset is None else end_offset
        for node in self.nodes.values():
            assert node.log.end_offset <= end
        new = [b for b in self.source.batches if self.leader.log.end_offset <= b.base_offset < end]
        self.append(new, commit=commit)
        assert self.leader.log.end_offset == end, f"{end} is inside a batch"
        return end

    def append(self, batches: list[Batch], *, commit: bool = True) -> None:
        """Append batches of your own to the leader and to the nodes that follow it."""
        with self.change():
            leader = self.leader
            following = [
                node
                for node in self.nodes.values()
                if node.epoch == leader.epoch and node.log.batches[-1:] == leader.log.batches[-1:]
            ]
            for node in following:
                node.log.append(batches)
                # A real log goes through epochs of its own.
                node.epoch = max(node.epoch, node.log.last_epoch)
            if commit:
                leader.high_watermark = leader.log.end_offset

    def commit(self, high_watermark: int) -> None:
        """Move the leader's high watermark."""
        with self.change():
            assert self.leader.high_watermark <= high_watermark <= self.leader.log.end_offset
            self.leader.high_watermark = high_watermark

    def elect(
        self,
        node_id: int,
        *,
        epoch: int | None = None,
        end_offset: int | None = None,
        high_watermark: int = -1,
        unaware: tuple[int, ...] = (),
    ) -> None:
        """Make a node the leader of a new epoch.

        Args:
            node_id: The leader; -1 leaves the epoch without one.
            epoch: The next one without.
            end_offset: Where its log ends: what it has above is cut, on followers too.
            high_watermark: -1 until `commit`, as until something of the epoch is committed.
            unaware: Nodes that did not hear of it and keep their epoch and leader.
        """
        with self.change():
            new = epoch or max(node.epoch for node in self.nodes.values()) + 1
            for node in self.nodes.values():
                if node.node_id in unaware:
                    continue
                node.epoch, node.leader_id = new, node_id
                node.high_watermark = high_watermark if node.is_leader else -1
                if end_offset is not None and node.log.end_offset > end_offset:
                    node.log.cut(end_offset)

    def add_snapshot(self, end_offset: int, epoch: int, data: bytes) -> SnapshotId:
        """Give every node a snapshot."""
        added = SnapshotId(end_offset, epoch)
        with self.change():
            for node in self.nodes.values():
                node.log.snapshots[added] = data
        return added

    def delete_snapshot(self, snapshot: SnapshotId) -> None:
        with self.change():
            for node in self.nodes.values():
                node.log.snapshots.pop(snapshot, None)

    def clean(self, snapshot: SnapshotId) -> None:
        """Delete the snapshots before `snapshot` and start the log at its end, on every node."""
        with self.change():
            for node in self.nodes.values():
                node.log.clean(snapshot)

    def stop(self, node_id: int) -> None:
        """Kill a node: its port refuses, its connections break."""
        self.listeners[node_id].stop()

    def start(self, node_id: int) -> None:
        self.listeners[node_id].start()

    def upgrade(self, release: str) -> None:
        """Let the nodes follow the rules of another release; open connections break."""
        with self.change():
            self.release = RELEASES[release]
            for node in self.nodes.values():
                node.release = self.release
        for listener in self.listeners.values():
            listener.drop()

    def fail(
        self,
        fault: Fault,
        *,
        key: int | None = None,
        node_id: int | None = None,
        after: int = 0,
        times: int = 1,
    ) -> None:
        """Order a failure of the next `times` answers to `key` by `node_id`, `after` so many."""
        with self._changed:
            self._orders.add(Order(fault, key, node_id, after, times))

    def clear_faults(self) -> None:
        """Forget the failures that were ordered and did not happen yet."""
        with self._changed:
            self._orders.clear()

    # What a test sees

    def asked(self, key: int) -> list[Seen]:
        """Return the requests of one kind so far."""
        with self._changed:
            return [seen for seen in self.seen if seen.header.key == key]

    @property
    def is_idle(self) -> bool:
        """True if no request waits for its answer, such as one of a reader that was killed."""
        return self._in_flight.is_idle

    def wait_for(self, condition: Callable[[], object], seconds: float = 20) -> None:
        """Wait until `condition` is true; it is asked after every request and change.

        Raises:
            TimeoutError: It was not.
        """
        with self._changed:
            if not self._changed.wait_for(condition, seconds):
                raise TimeoutError(f"after {len(self.seen)} requests: {self.seen[-3:]}")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
        if kind is None and not self._allows_anything:
            assert not self.breaches, self.breaches

    def close(self) -> None:
        with self.change():
            self._is_closed = True
        for listener in self.listeners.values():
            listener.stop()
        for listener in self.listeners.values():
            listener.join()

    # How it answers

    def _server_of(self, node_id: int) -> Callable[[socket.socket], None]:
        def serve_one(connection: socket.socket) -> None:
            session = Session(connection, self.sasl)

            @contextlib.contextmanager
            def answer(header: Header, reader: Reader) -> Iterator[Exchange]:
                with self._in_flight.request(connection) as is_second:
                    if is_second:
                        self._note("more than one request in flight")
                    yield self._answer(node_id, session, header, reader)

            serve(connection, answer, self._note)

        return serve_one

    def _note(self, breach: str) -> None:
        with self._changed:
            self.breaches.append(breach)

    def apis(self, node_id: int) -> dict[int, Versions]:
        """Return which requests a node (or BROKER) answers, with their versions."""
        return requests.apis(
            self.release, is_broker=node_id == BROKER, has_login=self.sasl is not None
        )

    def _answer(self, node_id: int, session: Session, header: Header, reader: Reader) -> Exchange:
        if login := session.handle(header, reader):
            message, is_last = login
            fault = self._see(Seen(node_id, header, None, time.monotonic(), session.principal))
            return Exchange(Raw(message), Last() if is_last else fault)
        request = requests.decode(self.apis(node_id), header, reader)
        fault = self._see(Seen(node_id, header, request, time.monotonic(), session.principal))
        if isinstance(request, FetchRequest | FetchSnapshotRequest):
            self.breaches += requests.breaches(request)
        fault.before()
        if self.allowed is not None and session.principal not in self.allowed:
            refused = requests.refused(header)
            if refused is not None:
                return Exchange(refused, fault)
        return Exchange(self._message(node_id, header, request), fault)

    def _see(self, seen: Seen) -> Fault:
        """Note a request; return the fault that was ordered for its answer."""
        with self._changed:
            self.seen.append(seen)
            self._changed.notify_all()
            return self._orders.take(seen.node_id, seen.header.key)

    def _message(self, node_id: int, header: Header, request: Any) -> Encodes:
        if header.key == API_VERSIONS:
            return Raw(answers.api_versions(header, self.apis(node_id)))
        if node_id == BROKER and isinstance(request, FetchRequest):
            # A broker serves its topics only; the metadata log is not in its cache.
            return FetchAnswer(error=100 if header.version >= 13 else 3)
        if header.key == METADATA:
            broker = Endpoint(100, HOST, self.listeners[BROKER].port)
            return Raw(answers.metadata(header, [broker], self.cluster_id, broker.node_id))
        if isinstance(request, FetchRequest):
            return self._fetch(self.nodes[node_id], request)
        with self._changed:
            if isinstance(request, FetchSnapshotRequest):
                return rules.fetch_snapshot(self.nodes[node_id], request)
            asked = self.leader if node_id == BROKER else self.nodes[node_id]
            return Raw(self._describe(header, asked))

    def _describe(self, header: Header, node: NodeState) -> bytes:
        state = answers.QuorumState(rules.NOT_LEADER_OR_FOLLOWER)
        if node.is_leader:
            voters = tuple((each.node_id, each.log.end_offset) for each in self.nodes.values())
            state = answers.QuorumState(
                0,
                node.leader_id,
                node.epoch,
                node.high_watermark,
                voters,
                nodes=tuple(node.endpoints.values()),
            )
        return answers.describe_quorum(header, state, directories={}, listener="CONTROLLER")

    def _fetch(self, node: NodeState, request: FetchRequest) -> FetchAnswer:
        """Answer at once or when something changed, after MaxWaitMs with the first answer."""
        deadline = time.monotonic() + request.max_wait_ms / 1000
        with self._changed:
            first = rules.fetch(node, request)
            if self._is_complete(node, request, first) or request.max_wait_ms == 0:
                return first
            epoch, end = node.epoch, node.log.end_offset
            while not self._is_closed and (left := deadline - time.monotonic()) > 0:
                self._changed.wait(left)
                if node.epoch != epoch or not node.is_leader:
                    return rules.fetch_error(node, rules.NOT_LEADER_OR_FOLLOWER)
                again = rules.fetch(node, request)
                is_moved = again.high_watermark != first.high_watermark
                if node.log.end_offset > end or (is_moved and node.release.high_watermark_wakes):
                    return again
            return first

    def _is_complete(self, node: NodeState, request: FetchRequest, answer: FetchAnswer) -> bool:
        if answer.top_error or answer.error or answer.records:
            return True
        if (answer.diverging or answer.snapshot) and node.release.diverges_at_once:
            return True
        known = request.topics[0].partitions[0].high_watermark
        return node.release.high_watermark_wakes and answer.high_watermark > known
