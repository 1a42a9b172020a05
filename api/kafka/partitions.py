"""Requests about partitions: conversion between Kafka's messages and our commands."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from api.kafka.errors import code_of, refusal_code, refusal_message, throttle_ms
from api.kafka.messages.partitions import (
    PREFERRED,
    UNCLEAN,
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    ElectedPartition,
    ElectedTopicResult,
    ElectLeadersRequest,
    ElectLeadersResponse,
    GrownTopic,
    GrownTopicResult,
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    MovedPartitionResult,
    MovedTopicResult,
    MovingPartition,
    MovingTopic,
)
from controller.decisions.outcome import Refusal
from controller.decisions.partitions.elections import ElectionResult, ElectLeaders
from controller.decisions.partitions.reassignments import (
    AlterReassignments,
    PartitionTarget,
    ReassignmentResult,
)
from controller.decisions.topics.growth import CreatePartitions, TopicGrowth
from controller.decisions.topics.topics import TopicResult
from controller.descriptions.progress import ListReassignments, OngoingReassignment
from records.errors import RequestError


def growth(request: CreatePartitionsRequest) -> CreatePartitions:
    """Return the command for a CreatePartitions."""
    return CreatePartitions(
        topics=tuple([_growth(topic) for topic in request.topics]),
        validate_only=request.validate_only,
    )


def growth_response(results: Iterable[TopicResult]) -> CreatePartitionsResponse:
    """Return the response with the result of each topic."""
    results = tuple(results)
    return CreatePartitionsResponse(
        throttle_time_ms=throttle_ms([result.refusal for result in results]),
        results=tuple([_grown(result.name or "", result.refusal) for result in results]),
    )


def growth_refused(
    request: CreatePartitionsRequest, error: RequestError
) -> CreatePartitionsResponse:
    """Return the response to a request that is refused as a whole."""
    refusal = Refusal.of(error)
    return CreatePartitionsResponse(
        results=tuple([_grown(topic.name, refusal) for topic in request.topics])
    )


def election(request: ElectLeadersRequest) -> ElectLeaders:
    """Return the command for an ElectLeaders.

    Raises:
        RequestError: INVALID_REQUEST, the election type does not exist.
    """
    if request.election_type not in (PREFERRED, UNCLEAN):
        raise RequestError(
            "INVALID_REQUEST",
            f"there is no election type {request.election_type}; use 0 (preferred) or 1 (unclean)",
        )
    return ElectLeaders(
        partitions=tuple(
            [
                (named.topic, partition_id)
                for named in request.topic_partitions or ()
                for partition_id in named.partitions
            ]
        ),
        unclean=request.election_type == UNCLEAN,
    )


def election_response(results: Iterable[ElectionResult]) -> ElectLeadersResponse:
    """Return the response with the result of each partition."""
    return ElectLeadersResponse(
        replica_election_results=tuple(
            [
                ElectedTopicResult(
                    topic=topic,
                    partition_result=tuple(
                        [
                            ElectedPartition(
                                partition_id=each.partition_id,
                                error_code=refusal_code(each.refusal),
                                error_message=refusal_message(each.refusal),
                            )
                            for each in of_topic
                        ]
                    ),
                )
                for topic, of_topic in _by_topic(results)
            ]
        )
    )


def election_refused(error: RequestError) -> ElectLeadersResponse:
    """Return the response to a request that is refused as a whole."""
    return ElectLeadersResponse(error_code=code_of(error.code))


def moves(request: AlterPartitionReassignmentsRequest) -> AlterReassignments:
    """Return the command for an AlterPartitionReassignments."""
    return AlterReassignments(
        partitions=tuple(
            [
                PartitionTarget(
                    topic=topic.name,
                    partition_id=partition.partition_index,
                    broker_ids=partition.replicas,
                )
                for topic in request.topics
                for partition in topic.partitions
            ]
        ),
        allow_rf_change=request.allow_replication_factor_change,
    )


def moves_response(results: Iterable[ReassignmentResult]) -> AlterPartitionReassignmentsResponse:
    """Return the response with the result of each partition."""
    return AlterPartitionReassignmentsResponse(
        responses=tuple(
            [
                MovedTopicResult(
                    name=topic,
                    partitions=tuple(
                        [
                            MovedPartitionResult(
                                partition_index=each.partition_id,
                                error_code=refusal_code(each.refusal),
                                error_message=refusal_message(each.refusal),
                            )
                            for each in of_topic
                        ]
                    ),
                )
                for topic, of_topic in _by_topic(results)
            ]
        )
    )


def moves_refused(error: RequestError) -> AlterPartitionReassignmentsResponse:
    """Return the response to a request that is refused as a whole."""
    return AlterPartitionReassignmentsResponse(
        error_code=code_of(error.code), error_message=str(error)
    )


def listing(request: ListPartitionReassignmentsRequest) -> ListReassignments:
    """Return the query for a ListPartitionReassignments."""
    if request.topics is None:
        return ListReassignments()
    named = [(topic.name, index) for topic in request.topics for index in topic.partition_indexes]
    return ListReassignments(partitions=tuple(dict.fromkeys(named)))


def listing_response(found: Iterable[OngoingReassignment]) -> ListPartitionReassignmentsResponse:
    """Return the response with the ongoing reassignments."""
    return ListPartitionReassignmentsResponse(
        topics=tuple(
            [
                MovingTopic(
                    name=topic,
                    partitions=tuple(
                        [
                            MovingPartition(
                                partition_index=each.partition_id,
                                replicas=each.replicas,
                                adding_replicas=each.adding_replicas,
                                removing_replicas=each.removing_replicas,
                            )
                            for each in of_topic
                        ]
                    ),
                )
                for topic, of_topic in _by_topic(found)
            ]
        )
    )


def listing_refused(error: RequestError) -> ListPartitionReassignmentsResponse:
    """Return the response to a request that is refused as a whole."""
    return ListPartitionReassignmentsResponse(
        error_code=code_of(error.code), error_message=str(error)
    )


def _growth(topic: GrownTopic) -> TopicGrowth:
    assignments = None
    if topic.assignments is not None:
        assignments = tuple([each.broker_ids for each in topic.assignments])
    return TopicGrowth(topic=topic.name, partitions=topic.count, assignments=assignments)


def _grown(name: str, refusal: Refusal | None) -> GrownTopicResult:
    return GrownTopicResult(
        name=name, error_code=refusal_code(refusal), error_message=refusal_message(refusal)
    )


def _by_topic(items: Iterable[Any]) -> Iterator[tuple[str, Sequence[Any]]]:
    """Yield each topic with its items, in the order in which the topics first occur."""
    ordered: dict[str, list[Any]] = {}
    for item in items:
        ordered.setdefault(item.topic, []).append(item)
    yield from ordered.items()
