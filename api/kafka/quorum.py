"""DescribeQuorum: the controller is the only voter of the metadata log, brokers are observers."""

from collections.abc import Iterable

from api.kafka.errors import code_of
from api.kafka.messages.quorum import (
    DescribedQuorum,
    DescribedQuorumTopic,
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    QuorumNode,
    QuorumReplica,
    QuorumTopic,
)
from controller.descriptions.brokers import BrokerDescription, ListBrokers
from records.base import ZERO_UUID, Uuid
from records.errors import RequestError

METADATA_TOPIC = "__cluster_metadata"
METADATA_TOPIC_ID = Uuid((1).to_bytes(16, "big"))
_PARTITION = 0
_UNKNOWN = -1


def question(request: DescribeQuorumRequest) -> ListBrokers:
    """Return the query for a DescribeQuorum.

    Raises:
        RequestError: INVALID_REQUEST, the request contains no partition.
    """
    if not request.topics:
        raise RequestError("INVALID_REQUEST", f"no topic is named; ask for {METADATA_TOPIC}")
    return ListBrokers()


def described(
    request: DescribeQuorumRequest,
    brokers: Iterable[BrokerDescription],
    *,
    node_id: int,
    leader_epoch: int,
    end_offset: int,
    now_ms: int,
) -> DescribeQuorumResponse:
    """Return the response with the quorum of each requested partition.

    Args:
        end_offset: End of the committed records, exclusive; it is also the end of the voter's log.
    """
    leader = QuorumReplica(
        replica_id=node_id, log_end_offset=end_offset, last_caught_up_timestamp=now_ms
    )
    quorum = DescribedQuorum(
        partition_index=_PARTITION,
        leader_id=node_id,
        leader_epoch=leader_epoch,
        high_watermark=end_offset,
        current_voters=(leader,),
        observers=tuple([_observer(broker) for broker in brokers]),
    )
    return DescribeQuorumResponse(
        topics=tuple([_topic(topic, quorum) for topic in request.topics]),
        nodes=(QuorumNode(node_id=node_id, listeners=()),),
    )


def refused(error: RequestError) -> DescribeQuorumResponse:
    """Return the response to a request that is refused as a whole."""
    return DescribeQuorumResponse(error_code=code_of(error.code), error_message=str(error))


def _observer(described: BrokerDescription) -> QuorumReplica:
    applied, directories = described.applied_offset, described.broker.log_dirs
    return QuorumReplica(
        replica_id=described.broker.broker_id,
        replica_directory_id=directories[0] if directories else ZERO_UUID,
        log_end_offset=_UNKNOWN if applied is None else applied + 1,
    )


def _topic(topic: QuorumTopic, quorum: DescribedQuorum) -> DescribedQuorumTopic:
    is_log = topic.topic_name == METADATA_TOPIC
    return DescribedQuorumTopic(
        topic_name=topic.topic_name,
        partitions=tuple(
            [
                quorum
                if is_log and partition.partition_index == _PARTITION
                else _unknown(partition.partition_index)
                for partition in topic.partitions
            ]
        ),
    )


def _unknown(partition_index: int) -> DescribedQuorum:
    return DescribedQuorum(
        partition_index=partition_index,
        error_code=code_of("UNKNOWN_TOPIC_OR_PARTITION"),
        leader_id=_UNKNOWN,
        leader_epoch=_UNKNOWN,
        high_watermark=_UNKNOWN,
        current_voters=(),
        observers=(),
    )
