"""Creation and deletion of topics: Kafka's messages and the controller's requests, both ways."""

from collections.abc import Iterable

from msgspec.structs import replace

from api.kafka.errors import NONE, code_of, refusal_code, refusal_message, refusal_of, throttle_ms
from api.kafka.messages.topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
    ReplicaAssignment,
    TopicConfig,
)
from controller.authorization.authorizer import UNRESTRICTED, Access, Operation, topic_resource
from controller.decisions.configs.created import CreatedConfig
from controller.decisions.configs.effective import source_of
from controller.decisions.lookup import TopicRef, ref_text
from controller.decisions.outcome import Refusal
from controller.decisions.partitions.assignments import Assignment
from controller.decisions.topics.topics import CreateTopics, DeleteTopics, NewTopic, TopicResult
from records.base import ZERO_UUID, Uuid
from records.errors import RequestError
from replay.image.metadata import NAMESPACE_SEPARATOR


def creation(request: CreateTopicsRequest) -> CreateTopics:
    """Return the controller's request for a CreateTopics message."""
    return CreateTopics(
        topics=tuple([_new_topic(topic) for topic in request.topics]),
        validate_only=request.validate_only,
        with_configs=True,
    )


def _new_topic(topic: CreatableTopic) -> NewTopic:
    namespace, _, name = topic.name.rpartition(NAMESPACE_SEPARATOR)
    return NewTopic(
        name=name,
        namespace=namespace,
        partitions=topic.num_partitions,
        replication_factor=topic.replication_factor,
        assignments=tuple([Assignment(a.partition_index, a.broker_ids) for a in topic.assignments]),
        configs=tuple([(config.name, config.value) for config in topic.configs]),
    )


def creation_request(request: CreateTopics) -> CreateTopicsRequest:
    """Return the CreateTopics message for a controller's request.

    Raises:
        RequestError: INVALID_REQUEST, the request has a placement or a topic id.
    """
    if request.placement is not None or any(t.topic_id is not None for t in request.topics):
        raise RequestError(
            "INVALID_REQUEST",
            "Kafka's request CreateTopics cannot have a placement or topic ids; send the command "
            "with `run`",
        )
    return CreateTopicsRequest(
        topics=tuple([_creatable(topic) for topic in request.topics]),
        validate_only=request.validate_only,
    )


def _creatable(topic: NewTopic) -> CreatableTopic:
    return CreatableTopic(
        name=topic.full_name,
        num_partitions=topic.partitions,
        replication_factor=topic.replication_factor,
        assignments=tuple(
            [
                ReplicaAssignment(partition_index=a.partition_id, broker_ids=a.broker_ids)
                for a in topic.assignments
            ]
        ),
        configs=tuple([TopicConfig(name=name, value=value) for name, value in topic.configs]),
    )


def creation_response(results: Iterable[TopicResult]) -> CreateTopicsResponse:
    """Return the response with the result of each topic."""
    results = tuple(results)
    return CreateTopicsResponse(
        throttle_time_ms=throttle_ms([result.refusal for result in results]),
        topics=tuple([_creatable_result(result) for result in results]),
    )


def _creatable_result(result: TopicResult) -> CreatableTopicResult:
    """Return a topic's result, with counts and configs only if the caller may describe configs."""
    common = CreatableTopicResult(
        name=result.name,
        topic_id=result.topic_id or ZERO_UUID,
        error_code=refusal_code(result.refusal),
        error_message=refusal_message(result.refusal),
    )
    if result.refusal is not None:
        return common
    if result.configs is None:
        return replace(common, topic_config_error_code=code_of("TOPIC_AUTHORIZATION_FAILED"))
    return replace(
        common,
        num_partitions=result.partitions,
        replication_factor=result.replication_factor,
        configs=tuple(
            [
                CreatableTopicConfig(
                    name=config.name,
                    value=config.value,
                    read_only=False,
                    config_source=config.source.code,
                    is_sensitive=False,
                )
                for config in result.configs
            ]
        ),
    )


def creation_refused(request: CreateTopicsRequest, error: RequestError) -> CreateTopicsResponse:
    """Return the response to a request that is refused as a whole."""
    refusal = Refusal.of(error)
    return creation_response([TopicResult(name=t.name, refusal=refusal) for t in request.topics])


def created(
    response: CreateTopicsResponse, *, with_configs: bool = False
) -> tuple[TopicResult, ...]:
    """Convert a response to the result of each topic.

    Args:
        with_configs: True to include the topics' configs.
    """
    return tuple(
        [
            TopicResult(
                name=topic.name,
                topic_id=None if topic.topic_id == ZERO_UUID else topic.topic_id,
                partitions=max(topic.num_partitions, 0),
                replication_factor=max(topic.replication_factor, 0),
                refusal=refusal_of(topic.error_code, topic.error_message),
                configs=_created_configs(topic) if with_configs else (),
            )
            for topic in response.topics
        ]
    )


def _created_configs(topic: CreatableTopicResult) -> tuple[CreatedConfig, ...] | None:
    if topic.topic_config_error_code != NONE:
        return None
    return tuple(
        [
            CreatedConfig(config.name, config.value or "", source_of(config.config_source))
            for config in topic.configs or ()
        ]
    )


def deletion(request: DeleteTopicsRequest) -> DeleteTopics:
    """Return the controller's request for a DeleteTopics message."""
    states = [topic.topic_id if topic.name is None else topic.name for topic in request.topics]
    return DeleteTopics(topics=(*request.topic_names, *states))


def deletion_request(request: DeleteTopics) -> DeleteTopicsRequest:
    """Return the DeleteTopics message for a controller's request.

    Raises:
        RequestError: INVALID_REQUEST, the request is a dry run.
    """
    if request.validate_only:
        raise RequestError(
            "INVALID_REQUEST",
            "Kafka's request DeleteTopics has no dry run; send the command with `run`",
        )
    return DeleteTopicsRequest(topics=tuple([_state(ref) for ref in request.topics]))


def _state(ref: TopicRef) -> DeleteTopicState:
    if isinstance(ref, str):
        return DeleteTopicState(name=ref)
    return DeleteTopicState(name=None, topic_id=ref)


def deletion_response(
    refs: Iterable[TopicRef], results: Iterable[TopicResult], before: Access
) -> DeleteTopicsResponse:
    """Return the response with the result of each topic.

    Args:
        before: The caller's rights before the deletion. They decide whether the result of a topic
            that was requested by id may include the topic's name.
    """
    results = tuple(results)
    return DeleteTopicsResponse(
        throttle_time_ms=throttle_ms([result.refusal for result in results]),
        responses=tuple(
            [_deleted(ref, result, before) for ref, result in zip(refs, results, strict=True)]
        ),
    )


def _deleted(ref: TopicRef, result: TopicResult, before: Access) -> DeletableTopicResult:
    name: str | None
    if isinstance(ref, str):
        name, topic_id = ref, result.topic_id or ZERO_UUID
    else:
        name, topic_id = _visible_name(before, ref), ref
    return DeletableTopicResult(
        name=name,
        topic_id=topic_id,
        error_code=refusal_code(result.refusal),
        error_message=refusal_message(result.refusal),
    )


def _visible_name(access: Access, topic_id: Uuid) -> str | None:
    topic = access.image.topic(topic_id)
    if topic is None:
        return None
    name = access.image.full_name(topic)
    return name if access.allows(Operation.DESCRIBE, topic_resource(name)) else None


def deletion_refused(request: DeleteTopicsRequest, error: RequestError) -> DeleteTopicsResponse:
    """Return the response to a request that is refused as a whole."""
    refs = deletion(request).topics
    results = [TopicResult(name="", refusal=Refusal.of(error)) for _ in refs]
    return deletion_response(refs, results, UNRESTRICTED)


def deleted(response: DeleteTopicsResponse) -> tuple[TopicResult, ...]:
    """Convert a response to the result of each topic."""
    return tuple(
        [
            TopicResult(
                name=ref_text(topic.topic_id) if topic.name is None else topic.name,
                topic_id=None if topic.topic_id == ZERO_UUID else topic.topic_id,
                refusal=refusal_of(topic.error_code, topic.error_message),
            )
            for topic in response.responses
        ]
    )
