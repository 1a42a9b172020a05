"""Blocks of producer ids for brokers.

Source: KIP-730; ProducerIdControlManager of Kafka 3.9.
"""

import msgspec

from controller.decisions.brokers.registrations import checked_broker
from controller.decisions.context.context import Context
from controller.results.result import ControllerResult
from records.configs import ProducerIdsRecord
from records.errors import RequestError

BLOCK_SIZE = 1_000
"""Producer ids in a block."""

_PRODUCER_ID_MAX = 2**63 - 1


class AllocateProducerIds(msgspec.Struct, frozen=True, kw_only=True):
    """A broker's request for a block of producer ids."""

    broker_id: int
    broker_epoch: int


class ProducerIdBlock(msgspec.Struct, frozen=True):
    """A block of `size` consecutive ids, starting at `first`."""

    first: int
    size: int = BLOCK_SIZE


def allocate_producer_ids(
    context: Context, request: AllocateProducerIds
) -> ControllerResult[ProducerIdBlock]:
    """Allocate the next block of ids to a broker.

    Raises:
        RequestError: STALE_BROKER_EPOCH; UNKNOWN_SERVER_ERROR, no id is left.
    """
    checked_broker(context, request.broker_id, request.broker_epoch)
    last = context.image.producer_ids
    first = 0 if last is None else last.next_producer_id
    if first > _PRODUCER_ID_MAX - BLOCK_SIZE:
        raise RequestError("UNKNOWN_SERVER_ERROR", f"no producer ids are left after {first}")
    record = ProducerIdsRecord(
        broker_id=request.broker_id,
        broker_epoch=request.broker_epoch,
        next_producer_id=first + BLOCK_SIZE,
    )
    return ControllerResult(response=ProducerIdBlock(first), records=(record,))
