"""Automatic creation of missing topics that clients request in Metadata.

Off by default. The broker sends the controller a CreateTopics request in the client's name, and
immediately responds to the client that the topic is unknown; clients repeat Metadata until the
topic exists.

Source: KIP-590; AutoTopicCreationManager of Kafka 4.0.
"""

import asyncio
import logging
from collections.abc import Iterator

from msgspec.structs import replace

from api.broker.forwarding import Forward
from api.kafka import apis, frames
from api.kafka.apis import by_key
from api.kafka.errors import CODES, NONE, name_of
from api.kafka.frames import LENGTH, RequestFrame
from api.kafka.messages.metadata import MetadataRequest, MetadataResponse, MetadataTopic
from api.kafka.messages.topics import CreatableTopic, CreateTopicsRequest, CreateTopicsResponse
from api.transport.shutdown import cancel_all
from controller.authorization.authorizer import CLUSTER, Access, Operation, topic_resource
from controller.authorization.caller import Caller
from records.errors import MetadataLogError

log = logging.getLogger(__name__)

_SERVER_DEFAULT = -1
_UNKNOWN = CODES["UNKNOWN_TOPIC_OR_PARTITION"]
_VERSION = apis.CREATE_TOPICS.max_version


class TopicCreation:
    """Requests missing topics from the controller, with at most one request in flight per topic."""

    def __init__(self, forward: Forward) -> None:
        """Create the object, with no request in flight.

        Args:
            forward: Sends a client's request to the controller.
        """
        self._forward = forward
        self._in_flight: set[str] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    def answered(
        self, frame: RequestFrame, caller: Caller, access: Access, response: MetadataResponse
    ) -> MetadataResponse:
        """Start creating the missing topics; return the response for the client.

        In that response, missing topics that the caller may not create have the error
        TOPIC_AUTHORIZATION_FAILED.
        """
        request = frame.body
        assert isinstance(request, MetadataRequest)
        if not request.allow_auto_topic_creation:
            return response
        topics = tuple([_authorized(topic, access) for topic in response.topics])
        names = {name for name in _missing(topics) if name not in self._in_flight}
        if names:
            self._in_flight |= names
            task = asyncio.create_task(self._create(frame, caller, names), name="topic creation")
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        return replace(response, topics=topics)

    async def close(self) -> None:
        """Stop waiting for the controller; requests that were sent may still be carried out."""
        await cancel_all(*self._tasks)

    async def _create(self, frame: RequestFrame, caller: Caller, names: set[str]) -> None:
        try:
            body = await self._forward(_creation(frame, names), caller)
            answer = _decoded(body)
            for topic in answer.topics:
                if topic.error_code not in (NONE, CODES["TOPIC_ALREADY_EXISTS"]):
                    code = name_of(topic.error_code)
                    log.warning("%s is not created: %s: %s", topic.name, code, topic.error_message)
        except MetadataLogError as error:
            log.warning("%s: not created: %s", ", ".join(sorted(names)), error)
        finally:
            self._in_flight -= names


def _authorized(topic: MetadataTopic, access: Access) -> MetadataTopic:
    if topic.error_code != _UNKNOWN or topic.name is None or _may_create(access, topic.name):
        return topic
    return replace(topic, error_code=CODES["TOPIC_AUTHORIZATION_FAILED"])


def _may_create(access: Access, name: str) -> bool:
    resources = (CLUSTER, topic_resource(name))
    return any(access.allows(Operation.CREATE, resource) for resource in resources)


def _missing(topics: tuple[MetadataTopic, ...]) -> Iterator[str]:
    for topic in topics:
        if topic.error_code == _UNKNOWN and topic.name is not None:
            yield topic.name


def _creation(frame: RequestFrame, names: set[str]) -> RequestFrame:
    """Return a CreateTopics request, as if the client of the Metadata request had sent it."""
    request = CreateTopicsRequest(
        topics=tuple(
            [
                CreatableTopic(
                    name=name, num_partitions=_SERVER_DEFAULT, replication_factor=_SERVER_DEFAULT
                )
                for name in sorted(names)
            ]
        )
    )
    encoded = frames.encode_request(
        apis.CREATE_TOPICS, _VERSION, frame.correlation_id, request, frame.client_id
    )
    return frames.decode_request(encoded[LENGTH.size :], by_key((apis.CREATE_TOPICS,)))


def _decoded(body: bytes) -> CreateTopicsResponse:
    encoded = frames.encode_raw_response(apis.CREATE_TOPICS, _VERSION, 0, body)
    response = frames.decode_response(encoded[LENGTH.size :], apis.CREATE_TOPICS, _VERSION)
    assert isinstance(response, CreateTopicsResponse)
    return response
