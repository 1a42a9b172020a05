"""Descriptions as questions to a controller: answered on the state it would decide on.

They write nothing; their answers wait until what they tell is committed.
"""

import msgspec

from controller.decisions.context import Context
from controller.decisions.lookup import TopicRef
from controller.descriptions.topics import TopicFound, TopicListing, describe_topics, list_topics
from controller.descriptions.view import View
from controller.result import ControllerResult


class ListTopics(msgspec.Struct, frozen=True, kw_only=True):
    """A question for all topics; `internal`: those that Kafka itself uses, too."""

    internal: bool = True


class DescribeTopics(msgspec.Struct, frozen=True, kw_only=True):
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


def _view(context: Context) -> View:
    return View(
        image=context.image,
        index=context.index,
        settings=context.settings,
        sessions=context.sessions,
    )
