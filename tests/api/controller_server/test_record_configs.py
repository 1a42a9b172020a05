"""Brokers are told the record configs of topics, from whatever level they come."""

from collections.abc import Sequence
from pathlib import Path

from api.kafka.messages.replicas import UpdateMetadataRequest
from api.service.session import Session
from controller.authorization.caller import Caller
from metadata_log.format.batch import NewBatch
from records.base import Record, Uuid
from records.configs import ConfigRecord
from records.topics import TopicRecord
from replay.image.configs import BROKER, TOPIC
from tests.api.controller_server.test_broker_feed import FakeBroker
from tests.api.kafka.servers import Server, server

SIZE, SERVER_SIZE = "max.message.bytes", "message.max.bytes"


def config(type_: int, resource: str, name: str, value: str | None) -> ConfigRecord:
    return ConfigRecord(resource_type=type_, resource_name=resource, name=name, value=value)


async def append(at: Server, *records: Record) -> None:
    await Session(at.service, Caller()).append(NewBatch(records=records))


def told(requests: Sequence[object]) -> dict[str, dict[str, str]]:
    """Return the configs of each topic that the requests name, as last told."""
    return {
        topic.topic_name: {config.name: config.value for config in topic.configs}
        for request in requests
        if isinstance(request, UpdateMetadataRequest)
        for topic in request.topic_states
    }


async def test_changes_at_every_level_reach_the_broker(tmp_path: Path) -> None:
    async with server(tmp_path) as at:
        await append(
            at,
            *[TopicRecord(name=name, topic_id=Uuid(name.encode() * 16)) for name in "ab"],
            config(TOPIC, "a", SIZE, "10"),
        )
        broker = FakeBroker()
        async with broker.following(at, await at.register(1)):
            await broker.until_offset(at.service.image.provenance.offset)
            assert told(broker.told) == {"a": {SIZE: "10"}, "b": {}}
            for change, expected in (
                (config(TOPIC, "b", "retention.ms", "5"), {}),
                (config(TOPIC, "b", SIZE, "20"), {"b": {SIZE: "20"}}),
                (config(TOPIC, "b", SIZE, None), {"b": {}}),
                (config(BROKER, "", SERVER_SIZE, "30"), {"b": {SIZE: "30"}}),
                (config(TOPIC, "a", SIZE, None), {"a": {SIZE: "30"}}),
                (config(BROKER, "", SERVER_SIZE, None), {"a": {}, "b": {}}),
            ):
                before = len(broker.told)
                await append(at, change)
                await broker.until_offset(at.service.image.provenance.offset)
                assert told(broker.told[before:]) == expected, change
