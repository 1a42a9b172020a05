"""DeletePartitions: conversion between its messages and the controller's request, both ways.

Source: KIP-694.
"""

from collections.abc import Iterable

from api.kafka.errors import (
    NONE,
    code_of,
    refusal_code,
    refusal_message,
    refusal_of,
    throttle_ms,
)
from api.kafka.messages.topics import (
    DeletePartitionsRequest,
    DeletePartitionsResponse,
    PartitionStatus,
    ShrinkingTopic,
    ShrunkTopic,
)
from controller.decisions.topics.partition_removal import (
    DeletePartitions,
    ShrinkResult,
    TopicShrink,
)
from records.errors import RequestError
from replay.image.partitions import NONE as NO_READS_NO_WRITES
from replay.image.partitions import READ_ONLY

_REFUSED = -1
"""Partition id of an error that concerns the whole topic."""


def command(request: DeletePartitionsRequest) -> DeletePartitions:
    """Return the controller's request for a DeletePartitions message."""
    return DeletePartitions(
        topics=tuple([TopicShrink(topic=t.name, partitions=t.partitions) for t in request.topics]),
        delay_ms=request.delete_partitions_delay,
    )


def message(request: DeletePartitions) -> DeletePartitionsRequest:
    """Return the DeletePartitions message for a controller's request.

    Raises:
        RequestError: INVALID_REQUEST, a topic is given by id instead of name, or the request is a
            dry run.
    """
    if request.validate_only or not all(isinstance(t.topic, str) for t in request.topics):
        raise RequestError(
            "INVALID_REQUEST",
            "Kafka's request DeletePartitions needs topic names and has no dry run; send the "
            "command with `run`",
        )
    return DeletePartitionsRequest(
        delete_partitions_delay=request.delay_ms,
        topics=tuple(
            [ShrinkingTopic(name=str(t.topic), partitions=t.partitions) for t in request.topics]
        ),
    )


def response_of(
    results: Iterable[ShrinkResult], request: DeletePartitionsRequest
) -> DeletePartitionsResponse:
    """Return the response with the result of each topic."""
    mode = READ_ONLY if request.delete_partitions_delay > 0 else NO_READS_NO_WRITES
    results = tuple(results)
    return DeletePartitionsResponse(
        throttle_time_ms=throttle_ms([result.refusal for result in results]),
        responses=tuple(
            [
                ShrunkTopic(name=result.name, partitions=_statuses(result, mode))
                for result in results
            ]
        ),
    )


def _statuses(result: ShrinkResult, mode: int) -> tuple[PartitionStatus, ...]:
    if result.refusal is None:
        return tuple(
            [PartitionStatus(partition_index=i, status_code=mode) for i in result.partition_ids]
        )
    status = PartitionStatus(
        partition_index=_REFUSED,
        error_code=refusal_code(result.refusal),
        error_message=refusal_message(result.refusal),
    )
    return (status,)


def refused(error: RequestError) -> DeletePartitionsResponse:
    """Return the response to a request that is refused as a whole."""
    return DeletePartitionsResponse(error_code=code_of(error.code), error_message=str(error))


def results_of(response: DeletePartitionsResponse) -> tuple[ShrinkResult, ...]:
    """Convert a response to the result of each topic."""
    results = []
    for topic in response.responses:
        refused = [status for status in topic.partitions if status.error_code != NONE]
        ids = tuple([s.partition_index for s in topic.partitions if s.error_code == NONE])
        refusal = refusal_of(refused[0].error_code, refused[0].error_message) if refused else None
        results.append(ShrinkResult(name=topic.name, partition_ids=ids, refusal=refusal))
    return tuple(results)
