"""Descriptions as questions to a controller: answered on the state it would decide on.

They write nothing; their answers wait until what they tell is committed.
"""

from random import Random

import msgspec

from controller.decisions.context import Context
from controller.decisions.lookup import TopicRef
from controller.decisions.sessions import Sessions
from controller.descriptions.brokers import BrokerDescription, describe_broker, list_brokers
from controller.descriptions.partitions import PartitionFound, describe_partitions
from controller.descriptions.progress import (
    OngoingReassignment,
    OngoingRemoval,
    list_reassignments,
    list_removals,
)
from controller.descriptions.topics import TopicFound, TopicListing, describe_topics, list_topics
from controller.descriptions.view import View
from controller.request import Request
from controller.result import ControllerResult


class ListTopics(Request["tuple[TopicListing, ...]"], frozen=True, kw_only=True):
    """A question for all topics; `internal`: those that Kafka itself uses, too."""

    internal: bool = True


class DescribeTopics(Request["TopicsDescribed"], frozen=True, kw_only=True):
    """A question for some topics; none named means all."""

    topics: tuple[TopicRef, ...] = ()


class TopicsDescribed(msgspec.Struct, frozen=True, kw_only=True):
    """Topics, and the cluster they are of; `controller_id` is that of who answers."""

    cluster_id: str
    controller_id: int
    topics: tuple[TopicFound, ...]


def topics_listed(
    context: Context, request: ListTopics
) -> ControllerResult[tuple[TopicListing, ...]]:
    """List topics, ordered by name."""
    return ControllerResult(response=list_topics(_view(context), internal=request.internal))


def topics_described(
    context: Context, request: DescribeTopics
) -> ControllerResult[TopicsDescribed]:
    """Describe topics, in the order asked for."""
    return ControllerResult(
        response=TopicsDescribed(
            cluster_id=context.settings.cluster_id,
            controller_id=context.settings.node_id,
            topics=describe_topics(_view(context), request.topics),
        )
    )


class ListBrokers(Request["tuple[BrokerDescription, ...]"], frozen=True, kw_only=True):
    """A question for all registered brokers."""


class DescribeBroker(Request["BrokerDescription"], frozen=True):
    """A question for one broker."""

    broker_id: int


class ListReassignments(Request["tuple[OngoingReassignment, ...]"], frozen=True, kw_only=True):
    """A question for all partitions that move."""


class ListRemovals(Request["tuple[OngoingRemoval, ...]"], frozen=True, kw_only=True):
    """A question for the partitions on their way out, of one topic or (None) of all."""

    topic: TopicRef | None = None


class DescribePartitions(Request["tuple[PartitionFound, ...]"], frozen=True, kw_only=True):
    """A question for partitions: of all topics, of one, or one of them."""

    topic: TopicRef | None = None
    partition_id: int | None = None


def brokers_listed(
    context: Context, request: ListBrokers
) -> ControllerResult[tuple[BrokerDescription, ...]]:
    """Describe brokers, ordered by id."""
    return ControllerResult(response=list_brokers(_view(context)))


def broker_described(context: Context, broker_id: int) -> ControllerResult[BrokerDescription]:
    """Describe one broker.

    Raises:
        RequestError: BROKER_ID_NOT_REGISTERED.
    """
    return ControllerResult(response=describe_broker(_view(context), broker_id))


def reassignments_listed(
    context: Context, request: ListReassignments
) -> ControllerResult[tuple[OngoingReassignment, ...]]:
    """List what moves, ordered by topic."""
    return ControllerResult(response=list_reassignments(_view(context)))


def removals_listed(
    context: Context, request: ListRemovals
) -> ControllerResult[tuple[OngoingRemoval, ...]]:
    """List what is on its way out, ordered by topic.

    Raises:
        RequestError: UNKNOWN_TOPIC_OR_PARTITION or UNKNOWN_TOPIC_ID.
    """
    return ControllerResult(response=list_removals(_view(context), request.topic))


def partitions_described(
    context: Context, request: DescribePartitions
) -> ControllerResult[tuple[PartitionFound, ...]]:
    """Describe partitions, ordered by topic.

    Raises:
        RequestError: UNKNOWN_TOPIC_OR_PARTITION or UNKNOWN_TOPIC_ID.
    """
    found = describe_partitions(_view(context), request.topic, request.partition_id)
    return ControllerResult(response=found)


def context_of(view: View) -> Context:
    """Return what a question is answered on where no controller is in office."""
    return Context(
        image=view.image,
        index=view.index,
        sessions=view.sessions or Sessions(timeout_ms=view.settings.session_timeout_ms),
        settings=view.settings,
        rng=Random(0),
        now_ms=view.image.provenance.timestamp,
        next_offset=view.image.provenance.next_offset,
    )


def _view(context: Context) -> View:
    return View(
        image=context.image,
        index=context.index,
        settings=context.settings,
        sessions=context.sessions,
    )
