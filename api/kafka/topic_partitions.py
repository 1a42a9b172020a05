"""DescribeTopicPartitions: topics in order of name, with a limited number of partitions per page.

Source: KIP-966; DescribeTopicPartitionsRequestHandler of Kafka 4.0.
"""

from collections.abc import Iterator, Sequence
from itertools import islice

from api.kafka.errors import code_of
from api.kafka.messages.metadata import (
    MetadataPartition,
    MetadataRequest,
    MetadataRequestTopic,
    MetadataTopic,
)
from api.kafka.messages.topic_partitions import (
    DescribedPartition,
    DescribedTopic,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    PartitionCursor,
)
from api.kafka.metadata import ImageCluster, may_see, metadata_response
from controller.authorization.authorizer import Access
from records.base import ZERO_UUID
from records.errors import RequestError
from replay.image.fields import copied
from replay.image.metadata import MetadataImage

PAGE_MAX = 2_000
"""Kafka's `max.request.partition.size.limit`."""


def described(
    request: DescribeTopicPartitionsRequest, access: Access, *, strict: bool
) -> DescribeTopicPartitionsResponse:
    """Return one page of topics and their partitions, from the image of `access`.

    Args:
        strict: Report no leader for READ_ONLY partitions.

    Raises:
        RequestError: INVALID_REQUEST, the limit or the cursor is out of range.
    """
    start = request.cursor or PartitionCursor(topic_name="", partition_index=0)
    if request.response_partition_limit < 1 or start.partition_index < 0:
        raise RequestError(
            "INVALID_REQUEST", "a limit must be at least 1, and a partition's index at least 0"
        )
    left = min(request.response_partition_limit, PAGE_MAX)
    cluster = ImageCluster(access.image)
    found: list[DescribedTopic] = []
    for name in _names(request, access, start.topic_name):
        first = start.partition_index if name == start.topic_name else 0
        if left == 0:
            return _page(found, PartitionCursor(topic_name=name, partition_index=first))
        topic = _topic(cluster, name, access, strict=strict)
        partitions = tuple(islice(_partitions(access.image, topic, first), left))
        found.append(_described(topic, partitions))
        left -= len(partitions)
        end = first + len(partitions)
        if end < len(topic.partitions):
            return _page(found, PartitionCursor(topic_name=name, partition_index=end))
    return _page(found, None)


def refused(
    request: DescribeTopicPartitionsRequest, error: RequestError
) -> DescribeTopicPartitionsResponse:
    """Return the response to a refused request, with the error code in each wanted topic."""
    code = code_of(error.code)
    return DescribeTopicPartitionsResponse(
        topics=tuple(
            [
                DescribedTopic(error_code=code, name=wanted.name, topic_id=ZERO_UUID, partitions=())
                for wanted in request.topics
            ]
        )
    )


def _names(request: DescribeTopicPartitionsRequest, access: Access, first: str) -> Sequence[str]:
    """Return the wanted (or else all visible) topic names from `first` on, sorted."""
    if request.topics:
        names = {wanted.name for wanted in request.topics}
    else:
        every = map(access.image.full_name, access.image.topics())
        names = {name for name in every if may_see(access, name)}
    return sorted(name for name in names if name >= first)


def _topic(cluster: ImageCluster, name: str, access: Access, *, strict: bool) -> MetadataTopic:
    wanted = MetadataRequest(
        topics=(MetadataRequestTopic(name=name),), include_topic_authorized_operations=True
    )
    response = metadata_response(
        cluster, wanted, version=0, cluster_id=None, access=access, strict=strict
    )
    return response.topics[0]


def _partitions(
    image: MetadataImage, topic: MetadataTopic, first: int
) -> Iterator[DescribedPartition]:
    for partition in topic.partitions[first:]:
        yield _partition(image, topic, partition)


def _partition(
    image: MetadataImage, topic: MetadataTopic, shown: MetadataPartition
) -> DescribedPartition:
    partition = image.partition(topic.topic_id, shown.partition_index)
    assert partition is not None
    return copied(
        shown,
        DescribedPartition,
        eligible_leader_replicas=partition.eligible_leader_replicas,
        last_known_elr=partition.last_known_elr,
    )


def _described(topic: MetadataTopic, partitions: tuple[DescribedPartition, ...]) -> DescribedTopic:
    return copied(topic, DescribedTopic, partitions=partitions)


def _page(
    topics: list[DescribedTopic], cursor: PartitionCursor | None
) -> DescribeTopicPartitionsResponse:
    return DescribeTopicPartitionsResponse(topics=tuple(topics), next_cursor=cursor)
