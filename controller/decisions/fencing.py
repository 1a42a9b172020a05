"""Fencing and unfencing a broker on an operator's word.

A broker's process says for itself whether it can serve; this speaks for one that has none, as in a
log that is kept without brokers. A running process has its way with its next heartbeat.

Source: KIP-631 (fencing).
"""

from controller.decisions.context import Context
from controller.decisions.heartbeats import Heartbeat, HeartbeatReply, heartbeat
from controller.request import Request
from controller.result import ControllerResult
from records.errors import RequestError


class SetFencing(Request["HeartbeatReply"], frozen=True, kw_only=True):
    """A request to fence a broker, or to let it serve."""

    broker_id: int
    fenced: bool


def set_fencing(context: Context, request: SetFencing) -> ControllerResult[HeartbeatReply]:
    """Decide as on a heartbeat of a broker that has followed the whole log.

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
