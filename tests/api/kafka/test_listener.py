"""The Kafka listener on real sockets: order, limits, and malformed input."""

import asyncio
import socket
import struct
from functools import partial
from pathlib import Path
from random import Random

import pytest
from msgspec.structs import replace

from api.clients.client import MetadataClient, server_address
from api.kafka import apis, frames
from api.kafka.connection import Connection
from api.kafka.conversation import PIPELINE_MAX
from api.kafka.dispatch import DispatchTable
from api.kafka.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from api.kafka.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from api.kafka.messages.topics import CreateTopicsResponse, DeleteTopicsResponse
from api.kafka.request_order import Turn
from api.kafka.topics import created, creation_request, deletion_request
from api.service.session import Session
from controller.authorization.caller import Caller
from controller.decisions.configs.changes import AlterConfigs, ConfigChange, ResourceChange
from controller.decisions.configs.effective import BROKER, ConfigSource
from controller.decisions.context.context import Settings
from controller.decisions.features.levels_in_use import FeatureUpdate, UpdateFeatures
from controller.decisions.ids import new_id
from controller.decisions.levels import NAMESPACE_FEATURE, SUPPORTED_LEVELS
from controller.decisions.namespaces.namespaces import CreateNamespace
from controller.decisions.partitions.assignments import Assignment
from controller.decisions.topics.partition_removal import (
    DELETE_PARTITIONS_ENABLED,
    DeletePartitions,
    TopicShrink,
)
from controller.decisions.topics.topics import CreateTopics, DeleteTopics, NewTopic
from controller.raw_appends.raw_append import AppendRecords, append_records
from controller.results.quota_charges import MUTATION_RATE
from metadata_log.writer.clock import Clock, SystemClock
from metadata_log.writer.creation import create_log
from metadata_log.writer.log import MetadataLog
from records.configs import ClientQuotaRecord, EntityData
from records.errors import RequestError, UnavailableError
from replay.image.configs import NAMESPACE
from tests.api.kafka.listeners import start_listener
from tests.api.kafka.servers import CLUSTER_ID, Server, server

ENABLED = Settings(static_configs={DELETE_PARTITIONS_ENABLED: "true"})


async def create(at: Server, name: str, partitions: int = 1) -> None:
    (result,) = await at.client.create_topics(
        CreateTopics(topics=(NewTopic(name=name, partitions=partitions, replication_factor=1),))
    )
    assert result.refusal is None, result.refusal
    assert result.topic_id is not None


async def test_versions_answered_are_those_that_are_taken(tmp_path: Path) -> None:
    async with server(tmp_path) as at:
        response = await at.client.connection.request(ApiVersionsRequest(), ApiVersionsResponse)
    taken = {v.api_key: (v.min_version, v.max_version) for v in response.api_keys}
    assert taken[apis.METADATA.key] == (0, 13)
    assert taken[apis.DELETE_PARTITIONS_KEY] == (0, 0)
    assert apis.LEADER_AND_ISR.key not in taken


async def test_version_from_the_future_is_answered_with_the_oldest(tmp_path: Path) -> None:
    async with server(tmp_path) as at:
        reader, writer = await asyncio.open_connection("127.0.0.1", at.port)
        request = bytearray(frames.encode_request(apis.API_VERSIONS, 4, 5, ApiVersionsRequest()))
        request[7] = 99
        writer.write(bytes(request))
        (size,) = struct.unpack(">i", await reader.readexactly(4))
        response = frames.decode_response(await reader.readexactly(size), apis.API_VERSIONS, 0)
        assert isinstance(response, ApiVersionsResponse)
        assert (response.error_code, bool(response.api_keys)) == (35, True)
        writer.close()


@pytest.mark.parametrize(
    "garbage", [b"GET / HTTP/1.1\r\n\r\n", b"\xff" * 8, b"\0\0\0\4\x7f\x7f\0\0"]
)
async def test_stranger_is_cut_off_and_others_go_on(tmp_path: Path, garbage: bytes) -> None:
    async with server(tmp_path) as at:
        reader, writer = await asyncio.open_connection("127.0.0.1", at.port)
        writer.write(garbage)
        assert await asyncio.wait_for(reader.read(), 20) == b""
        writer.close()
        assert (await at.client.metadata()).cluster_id is not None


@pytest.mark.parametrize(
    ("turn", "under_way"), [(Turn.TOGETHER, PIPELINE_MAX + 1), (Turn.ALONE, 1)]
)
async def test_client_that_disconnects_at_the_request_limit_is_released(
    turn: Turn, under_way: int
) -> None:
    begun, may_answer = 0, asyncio.Event()

    async def slow(_: frames.RequestFrame, __: Caller) -> MetadataResponse:
        nonlocal begun
        begun += 1
        await may_answer.wait()
        return MetadataResponse(brokers=(), topics=())

    dispatch = DispatchTable(handlers={apis.METADATA: slow}, turn=lambda _: turn)
    listener = await start_listener(dispatch)
    _, writer = await asyncio.open_connection("127.0.0.1", listener.port)
    # One is being answered, and the queue behind it is full.
    for number in range(PIPELINE_MAX + 1):
        request = MetadataRequest(topics=(), allow_auto_topic_creation=False)
        writer.write(frames.encode_request(apis.METADATA, 9, number, request))
    async with asyncio.timeout(20):
        while begun < under_way:
            await asyncio.sleep(0.001)
        writer.get_extra_info("socket").setsockopt(
            socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
        )
        writer.transport.abort()
        await asyncio.sleep(0.05)
        may_answer.set()
        while any(task.get_name() == "kafka connection" for task in asyncio.all_tasks()):
            await asyncio.sleep(0.001)
    await listener.close()


async def test_pipelined_requests_are_answered_in_their_order(tmp_path: Path) -> None:
    async with server(tmp_path) as at:
        await at.register(1)
        reader, writer = await asyncio.open_connection("127.0.0.1", at.port)
        sent = []
        for number in range(200):
            # A creation waits for the disk, a look does not; answers keep the order all the same.
            if number % 2:
                request = frames.encode_request(apis.METADATA, 9, number, MetadataRequest())
            else:
                topic = NewTopic(name=f"t{number}", partitions=1, replication_factor=1)
                body = creation_request(CreateTopics(topics=(topic,)))
                request = frames.encode_request(apis.CREATE_TOPICS, 7, number, body)
            sent.append(number)
            writer.write(request)
        answered = []
        for _ in sent:
            (size,) = struct.unpack(">i", await reader.readexactly(4))
            answered.append(frames.correlation_id_of(await reader.readexactly(size)))
        assert answered == sent
        writer.close()


async def test_topic_is_created_described_and_deleted(tmp_path: Path) -> None:
    async with server(tmp_path) as at:
        await at.register(1)
        await create(at, "orders", 3)
        (topic,) = (await at.client.metadata(["orders"])).topics
        assert [p.leader_id for p in topic.partitions] == [1, 1, 1]
        by_id = MetadataRequest(topics=(MetadataRequestTopic(topic_id=topic.topic_id, name=None),))
        (again,) = (await at.client.connection.request(by_id, MetadataResponse)).topics
        assert again.name == "orders"
        (result,) = await at.client.delete_topics(DeleteTopics(topics=(topic.topic_id,)))
        assert (result.name, result.refusal) == ("orders", None)
        (gone,) = (await at.client.metadata(["orders"])).topics
        assert gone.error_code == 3
        (refused,) = await at.client.delete_topics(DeleteTopics(topics=(topic.topic_id,)))
        assert refused.refusal is not None
        assert refused.refusal.code == "UNKNOWN_TOPIC_ID"


async def test_created_topic_comes_with_its_effective_configs(tmp_path: Path) -> None:
    async with server(tmp_path) as at:
        await at.register(1)
        topic = NewTopic(
            name="orders", partitions=1, replication_factor=1, configs=(("flush.ms", "3"),)
        )
        request = creation_request(CreateTopics(topics=(topic,)))
        answer = await at.client.connection.request(request, CreateTopicsResponse)
        (created,) = answer.topics
        assert created.configs is not None
        found = {c.name: (c.value, c.config_source) for c in created.configs}
        assert found["flush.ms"] == ("3", 1)
        assert found["retention.ms"] == ("604800000", 5)
        asked = CreateTopics(topics=(replace(topic, name="other"),), with_configs=True)
        (result,) = await at.client.create_topics(asked)
        assert result.configs is not None
        assert {c.name: (c.value, c.source.code) for c in result.configs} == found


async def test_config_of_a_namespace_has_a_source_that_clients_know(tmp_path: Path) -> None:
    async with server(tmp_path) as at:
        await at.register(1)
        await at.client.run(
            UpdateFeatures(updates=(FeatureUpdate(name=NAMESPACE_FEATURE, level=1),))
        )
        await at.client.run(CreateNamespace("org"))
        await at.client.run(
            AlterConfigs(
                resources=(
                    ResourceChange(
                        resource_type=NAMESPACE,
                        resource_name="org",
                        changes=(ConfigChange("flush.ms", "3"),),
                    ),
                )
            )
        )
        asked = CreateTopics(
            topics=(NewTopic(name="orders", namespace="org", partitions=1, replication_factor=1),),
            with_configs=True,
        )
        answer = await at.client.connection.request(creation_request(asked), CreateTopicsResponse)
        sources = {c.name: c.config_source for c in answer.topics[0].configs or ()}
        assert sources["flush.ms"] in range(
            9
        )  # Kafka 4.0 has no others; kafka-python raises at them
        (result,) = created(answer, with_configs=True)
        assert ("flush.ms", ConfigSource.NAMESPACE) in [
            (c.name, c.source) for c in result.configs or ()
        ]


async def test_refusals_keep_code_and_message(tmp_path: Path) -> None:
    async with server(tmp_path) as at:
        (result,) = await at.client.create_topics(CreateTopics(topics=(NewTopic(name="a b"),)))
        assert result.refusal is not None
        assert result.refusal.code == "INVALID_TOPIC_EXCEPTION"
        assert "InvalidArgumentTopicName" in result.refusal.message
        with pytest.raises(RequestError, match="broker 7 is not registered") as caught:
            await at.client.run("brokers unregister", 7)
        assert caught.value.code == "BROKER_ID_NOT_REGISTERED"


async def test_any_decision_can_be_taken_by_its_name(tmp_path: Path) -> None:
    async with server(tmp_path) as at:
        await at.register(1)
        change = ResourceChange(
            resource_type=BROKER, resource_name="", changes=(ConfigChange("num.io.threads", "9"),)
        )
        answer = await at.client.run(
            "configs alter", AlterConfigs(resources=(change,)), reason="more threads"
        )
        assert answer.end_offset == at.service.image.provenance.next_offset
        assert at.service.image.config(BROKER, "") == {"num.io.threads": "9"}
        topic = NewTopic(name="by-hand", assignments=(Assignment(0, (1,)),))
        answer = await at.client.run("topics create", CreateTopics(topics=(topic,)))
        made = at.service.image.topic_by_name("by-hand")
        assert made is not None
        assert answer.response[0].topic_id == made.topic_id


async def test_what_a_request_cannot_say_is_refused_and_not_left_out(tmp_path: Path) -> None:
    async with server(tmp_path) as at:
        await at.register(1)
        await create(at, "orders")
        with pytest.raises(RequestError, match="no dry run"):
            await at.client.delete_topics(DeleteTopics(topics=("orders",), validate_only=True))
        topic = NewTopic(name="carts", partitions=1, replication_factor=1)
        for request in (
            CreateTopics(topics=(topic,), placement="striped"),
            CreateTopics(topics=(replace(topic, topic_id=new_id(Random(1))),)),
        ):
            with pytest.raises(RequestError, match="cannot have a placement or topic ids"):
                await at.client.create_topics(request)
        assert [topic.name for topic in at.service.image.topics()] == ["orders"]


async def test_partitions_that_are_deleted_are_read_only_and_then_gone(tmp_path: Path) -> None:
    async with server(tmp_path, settings=ENABLED) as at:
        await at.register(1)
        await create(at, "orders", 3)
        shrink = TopicShrink(topic="orders", partitions=1)
        (result,) = await at.client.delete_partitions(
            DeletePartitions(topics=(shrink,), delay_ms=60_000)
        )
        assert (result.partition_ids, result.refusal) == ((1, 2), None)
        (topic,) = (await at.client.metadata(["orders"])).topics
        assert [p.mode for p in topic.partitions] == [0, 1, 1]
        # A client that cannot know modes sees them as usual.
        old = await at.client.connection.request(
            MetadataRequest(topics=(MetadataRequestTopic(name="orders"),)),
            MetadataResponse,
            version=4,
        )
        assert [p.error_code for p in old.topics[0].partitions] == [0, 0, 0]
        (late,) = await at.client.delete_partitions(DeletePartitions(topics=(shrink,)))
        assert late.refusal is not None
        assert late.refusal.code == "REASSIGNMENT_IN_PROGRESS"


async def test_strict_listener_hides_read_only_partitions(tmp_path: Path) -> None:
    async with server(tmp_path, settings=ENABLED, strict_modes=True) as at:
        await at.register(1)
        await create(at, "orders", 2)
        shrink = TopicShrink(topic="orders", partitions=1)
        await at.client.delete_partitions(DeletePartitions(topics=(shrink,), delay_ms=60_000))
        asked = MetadataRequest(topics=(MetadataRequestTopic(name="orders"),))
        told = await at.client.connection.request(asked, MetadataResponse, version=4)
        assert [p.error_code for p in told.topics[0].partitions] == [0, 5]
        (knows,) = (await at.client.metadata(["orders"])).topics
        assert [p.error_code for p in knows.partitions] == [0, 0]


async def test_stale_and_foreign_brokers_are_refused(tmp_path: Path) -> None:
    async with server(tmp_path) as at:
        broker_epoch = await at.register(1)
        assert (await at.beat(1, broker_epoch - 1)).error_code == 77
        assert not (await at.beat(1, broker_epoch)).is_fenced


class _Tomorrow:
    def now_ms(self) -> int:
        return SystemClock().now_ms() + 24 * 3_600_000


@pytest.mark.parametrize("clock", [SystemClock(), _Tomorrow()], ids=["right", "set back since"])
async def test_silent_broker_is_fenced(tmp_path: Path, clock: Clock) -> None:
    create_log(tmp_path / "log", CLUSTER_ID)
    # Its first batch has this clock's time, and none that follows may be earlier.
    await (await MetadataLog.open(tmp_path / "log", clock=clock)).close()
    async with server(tmp_path, session_timeout_ms=200) as at:
        await at.register(1)
        async with asyncio.timeout(20):
            while (broker := at.service.image.broker(1)) is not None and not broker.fenced:
                await at.service.history.beyond(at.service.image.provenance.next_offset - 1)


async def test_service_goes_on_where_it_ended(tmp_path: Path) -> None:
    async with server(tmp_path) as at:
        await at.register(1)
        await create(at, "orders")
        before = at.service.image.topic_by_name("orders")
        epoch = at.service.controller_epoch
    async with server(tmp_path) as at:
        assert at.service.image.topic_by_name("orders") == before
        assert at.service.controller_epoch > epoch


async def test_unreachable_address_is_reported_in_one_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(UnavailableError, match=f"127.0.0.1:{port} does not answer"):
        await Connection.open("127.0.0.1", port)


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("kafka://h:1", ("h", 1)),
        ("h:1", ("h", 1)),
        ("kafka://h", ("h", 9092)),
        ("[::1]:7", ("::1", 7)),
    ],
)
def test_servers_are_named_by_url(url: str, address: tuple[str, int]) -> None:
    found = server_address(url)
    assert (found.host, found.port) == address


@pytest.mark.parametrize("url", ["", "ftp://h:1", "h:x", "kafka://"])
async def test_other_urls_are_refused(url: str) -> None:
    with pytest.raises(RequestError, match="is not a server"):
        await MetadataClient.connect(url)


async def test_service_and_client_take_the_same_commands(tmp_path: Path) -> None:
    async with server(tmp_path) as at:
        await at.register(1)
        session = Session(at.service, Caller(principal="User:ann"))
        for run, name in ((session.run, "here"), (at.client.run, "there")):
            topic = NewTopic(name=name, partitions=1, replication_factor=1)
            answer = await run("topics create", CreateTopics(topics=(topic,)))
            assert answer.end_offset == at.service.image.provenance.next_offset
            assert [(r.name, r.refusal) for r in answer.response] == [(name, None)]


async def test_decision_outlives_the_connection_that_asked_for_it(tmp_path: Path) -> None:
    async with server(tmp_path) as at:
        await at.register(1)
        _, writer = await asyncio.open_connection("127.0.0.1", at.port)
        topic = NewTopic(name="orphan", partitions=1, replication_factor=1)
        body = creation_request(CreateTopics(topics=(topic,)))
        writer.write(frames.encode_request(apis.CREATE_TOPICS, 7, 1, body))
        await writer.drain()
        writer.close()
        async with asyncio.timeout(20):
            while at.service.image.topic_by_name("orphan") is None:
                await at.service.history.beyond(at.service.image.provenance.next_offset - 1)
        await create(at, "next")


async def test_client_over_its_quota_gets_the_time_to_wait(tmp_path: Path) -> None:
    quota = ClientQuotaRecord(
        entity=(EntityData(entity_type="client-id", entity_name="metalog"),),
        key=MUTATION_RATE,
        value=0.1,
        remove=False,
    )
    async with server(tmp_path) as at:
        await at.register(1)
        decide = partial(append_records, request=AppendRecords(records=(quota,)))
        await at.service.submit(decide)
        large = NewTopic(name="large", partitions=10, replication_factor=1)
        looked_at = CreateTopics(topics=(large,), validate_only=True)
        (result,) = await at.client.create_topics(looked_at)
        assert result.refusal is None
        await create(at, "large", 10)
        request = creation_request(CreateTopics(topics=(NewTopic(name="small", partitions=1),)))
        refused = await at.client.connection.request(request, CreateTopicsResponse)
        assert refused.topics[0].error_code == 89
        assert 80_000 < refused.throttle_time_ms <= 89_000
        deletion = deletion_request(DeleteTopics(topics=("large",)))
        refused_too = await at.client.connection.request(deletion, DeleteTopicsResponse)
        assert refused_too.responses[0].error_code == 89
        assert 80_000 < refused_too.throttle_time_ms <= 89_000
        assert at.service.image.topic_by_full_name("small") is None


async def test_a_service_that_lost_its_log_says_try_again(tmp_path: Path) -> None:
    async with server(tmp_path) as at:
        await at.register(1)
        # Another writer takes over.
        (tmp_path / "log" / f"epoch-{at.service.controller_epoch + 1}").touch()
        for problem in ("outcome is unknown", "not active"):
            with pytest.raises(UnavailableError, match=problem):
                await at.client.run("topics create", CreateTopics(topics=(NewTopic(name="a"),)))


async def test_versions_name_old_produce_for_librdkafka_and_the_levels_of_features(
    tmp_path: Path,
) -> None:
    async with server(tmp_path) as at:
        answers = [
            await at.client.connection.request(
                ApiVersionsRequest(), ApiVersionsResponse, version=version
            )
            for version in (3, 4)
        ]
        image = at.service.image
    old, new = answers
    produce = next(each for each in new.api_keys if each.api_key == apis.PRODUCE.key)
    assert (produce.min_version, produce.max_version) == (0, 13)
    assert [each.name for each in old.supported_features] == ["metadata.version"]
    assert {each.name for each in new.supported_features} == set(SUPPORTED_LEVELS)
    assert new.finalized_features_epoch == image.provenance.next_offset - 1
    finalized = {each.name: each.max_version_level for each in new.finalized_features}
    assert finalized == {name: level for name, level in image.features().items() if level}
    assert finalized["metadata.version"] > 1
