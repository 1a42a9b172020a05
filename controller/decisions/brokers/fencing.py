"""Fencing and unfencing of brokers by an operator.

A broker process requests its state in its heartbeats. Fencing by an operator is for logs that are
used without broker processes; a running process overrides it with its next heartbeat.

Source: KIP-631 (fencing).
"""

from controller.decisions.brokers.heartbeats import Heartbeat, HeartbeatReply, heartbeat
from controller.decisions.context.context import Context
from controller.decisions.request import Request
from controller.results.result import ControllerResult
from records.errors import RequestError


class SetFencing(Request["HeartbeatReply"], frozen=True, kw_only=True):
    """A request to fence or unfence a broker."""

    broker_id: int
    fenced: bool


def set_fencing(context: Context, request: SetFencing) -> ControllerResult[HeartbeatReply]:
    """Fence or unfence a broker.

    The decision is the same as on a heartbeat of a broker that has applied the whole log and
    requests this state.

    Raises:
        RequestError: BROKER_ID_NOT_REGISTERED.
    """
    broker = context.image.broker(request.broker_id)
    if broker is None:
        raise RequestError(
            "BROKER_ID_NOT_REGISTERED", f"broker {request.broker_id} is not registered"
        )
    spoken = Heartbeat(
        broker_id=broker.broker_id,
        broker_epoch=broker.broker_epoch,
        metadata_offset=context.next_offset - 1,
        want_fence=request.fenced,
    )
    return heartbeat(context, spoken)
