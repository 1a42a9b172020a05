"""The controller's stream of updates to a broker."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

from api.controller_server.broker_feed import RETRIES_MAX
from api.kafka import apis, frames
from api.kafka.conversation import answer
from api.kafka.dispatch import DispatchTable
from api.kafka.errors import CODES
from api.kafka.fields import Response
from api.kafka.frames import RequestFrame
from api.kafka.messages.brokers import FollowLogRequest, FollowLogResponse, ReplicaLag
from api.kafka.messages.replicas import (
    FULL,
    INCREMENTAL,
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    ReplicaResult,
    StopReplicaRequest,
    StopReplicaResponse,
    UpdateMetadataRequest,
    UpdateMetadataResponse,
)
from api.kafka.streams import close_writer, read_frame
from controller.authorization.caller import Caller
from controller.decisions.config_definitions.brokers import (
    REMOVAL_INTERVAL,
)
from controller.decisions.context.context import Settings
from controller.decisions.partitions.assignments import Assignment
from controller.decisions.partitions.replica_states import DELETION_INELIGIBLE
from controller.decisions.topics.partition_removal import (
    DELETE_PARTITIONS_ENABLED,
    DeletePartitions,
    TopicShrink,
)
from controller.decisions.topics.topics import CreateTopics, DeleteTopics, NewTopic
from controller.descriptions.topics import DescribeTopics
from tests.api.kafka.servers import Server, server

STORAGE_ERROR = CODES["KAFKA_STORAGE_ERROR"]


class FakeBroker:
    """Answers the controller's requests, and records them. `failing`: operations that fail."""

    def __init__(self) -> None:
        self.told: list[LeaderAndIsrRequest | StopReplicaRequest | UpdateMetadataRequest] = []
        self.failing: set[str] = set()
        self.first: FollowLogResponse | None = None
        self.moved = asyncio.Event()

    @contextlib.asynccontextmanager
    async def following(
        self, at: Server, broker_epoch: int, controller_epoch: int = -1, offset: int = -1
    ) -> AsyncIterator[None]:
        """Receive the controller's updates while the body runs."""
        reader, writer = await asyncio.open_connection("127.0.0.1", at.port)
        request = FollowLogRequest(
            broker_id=1,
            broker_epoch=broker_epoch,
            controller_epoch=controller_epoch,
            metadata_offset=offset,
        )
        writer.write(frames.encode_request(apis.FOLLOW_LOG, 0, 0, request))
        raw = await read_frame(reader)
        assert raw is not None
        response = frames.decode_response(raw, apis.FOLLOW_LOG, 0)
        assert isinstance(response, FollowLogResponse)
        self.first = response
        task = asyncio.create_task(answer(reader, writer, self._dispatch()))
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            await close_writer(writer)

    async def until(self, kind: type, count: int = 1) -> None:
        """Wait until `count` requests of a kind have arrived."""
        async with asyncio.timeout(60):
            while len(self.of(kind)) < count:
                self.moved.clear()
                await self.moved.wait()

    async def until_offset(self, offset: int | None) -> None:
        """Wait until the controller has sent an offset."""
        async with asyncio.timeout(60):
            while not self.told or self.offset != offset:
                self.moved.clear()
                await self.moved.wait()

    @property
    def offset(self) -> int:
        updates = [r.metadata_offset for r in self.told if isinstance(r, UpdateMetadataRequest)]
        return updates[-1] if updates else -1

    def of(self, kind: type) -> list[object]:
        return [request for request in self.told if isinstance(request, kind)]

    def leader_and_isr(self) -> list[LeaderAndIsrRequest]:
        return [request for request in self.told if isinstance(request, LeaderAndIsrRequest)]

    def stops(self) -> list[StopReplicaRequest]:
        return [request for request in self.told if isinstance(request, StopReplicaRequest)]

    def _dispatch(self) -> DispatchTable:
        return DispatchTable(
            handlers=dict.fromkeys(
                (apis.LEADER_AND_ISR, apis.STOP_REPLICA, apis.UPDATE_METADATA), self._take
            )
        )

    async def _take(self, frame: RequestFrame, _: Caller) -> Response:
        request = frame.body
        assert isinstance(request, LeaderAndIsrRequest | StopReplicaRequest | UpdateMetadataRequest)
        self.told.append(request)
        self.moved.set()
        if isinstance(request, LeaderAndIsrRequest):
            code = STORAGE_ERROR if "take" in self.failing else 0
            taken = [
                ReplicaResult(
                    topic=t.topic, topic_id=t.topic_id, partition=p.partition, error_code=code
                )
                for t in request.topic_states
                for p in t.partition_states
            ]
            return LeaderAndIsrResponse(partitions=tuple(taken))
        if isinstance(request, StopReplicaRequest):
            code = STORAGE_ERROR if "stop" in self.failing else 0
            left = [
                ReplicaResult(topic=t.topic, topic_id=t.topic_id, partition=n, error_code=code)
                for t in request.partitions
                for n in t.partition_ids
            ]
            return StopReplicaResponse(partitions=tuple(left))
        return UpdateMetadataResponse()


async def create(at: Server, name: str, *replicas: tuple[int, ...]) -> None:
    topic = NewTopic(
        name=name, assignments=tuple([Assignment(n, r) for n, r in enumerate(replicas)])
    )
    (result,) = await at.client.create_topics(CreateTopics(topics=(topic,)))
    assert result.refusal is None, result.refusal


def types(broker: FakeBroker) -> list[int]:
    return [request.type for request in broker.leader_and_isr()]


async def test_first_request_is_full_and_later_ones_incremental(tmp_path: Path) -> None:
    async with server(tmp_path) as at:
        broker_epoch = await at.register(1)
        await create(at, "a", (1,))
        broker = FakeBroker()
        async with broker.following(at, broker_epoch):
            await broker.until(UpdateMetadataRequest)
            await create(at, "b", (1,))
            await broker.until_offset(at.service.image.provenance.offset)
        assert types(broker) == [FULL, INCREMENTAL]
        names = [[t.topic for t in r.topic_states] for r in broker.leader_and_isr()]
        assert names == [["a"], ["b"]]
        (state,) = broker.leader_and_isr()[1].topic_states[0].partition_states
        assert state.create_offset == at.service.image.provenance.offset


async def test_broker_whose_offset_is_known_goes_on_from_there(tmp_path: Path) -> None:
    async with server(tmp_path) as at:
        broker_epoch = await at.register(1)
        broker = FakeBroker()
        async with broker.following(at, broker_epoch):
            await broker.until(UpdateMetadataRequest)
        assert broker.first is not None
        epoch, offset = broker.first.controller_epoch, broker.offset
        await create(at, "a", (1,))
        for controller_epoch, known, expected in (
            (epoch, offset, INCREMENTAL),
            (epoch, offset - 1_000, FULL),
            (epoch - 1, offset, FULL),
        ):
            again = FakeBroker()
            async with again.following(at, broker_epoch, controller_epoch, known):
                await again.until(UpdateMetadataRequest)
            assert types(again) == [expected]


async def test_new_controller_sends_a_full_update(tmp_path: Path) -> None:
    async with server(tmp_path) as at:
        broker_epoch = await at.register(1)
        await create(at, "a", (1,))
        epoch, offset = at.service.controller_epoch, at.service.image.provenance.offset
        created = at.service.image.provenance.offset
    async with server(tmp_path) as at:
        broker = FakeBroker()
        assert offset is not None
        async with broker.following(at, broker_epoch, epoch, offset):
            await broker.until(UpdateMetadataRequest)
        (request,) = broker.leader_and_isr()
        assert (request.type, request.controller_epoch > epoch) == (FULL, True)
        # Creations are derived from the log, so they outlive the process.
        assert request.topic_states[0].partition_states[0].create_offset == created


async def test_broker_of_another_epoch_is_refused(tmp_path: Path) -> None:
    async with server(tmp_path) as at:
        broker_epoch = await at.register(1)
        broker = FakeBroker()
        async with broker.following(at, broker_epoch + 1):
            assert broker.first is not None
            assert broker.first.error_code == CODES["STALE_BROKER_EPOCH"]
        assert broker.told == []


async def test_partition_that_is_not_taken_over_is_tried_again_until_it_is(tmp_path: Path) -> None:
    async with server(tmp_path, retry_ms=20) as at:
        broker_epoch = await at.register(1)
        broker = FakeBroker()
        broker.failing = {"take"}
        async with broker.following(at, broker_epoch):
            await create(at, "a", (1,))
            await broker.until(LeaderAndIsrRequest, 3)
            broker.failing = set()
            tried = len(broker.leader_and_isr())
            await broker.until(LeaderAndIsrRequest, tried + 1)
            await asyncio.sleep(0.1)
        assert len(broker.leader_and_isr()) == tried + 1


async def test_what_fails_too_often_is_left_to_the_next_full_request(tmp_path: Path) -> None:
    async with server(tmp_path, retry_ms=10) as at:
        broker_epoch = await at.register(1)
        await create(at, "a", (1,))
        broker = FakeBroker()
        broker.failing = {"stop"}
        async with broker.following(at, broker_epoch):
            await broker.until(UpdateMetadataRequest)
            await at.client.delete_topics(DeleteTopics(topics=("a",)))
            await broker.until(StopReplicaRequest, 1 + RETRIES_MAX)
            await asyncio.sleep(0.2)
        assert len(broker.stops()) == 1 + RETRIES_MAX
        assert all(request.delete_partitions for request in broker.stops())


async def test_failed_deletion_makes_the_replica_ineligible_and_is_tried_again(
    tmp_path: Path,
) -> None:
    configs = {DELETE_PARTITIONS_ENABLED: "true", REMOVAL_INTERVAL: "100"}
    async with server(tmp_path, settings=Settings(static_configs=configs)) as at:
        broker_epoch = await at.register(1)
        await create(at, "a", (1,), (1,))
        broker = FakeBroker()
        broker.failing = {"stop"}
        async with broker.following(at, broker_epoch):
            await broker.until(UpdateMetadataRequest)
            shrink = DeletePartitions(topics=(TopicShrink(topic="a", partitions=1),))
            (result,) = await at.client.delete_partitions(shrink)
            assert result.refusal is None
            async with asyncio.timeout(60):
                while [d.state for d in at.service.image.replica_deletions()] != [
                    DELETION_INELIGIBLE
                ]:
                    await asyncio.sleep(0.01)
            broker.failing = set()
            topic = at.service.image.topic_by_name("a")
            assert topic is not None
            async with asyncio.timeout(60):
                while len(at.service.image.partitions(topic.topic_id)) > 1:
                    await asyncio.sleep(0.01)
        assert list(at.service.image.replica_deletions()) == []
        assert len([request for request in broker.stops() if request.delete_partitions]) >= 2


async def test_heartbeats_tell_how_much_followers_lack(tmp_path: Path) -> None:
    async with server(tmp_path) as at:
        await at.register(1)
        broker_epoch = await at.register(2)
        topic = NewTopic(name="a", assignments=(Assignment(0, (1, 2)),))
        (result,) = await at.client.create_topics(CreateTopics(topics=(topic,)))
        assert result.topic_id is not None
        lag = ReplicaLag(topic_id=result.topic_id, partition_index=0, lag=12)
        await at.beat(2, broker_epoch, lags=(lag,))
        answer = await at.client.run("topics describe", DescribeTopics(topics=("a",)))
    (found,) = answer.response.topics
    assert found.description.partitions[0].lags == (0, 12)
