"""Fetch and FetchSnapshot of `__cluster_metadata`, by the rules of Kafka's source."""

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from api.controller_server import observer_requests
from api.controller_server.listener import ControllerListener, ListenerSettings
from api.kafka import apis
from api.kafka.errors import CODES
from api.kafka.frames import RequestFrame
from api.kafka.messages.records_io import (
    EpochEndOffset,
    FetchedPartition,
    FetchingReplica,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    LeaderIdAndEpoch,
    SnapshotId,
)
from api.kafka.messages.snapshots import (
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    SnapshotChunk,
    SnapshotPartition,
    SnapshotTopic,
)
from api.kafka.quorum import METADATA_TOPIC, METADATA_TOPIC_ID
from controller.authorization.authorizer import CLUSTER, Operation
from controller.authorization.caller import CONTROLLER
from controller.decisions.namespaces.namespaces import CreateNamespace
from controller.decisions.topics.topics import CreateTopics, NewTopic
from metadata_log.kraft.directory import open_directory
from metadata_log.kraft_format.batch import parse_header
from metadata_log.kraft_format.names import PARTITION_DIRECTORY
from metadata_log.writer.creation import create_log
from records.base import Uuid
from replay.care.retain import retain
from replay.kafka_form.served_log import ServedLog
from tests.api.guarded import guarded
from tests.api.kafka.servers import CLUSTER_ID, Server, server
from tests.own_logs import write_history
from tests.replay.kafka_form.test_segments import export

_BYTES = 1 << 20


def request(
    offset: int, last_epoch: int, epoch: int, *, wait_ms: int = 0, **fields: Any
) -> FetchRequest:
    """Return a Fetch as Kafka's raft client sends it."""
    wanted = FetchPartition(
        partition=0,
        current_leader_epoch=epoch,
        fetch_offset=offset,
        last_fetched_epoch=last_epoch,
        partition_max_bytes=0,
        **{name: fields.pop(name) for name in ("high_watermark",) if name in fields},
    )
    values: dict[str, Any] = {
        "max_wait_ms": wait_ms,
        "min_bytes": 0,
        "max_bytes": _BYTES,
        "topics": (FetchTopic(topic_id=METADATA_TOPIC_ID, partitions=(wanted,)),),
        "cluster_id": CLUSTER_ID,
    }
    return FetchRequest(**(values | fields))


async def ask(at: Server, body: FetchRequest, version: int = 17) -> FetchResponse:
    return await at.client.connection.request(body, FetchResponse, version=version)


async def fetch(at: Server, body: FetchRequest, version: int = 17) -> FetchedPartition:
    response = await ask(at, body, version)
    assert response.error_code == 0
    ((found,),) = [topic.partitions for topic in response.responses]
    assert response.responses[0].topic_id == METADATA_TOPIC_ID
    return found


async def read_all(at: Server, version: int = 17) -> bytes:
    """Read the log as an observer does, from its start to its high watermark."""
    epoch = at.service.controller_epoch
    offset, last_epoch, content = 0, 0, b""
    while True:
        found = await fetch(at, request(offset, last_epoch, epoch, max_bytes=2_000), version)
        assert found.error_code == 0
        if not found.records:
            assert offset == found.high_watermark
            return content
        content += found.records
        position = 0
        while position < len(found.records):
            header = parse_header(found.records, position)
            position += header.size
        offset, last_epoch = header.end_offset, header.leader_epoch


async def create(at: Server, name: str) -> None:
    await at.service.run("namespaces create", CreateNamespace(name), caller=CONTROLLER)


async def test_the_leader_is_found_as_kafkas_observers_find_it(tmp_path: Path) -> None:
    async with server(tmp_path) as at:
        leader = LeaderIdAndEpoch(
            leader_id=at.service.settings.node_id, leader_epoch=at.service.controller_epoch
        )
        for version in range(13, 19):
            response = await ask(at, request(0, 0, 0), version)
            (partition,) = response.responses[0].partitions
            assert partition.error_code == CODES["FENCED_LEADER_EPOCH"]
            assert (partition.current_leader, partition.high_watermark) == (leader, -1)
            assert [(each.node_id, each.host, each.port) for each in response.node_endpoints] == (
                [(leader.leader_id, "127.0.0.1", at.port)] if version >= 17 else []
            )


@pytest.mark.parametrize("version", range(13, 19))
async def test_an_observer_reads_what_the_export_writes(tmp_path: Path, version: int) -> None:
    async with server(tmp_path) as at:
        for name in ("a", "b"):
            await create(at, name)
        topics = tuple([NewTopic(name=f"t{n}", partitions=1, namespace="a") for n in range(3)])
        await at.register(1)
        await at.service.run("topics create", CreateTopics(topics=topics), caller=CONTROLLER)
        content = await read_all(at, version)
    assert content == export(tmp_path / "log", tmp_path / "out")


async def test_the_end_is_waited_for(tmp_path: Path) -> None:
    async with server(tmp_path) as at:
        epoch, end = at.service.controller_epoch, at.service.image.provenance.next_offset
        at_end = request(end, epoch, epoch)
        empty = await fetch(at, at_end)
        assert (empty.records, empty.high_watermark, empty.log_start_offset) == (b"", end, 0)
        waiting = asyncio.create_task(fetch(at, replace(at_end, max_wait_ms=30_000)))
        await asyncio.sleep(0.05)
        assert not waiting.done()
        await create(at, "a")
        found = await waiting
        assert parse_header(found.records or b"").base_offset == end
        assert found.high_watermark == at.service.image.provenance.next_offset
        late = request(end + 1, epoch, epoch, wait_ms=20)
        assert (await fetch(at, late)).records == b"", "after its time, without records"


async def test_an_observer_that_lacks_the_high_watermark_does_not_wait(tmp_path: Path) -> None:
    async with server(tmp_path) as at:
        epoch, end = at.service.controller_epoch, at.service.image.provenance.next_offset
        for known in (-1, end - 1):
            behind = request(end, epoch, epoch, wait_ms=60_000, high_watermark=known)
            assert (await fetch(at, behind, 18)).high_watermark == end
        abreast = request(end, epoch, epoch, wait_ms=30, high_watermark=end)
        clock = asyncio.get_running_loop().time
        begun = clock()
        await fetch(at, abreast, 18)
        assert clock() - begun >= 0.03


async def test_what_no_observer_may_ask_is_refused_as_in_kafka(tmp_path: Path) -> None:
    async with server(tmp_path) as at:
        epoch, end = at.service.controller_epoch, at.service.image.provenance.next_offset
        good = request(0, 0, epoch)
        (topic,) = good.topics
        (wanted,) = topic.partitions
        other = replace(topic, partitions=(replace(wanted, partition=1),))
        for body, version, code in (
            (replace(good, cluster_id="another"), 17, "INCONSISTENT_CLUSTER_ID"),
            (replace(good, topics=(topic, topic)), 17, "INVALID_REQUEST"),
            (replace(good, topics=(other,)), 17, "INVALID_REQUEST"),
            (
                replace(
                    good, topics=(replace(topic, topic=METADATA_TOPIC, topic_id=Uuid(bytes(16))),)
                ),
                12,
                "INVALID_REQUEST",
            ),
        ):
            response = await ask(at, body, version)
            assert (response.error_code, response.responses) == (CODES[code], ()), code
        for body, code in (
            (request(-1, 0, epoch), "INVALID_REQUEST"),
            (request(0, -1, epoch), "INVALID_REQUEST"),
            (request(0, epoch + 1, epoch), "INVALID_REQUEST"),
            (request(0, 0, epoch, wait_ms=-1), "INVALID_REQUEST"),
            (request(0, 0, epoch - 1), "FENCED_LEADER_EPOCH"),
            (request(0, 0, epoch + 1), "UNKNOWN_LEADER_EPOCH"),
        ):
            found = await fetch(at, body)
            assert found.error_code == CODES[code], body
            assert found.current_leader.leader_epoch == epoch
        own = replace(good, replica_id=at.service.settings.node_id)
        assert (await fetch(at, own, 14)).error_code == CODES["UNKNOWN_SERVER_ERROR"]
        assert (await fetch(at, replace(good, cluster_id=None))).error_code == 0
        beyond = await fetch(at, request(end + 1, epoch, epoch))
        assert beyond.diverging_epoch == EpochEndOffset(epoch=epoch, end_offset=end)
        assert beyond.records == b""


async def test_one_right_is_enough_and_needed(tmp_path: Path) -> None:
    async with guarded(tmp_path) as (at, rights):
        body = request(0, 0, at.service.controller_epoch)
        rights.only = {(Operation.CLUSTER_ACTION, CLUSTER)}
        assert (await fetch(at, body)).records
        rights.only, rights.but = None, {(Operation.CLUSTER_ACTION, CLUSTER)}
        refused = CODES["CLUSTER_AUTHORIZATION_FAILED"]
        assert (await ask(at, body)).error_code == refused
        part = snapshot_request(SnapshotId(end_offset=1, epoch=1), 0, 1)
        response = await at.client.connection.request(part, FetchSnapshotResponse)
        assert response.error_code == refused


async def test_the_connection_of_a_broker_is_one_that_is_kept(tmp_path: Path) -> None:
    async with server(tmp_path) as at:
        is_from_broker = (
            ControllerListener(at.service, ListenerSettings()).dispatch_table().is_from_broker
        )
    assert is_from_broker is not None
    by_nobody = request(0, 0, 1)
    snapshot = snapshot_request(SnapshotId(end_offset=1, epoch=1), 0, 1)
    consumed = FetchTopic(topic_id=Uuid(b"x" * 16), partitions=by_nobody.topics[0].partitions)
    for body, expected in (
        (by_nobody, False),
        (replace(by_nobody, replica_state=FetchingReplica(replica_id=0)), True),
        (replace(by_nobody, replica_id=4), True),
        # What anybody may send, and get an answer for.
        (replace(by_nobody, replica_id=4, topics=(consumed,)), False),
        (snapshot, False),
        (replace(snapshot, replica_id=4), True),
    ):
        api = apis.BY_REQUEST[type(body)]
        frame = RequestFrame(api=api, version=1, correlation_id=1, client_id="", body=body)
        assert is_from_broker(frame) is expected, body


async def test_both_keys_are_advertised(tmp_path: Path) -> None:
    async with server(tmp_path) as at:
        versions = await at.client.connection.newest_versions()
        assert (versions[apis.FETCH.key], versions[apis.FETCH_SNAPSHOT.key]) == (18, 1)


async def test_until_the_log_was_read_nothing_is_known_to_be_committed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(observer_requests, "_READ_IN_S", 0.0)
    go_on, advance = threading.Event(), ServedLog.advance

    def slow(served: ServedLog, *, keep_newest: bool) -> None:
        assert go_on.wait(30)
        advance(served, keep_newest=keep_newest)

    monkeypatch.setattr(ServedLog, "advance", slow)
    async with server(tmp_path) as at:
        body = request(0, 0, at.service.controller_epoch)
        found = await fetch(at, body)
        assert (found.error_code, found.high_watermark, found.records) == (0, -1, b"")
        go_on.set()
        found = await fetch(at, replace(body, max_wait_ms=30_000))
        assert found.records


def snapshot_request(
    snapshot: SnapshotId, position: int, epoch: int, **fields: Any
) -> FetchSnapshotRequest:
    """Return a FetchSnapshot as Kafka's raft client sends it."""
    part = SnapshotPartition(
        partition=0, current_leader_epoch=epoch, snapshot_id=snapshot, position=position
    )
    values: dict[str, Any] = {
        "cluster_id": CLUSTER_ID,
        "max_bytes": 700,
        "topics": (SnapshotTopic(name=METADATA_TOPIC, partitions=(part,)),),
    }
    return FetchSnapshotRequest(**(values | fields))


async def chunk(at: Server, body: FetchSnapshotRequest) -> SnapshotChunk:
    response = await at.client.connection.request(body, FetchSnapshotResponse)
    assert response.error_code == 0
    ((found,),) = [topic.partitions for topic in response.topics]
    assert [each.port for each in response.node_endpoints] == [at.port]
    return found


@pytest.fixture
async def cut(tmp_path: Path) -> Path:
    """A log that starts at a base."""
    log = tmp_path / "log"
    create_log(log, CLUSTER_ID)
    await write_history(log, 31, 40, batches_an_epoch=10, create=False, as_by_controller=True)
    retain(log, 40, check_dropped=lambda _: None)
    return log


async def test_the_base_is_a_snapshot_that_is_read_in_chunks(cut: Path, tmp_path: Path) -> None:
    async with server(tmp_path) as at:
        epoch = at.service.controller_epoch
        told = await fetch(at, request(0, 0, epoch))
        snapshot = told.snapshot_id
        assert (told.records, told.log_start_offset) == (b"", snapshot.end_offset)
        content, size = b"", 1
        while len(content) < size:
            part = await chunk(at, snapshot_request(snapshot, len(content), epoch))
            assert (part.error_code, part.position, part.snapshot_id) == (0, len(content), snapshot)
            assert 0 < len(part.unaligned_records) <= 700
            content, size = content + part.unaligned_records, part.size
        assert size > 700, "more than one chunk"
        after = await fetch(at, request(snapshot.end_offset, snapshot.epoch, epoch))
        assert parse_header(after.records or b"").base_offset == snapshot.end_offset
        for wanted, position, code in (
            (snapshot, size, "POSITION_OUT_OF_RANGE"),
            (snapshot, -1, "POSITION_OUT_OF_RANGE"),
            (replace(snapshot, epoch=snapshot.epoch + 1), 0, "SNAPSHOT_NOT_FOUND"),
        ):
            found = await chunk(at, snapshot_request(wanted, position, epoch))
            assert (found.error_code, found.unaligned_records) == (CODES[code], b"")
        stale = await chunk(at, snapshot_request(snapshot, 0, epoch - 1))
        assert stale.error_code == CODES["FENCED_LEADER_EPOCH"]
        assert stale.current_leader.leader_epoch == epoch
    export(cut, tmp_path / "out")
    (written,) = open_directory(tmp_path / "out").checkpoints
    assert written.path == tmp_path / "out" / PARTITION_DIRECTORY / written.path.name
    assert written.path.read_bytes() == content


async def test_another_topics_snapshot_and_another_cluster_are_refused(tmp_path: Path) -> None:
    async with server(tmp_path) as at:
        epoch = at.service.controller_epoch
        good = snapshot_request(SnapshotId(end_offset=1, epoch=1), 0, epoch)
        none = await chunk(at, good)
        assert none.error_code == CODES["SNAPSHOT_NOT_FOUND"], "the log starts at offset 0"
        other = replace(good, topics=(replace(good.topics[0], name="orders"),))
        response = await at.client.connection.request(other, FetchSnapshotResponse)
        (part,) = response.topics[0].partitions
        assert part.error_code == CODES["UNKNOWN_TOPIC_OR_PARTITION"]
        wrong = replace(good, cluster_id="another")
        response = await at.client.connection.request(wrong, FetchSnapshotResponse)
        assert response.error_code == CODES["INCONSISTENT_CLUSTER_ID"]


async def test_a_waiting_observer_does_not_hold_up_the_end_of_a_service(tmp_path: Path) -> None:
    async with asyncio.timeout(30):
        async with server(tmp_path) as at:
            epoch, end = at.service.controller_epoch, at.service.image.provenance.next_offset
            waiting = asyncio.create_task(ask(at, request(end, epoch, epoch, wait_ms=60_000)))
            await ask(at, request(end, epoch, epoch))
        await asyncio.gather(waiting, return_exceptions=True)
