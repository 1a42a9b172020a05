"""The request handlers of a broker's listener: respond locally, or forward to the controller."""

from collections.abc import Callable, Mapping
from functools import partial

from msgspec.structs import replace

from api.broker.authorization import Authorization
from api.broker.cluster import Cluster
from api.broker.forwarding import Forward, forwarding_handlers
from api.broker.topic_creation import TopicCreation
from api.kafka import apis, groups
from api.kafka.apis import Api
from api.kafka.dispatch import DispatchTable, Handler
from api.kafka.envelopes import is_own_question, is_question
from api.kafka.features import Features
from api.kafka.fields import Response
from api.kafka.frames import RequestFrame
from api.kafka.large_requests import ITEMS_A_TURN
from api.kafka.messages.metadata import MetadataRequest, MetadataResponse, MetadataTopic
from api.kafka.messages.records_io import NOT_A_REPLICA, FetchRequest, ProduceRequest
from api.kafka.metadata import metadata_response
from api.kafka.request_order import Turn
from api.security.listeners import LOCAL, ListenerAddress
from controller.authorization.caller import Caller
from controller.turns_for_others import leave_turns


def broker_dispatch(
    cluster_id: str,
    cluster: Cluster,
    authorization: Authorization,
    own: Mapping[Api, Handler],
    forward: Forward,
    *,
    listener: ListenerAddress = LOCAL,
    strict_modes: bool = False,
    creation: TopicCreation | None = None,
) -> DispatchTable:
    """Return a listener's handlers, which answer locally or forward to the controller.

    Args:
        own: More handlers of requests that the broker answers itself.
        forward: Sends a client's request to the controller.
        strict_modes: Report no leader for READ_ONLY partitions to clients that do not know modes.
        creation: Creates missing topics that clients request in Metadata; None: no topic is
            created.
    """

    async def metadata(frame: RequestFrame, caller: Caller) -> Response:
        assert isinstance(frame.body, MetadataRequest)
        access = authorization.access(caller)
        respond = partial(
            metadata_response,
            cluster,
            version=frame.version,
            cluster_id=cluster_id,
            access=access,
            strict=strict_modes,
            listener=listener,
        )
        response = await _in_turns(frame.body, respond)
        if creation is None:
            return response
        return creation.answered(frame, caller, access, response)

    return DispatchTable(
        handlers={
            **groups.handlers(authorization.access, partial(cluster.nodes, listener)),
            **forwarding_handlers(forward),
            **own,
            apis.METADATA: metadata,
        },
        is_from_broker=_is_from_follower,
        is_question=is_question,
        turn=_turn,
        features=lambda: Features(levels=authorization.levels, offset=cluster.metadata_offset),
    )


async def _in_turns(
    request: MetadataRequest, respond: Callable[[MetadataRequest], MetadataResponse]
) -> MetadataResponse:
    """Return the response to a Metadata request; between many topics, other requests have turns."""
    topics = request.topics or ()
    if len(topics) <= ITEMS_A_TURN:
        return respond(request)
    found: list[MetadataTopic] = []
    for start in range(0, len(topics), ITEMS_A_TURN):
        some = topics[start : start + ITEMS_A_TURN]
        response = respond(replace(request, topics=some))
        found += response.topics
        await leave_turns()
    return replace(response, topics=tuple(found))


def _turn(frame: RequestFrame) -> Turn:
    # A partition's log appends in the order in which its writes begin.
    if frame.api == apis.PRODUCE:
        return Turn.TOGETHER if _begins_at_once(frame) else Turn.ALONE
    if is_own_question(frame):
        return Turn.ASIDE
    return Turn.ALONE


def _begins_at_once(frame: RequestFrame) -> bool:
    """False if the writes of a Produce request begin in several turns of the event loop."""
    if not isinstance(frame.body, ProduceRequest):
        return True
    return sum(len(topic.partition_data) for topic in frame.body.topic_data) < ITEMS_A_TURN


def _is_from_follower(frame: RequestFrame) -> bool:
    """True if the request comes from a follower: its replica id is not negative."""
    if isinstance(frame.body, FetchRequest):
        return frame.body.follower >= 0
    replica_id: int = getattr(frame.body, "replica_id", NOT_A_REPLICA)
    return replica_id >= 0
