"""A controller that registers brokers by the rules, and breaks one of them when a test says so.

It is the stand-in quorum, of one node that leads and is its only voter, with registrations and
heartbeats. Lies about Fetch and FetchSnapshot are the stand-in's faults; the others replace one of
the functions of `Lies`.
"""

import struct
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tests.stand_in_quorum import Quorum
from tests.stand_in_quorum.batches import batch, leader_change
from tests.stand_in_quorum.connection import Exchange, Raw
from tests.stand_in_quorum.faults import Fault
from tests.stand_in_quorum.frames import (
    BROKER_HEARTBEAT,
    BROKER_REGISTRATION,
    Header,
)
from tests.stand_in_quorum.log import Batch
from tests.stand_in_quorum.releases import Versions
from tests.stand_in_quorum.session import Session
from tests.stand_in_quorum.wire import Reader, Writer

LEADER = 1
STALE_BROKER_EPOCH, BROKER_ID_NOT_REGISTERED, OTHER_CLUSTER = 77, 102, 104
BEGIN, END = 23, 24


def record(key: int, version: int, body: bytes) -> tuple[None, bytes]:
    """Return a metadata record for a batch: frame version 1, its key and its version."""
    return None, Writer(is_flexible=True).raw(bytes([1, key, version])).raw(body).done()


def marker(key: int) -> tuple[None, bytes]:
    """Return the record that begins or ends a transaction."""
    return record(key, 0, Writer(is_flexible=True).tags().done())


def feature(name: str, level: int) -> tuple[None, bytes]:
    """Return a FeatureLevelRecord."""
    return record(12, 0, Writer(is_flexible=True).string(name).int16(level).tags().done())


def first_batches(*features: tuple[None, bytes]) -> list[Batch]:
    """Return the first batches of a new cluster: the leader's, and the feature levels."""
    opened = [marker(BEGIN), *features, marker(END)]
    return [leader_change(0, 1, LEADER, voters=[LEADER]), batch(1, 1, opened)]


def write_log(directory: Path, batches: list[Batch]) -> Path:
    """Write a `__cluster_metadata-0` directory of one segment."""
    partition = directory / "__cluster_metadata-0"
    partition.mkdir()
    (partition / f"{0:020d}.log").write_bytes(b"".join(each.data for each in batches))
    return partition


@dataclass(frozen=True)
class Registered:
    """A registered process, and the answer to its registration."""

    node_id: int
    incarnation: bytes
    body: bytes  # of its RegisterBrokerRecord, after the epoch
    directories: list[bytes]
    epoch: int
    record_offset: int
    is_fenced: bool = True
    error: int = 0


@dataclass(frozen=True)
class Beaten:
    """The answer to a heartbeat."""

    error: int = 0
    is_caught_up: bool = False
    is_fenced: bool = True
    should_shut_down: bool = False


@dataclass
class Lies:
    """What the controller says instead of the truth; each function returns it unchanged."""

    versions: Callable[[dict[int, Versions]], dict[int, Versions]] = lambda found: found
    answered: Callable[[Registered], Registered] = lambda made: made
    written: Callable[[Registered], Registered] = lambda made: made
    beaten: Callable[[Beaten], Beaten] = lambda answer: answer
    commits: bool = True


class FakeController(Quorum):
    """One controller, node 1, which serves the log of a directory and registers brokers."""

    def __init__(self, directory: Path, **options: Any) -> None:
        super().__init__(directory, allows_anything=True, **options)
        self.lies = Lies()
        self.registered: dict[int, Registered] = {}

    @property
    def voters(self) -> dict[int, tuple[str, int]]:
        """The only voter and its address, as `controller.quorum.voters` has it."""
        host, port = self.address(LEADER).rsplit(":", 1)
        return {LEADER: (host, int(port))}

    def apis(self, node_id: int) -> dict[int, Versions]:
        found = {**super().apis(node_id), BROKER_REGISTRATION: (0, 4), BROKER_HEARTBEAT: (0, 1)}
        return self.lies.versions(found)

    def _answer(self, node_id: int, session: Session, header: Header, reader: Reader) -> Exchange:
        if header.key == BROKER_REGISTRATION:
            return Exchange(Raw(self._register(header, reader)), Fault())
        if header.key == BROKER_HEARTBEAT:
            return Exchange(Raw(self._beat(reader)), Fault())
        return super()._answer(node_id, session, header, reader)

    def _write(self, *records: tuple[None, bytes]) -> None:
        log = self.leader.log
        self.append([batch(log.end_offset, self.leader.epoch, records)], commit=self.lies.commits)

    def _register(self, header: Header, reader: Reader) -> bytes:
        with self.change():
            offset = self.leader.log.end_offset
            made, cluster_id = _read_registration(header, reader, offset)
            if cluster_id != self.cluster_id:
                made = replace(made, error=OTHER_CLUSTER, epoch=-1)
            else:
                self.registered[made.node_id] = made
                self._write(_registration_record(self.lies.written(made)))
        said = self.lies.answered(made)
        return Writer(is_flexible=True).int32(0).int16(said.error).int64(said.epoch).tags().done()

    def _beat(self, reader: Reader) -> bytes:
        node_id, epoch, offset = reader.int32(), reader.int64(), reader.int64()
        want_fence, want_shutdown = reader.boolean(), reader.boolean()
        reader.tags()
        reader.end()
        with self.change():
            answer = self.lies.beaten(
                self._beaten(node_id, epoch, offset, want_fence, want_shutdown)
            )
        out = Writer(is_flexible=True).int32(0).int16(answer.error).boolean(answer.is_caught_up)
        return out.boolean(answer.is_fenced).boolean(answer.should_shut_down).tags().done()

    def _beaten(
        self, node_id: int, epoch: int, offset: int, want_fence: bool, want_shutdown: bool
    ) -> Beaten:
        broker = self.registered.get(node_id)
        if broker is None or broker.epoch != epoch:
            return Beaten(error=STALE_BROKER_EPOCH)
        is_caught_up = offset >= broker.record_offset
        is_fenced = want_fence or want_shutdown or not is_caught_up
        if is_fenced != broker.is_fenced:
            self._write(_change_record(node_id, epoch, 1 if is_fenced else -1))
            self.registered[node_id] = replace(broker, is_fenced=is_fenced)
        return Beaten(0, is_caught_up, is_fenced, want_shutdown)


def _read_registration(header: Header, reader: Reader, offset: int) -> tuple[Registered, str]:
    node_id, cluster_id, incarnation = reader.int32(), reader.text(), reader.uuid()
    body = Writer(is_flexible=True)
    endpoints = reader.items(
        lambda: (reader.text(), reader.text(), reader.take(2), reader.int16(), reader.tags())
    )
    body.count(len(endpoints))
    for name, host, port, protocol, _ in endpoints:
        body.string(name).string(host).raw(port).int16(protocol).tags()
    features = reader.items(lambda: (reader.text(), reader.take(4), reader.tags()))
    body.count(len(features))
    for name, levels, _ in features:
        body.string(name).raw(levels).tags()
    body.string(reader.string()).boolean(True).boolean(False)
    if header.version >= 1:
        reader.boolean()
    directories = reader.items(reader.uuid) if header.version >= 2 else []
    if header.version >= 3:
        reader.int64()
    reader.tags()
    reader.end()
    made = Registered(node_id, incarnation, body.done(), directories, offset, offset)
    return made, cluster_id


def _registration_record(made: Registered) -> tuple[None, bytes]:
    out = Writer(is_flexible=True).int32(made.node_id).boolean(False).raw(made.incarnation)
    out.int64(made.epoch).raw(made.body)
    tags = {}
    if made.directories:
        directories = Writer(is_flexible=True).count(len(made.directories))
        tags[0] = directories.raw(b"".join(made.directories)).done()
    return record(0, 3, out.tags(tags).done())


def _change_record(node_id: int, epoch: int, fenced: int) -> tuple[None, bytes]:
    body = Writer(is_flexible=True).int32(node_id).int64(epoch)
    return record(17, 0, body.tags({0: struct.pack(">b", fenced)}).done())
