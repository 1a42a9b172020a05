"""A broker creates topics named in Metadata requests, if that is enabled and the client is
authorized.
"""

import asyncio
from typing import Any

import pytest

from api.broker.authorization import Authorization
from api.broker.cluster import Cluster
from api.broker.dispatch import broker_dispatch
from api.broker.topic_creation import TopicCreation
from api.kafka import apis, frames
from api.kafka.errors import name_of
from api.kafka.frames import LENGTH, RequestFrame
from api.kafka.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from api.kafka.messages.topics import (
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from controller.authorization.authorizer import CLUSTER, Operation, topic_resource
from controller.authorization.caller import Caller
from tests.api.broker.leader import ASKER
from tests.api.guarded import TOPIC_REFUSED, Rights

UNKNOWN = "UNKNOWN_TOPIC_OR_PARTITION"


class Controller:
    """Records the topics that it is asked to create; holds its answers until the test allows
    them.
    """

    def __init__(self) -> None:
        self.asked: list[list[str]] = []
        self.may_answer = asyncio.Event()

    async def forward(self, frame: RequestFrame, caller: Caller) -> bytes:
        assert isinstance(frame.body, CreateTopicsRequest)
        assert (frame.client_id, caller) == ("a-client", ASKER)
        assert {each.num_partitions for each in frame.body.topics} == {-1}
        self.asked.append([topic.name for topic in frame.body.topics])
        await self.may_answer.wait()
        results = [CreatableTopicResult(name=topic.name) for topic in frame.body.topics]
        response = CreateTopicsResponse(topics=tuple(results))
        encoded = frames.encode_response(frame.api, frame.version, 1, response)
        return frames.raw_response_body(encoded[LENGTH.size :], frame.api, frame.version)


class Node:
    """The listener of a broker, and the requests that it forwards."""

    def __init__(self, rights: Rights) -> None:
        self.controller = Controller()
        self.creation = TopicCreation(self.controller.forward)
        self._dispatch = broker_dispatch(
            "c",
            Cluster(),
            Authorization(rights),
            {},
            self.controller.forward,
            creation=self.creation,
        )

    async def ask(self, *names: str, version: int = 12, **fields: Any) -> list[str]:
        """Send a Metadata request for topics by name; return the errors."""
        topics = tuple([MetadataRequestTopic(name=name) for name in names])
        frame = RequestFrame(
            api=apis.METADATA,
            version=version,
            correlation_id=1,
            client_id="a-client",
            body=MetadataRequest(topics=topics, **fields),
        )
        response = await self._dispatch.handlers[apis.METADATA](frame, ASKER)
        assert isinstance(response, MetadataResponse)
        await asyncio.sleep(0)
        return [name_of(topic.error_code) for topic in response.topics]


@pytest.fixture
def rights() -> Rights:
    return Rights()


async def test_missing_topics_are_asked_for_once_at_a_time(rights: Rights) -> None:
    node = Node(rights)
    assert await node.ask("b", "a") == [UNKNOWN] * 2
    assert await node.ask("a", "c") == [UNKNOWN] * 2
    assert node.controller.asked == [["a", "b"], ["c"]]
    node.controller.may_answer.set()
    await asyncio.sleep(0.01)
    await node.ask("a")
    assert node.controller.asked == [["a", "b"], ["c"], ["a"]]
    await node.creation.close()


async def test_a_client_that_does_not_want_topics_gets_none(rights: Rights) -> None:
    node = Node(rights)
    assert await node.ask("a", allow_auto_topic_creation=False) == [UNKNOWN]
    assert node.controller.asked == []


@pytest.mark.parametrize(
    "right", [(Operation.CREATE, CLUSTER), (Operation.CREATE, topic_resource("a"))]
)
async def test_a_client_needs_the_right_to_create(rights: Rights, right: Any) -> None:
    describe = {(Operation.DESCRIBE, topic_resource("a"))}
    rights.only = describe
    node = Node(rights)
    assert await node.ask("a") == [TOPIC_REFUSED]
    assert node.controller.asked == []
    rights.only = {*describe, right}
    assert await node.ask("a") == [UNKNOWN]
    assert node.controller.asked == [["a"]]
    await node.creation.close()


async def test_a_topic_that_may_not_be_seen_is_not_created(rights: Rights) -> None:
    rights.only = {(Operation.CREATE, CLUSTER)}
    node = Node(rights)
    assert await node.ask("a") == [TOPIC_REFUSED]
    assert node.controller.asked == []
