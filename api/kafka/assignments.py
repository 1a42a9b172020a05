"""AssignReplicasToDirs: conversion between Kafka's messages and the controller's decision."""

from collections import defaultdict
from collections.abc import Iterable

from api.kafka.errors import refusal_code
from api.kafka.messages.assignments import (
    AssignedDirectoryResult,
    AssignedPartitionResult,
    AssignedTopicResult,
    AssignReplicasToDirsRequest,
    AssignReplicasToDirsResponse,
)
from controller.decisions.brokers.directory_assignment import (
    AssignedReplica,
    AssignReplicas,
    ReplicaDirectory,
)
from records.base import Uuid


def assignment(request: AssignReplicasToDirsRequest) -> AssignReplicas:
    """Return the controller's request for an AssignReplicasToDirs message."""
    return AssignReplicas(
        broker_id=request.broker_id,
        broker_epoch=request.broker_epoch,
        replicas=tuple(
            [
                ReplicaDirectory(
                    topic_id=topic.topic_id,
                    partition_id=partition.partition_index,
                    directory=directory.id,
                )
                for directory in request.directories
                for topic in directory.topics
                for partition in topic.partitions
            ]
        ),
    )


def assignment_response(results: Iterable[AssignedReplica]) -> AssignReplicasToDirsResponse:
    """Return the response with the result of each replica, by directory and topic."""
    found: defaultdict[Uuid, defaultdict[Uuid, list[AssignedPartitionResult]]]
    found = defaultdict(lambda: defaultdict(list))
    for result in results:
        code = refusal_code(result.refusal)
        found[result.directory][result.topic_id].append(
            AssignedPartitionResult(partition_index=result.partition_id, error_code=code)
        )
    return AssignReplicasToDirsResponse(
        directories=tuple(
            [
                AssignedDirectoryResult(
                    id=directory,
                    topics=tuple(
                        [
                            AssignedTopicResult(topic_id=topic_id, partitions=tuple(partitions))
                            for topic_id, partitions in topics.items()
                        ]
                    ),
                )
                for directory, topics in found.items()
            ]
        )
    )
