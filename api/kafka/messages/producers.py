"""Messages that allocate producer ids, for idempotent producers.

Source: KIP-98 (InitProducerId), KIP-360 (a later epoch of a producer id), KIP-730
(AllocateProducerIds).
"""

from typing import Annotated

from api.kafka.fields import Int16, Int32, Int64, Request, Response, since

NO_PRODUCER_ID = -1
NO_PRODUCER_EPOCH = -1


class InitProducerIdRequest(Request, frozen=True, kw_only=True):
    """Request a new producer id or, for an existing producer id, a later epoch."""

    transactional_id: str | None
    transaction_timeout_ms: Int32
    producer_id: Annotated[Int64, since(3)] = NO_PRODUCER_ID
    producer_epoch: Annotated[Int16, since(3)] = NO_PRODUCER_EPOCH


class InitProducerIdResponse(Response, frozen=True, kw_only=True):
    """The producer id and epoch, or an error."""

    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    producer_id: Int64 = NO_PRODUCER_ID
    producer_epoch: Int16 = NO_PRODUCER_EPOCH


class AllocateProducerIdsRequest(Request, frozen=True, kw_only=True):
    """A broker's request for a block of producer ids."""

    broker_id: Int32
    broker_epoch: Int64


class AllocateProducerIdsResponse(Response, frozen=True, kw_only=True):
    """A block of producer ids: the first id and the number of ids, or an error."""

    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    producer_id_start: Int64 = 0
    producer_id_len: Int32 = 0
