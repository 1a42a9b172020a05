"""ISR changes: leaders propose to the controller which followers are in sync."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

import msgspec

from api.broker.replica import Replica, monotonic_ms
from api.broker.replicas import Replicas
from api.kafka.errors import CODES, NONE, name_of
from api.kafka.messages.brokers import (
    AlteredPartition,
    AlteredTopic,
    AlterPartitionResponse,
    IsrBroker,
)
from records.base import Uuid
from records.errors import Outcome, RequestError, UnavailableError

log = logging.getLogger(__name__)

_CHECK_S = 0.1

_NOT_MADE = frozenset({CODES["INELIGIBLE_REPLICA"]})
"""Errors that prove that no earlier attempt succeeded: the controller raises them only after it has
checked that the partition has not changed since."""

Alter = Callable[[tuple[AlteredTopic, ...]], Awaitable[AlterPartitionResponse]]


class _Proposal(msgspec.Struct, frozen=True):
    """A proposal of a replica's pending ISR.

    `is_retry`: the same ISR was proposed before, and that proposal may have succeeded.
    """

    replica: Replica
    is_retry: bool


async def keep_isr(
    replicas: Replicas, alter: Alter, *, lag_ms_max: int, is_live: Callable[[int], bool]
) -> None:
    """Maintain the ISR of every partition that this broker leads. Never returns.

    A proposed ISR stays pending, and is proposed again, until the controller has answered or sent a
    newer state. While it is pending, its members count for the high watermark, because the
    controller may elect one of them.

    Args:
        alter: Sends the proposals to the controller.
        lag_ms_max: A follower that is behind for longer leaves the ISR, in ms.
        is_live: Returns True if the broker with this id is live.
    """
    while True:
        await asyncio.sleep(_CHECK_S)
        proposals = {}
        for replica in replicas:
            is_retry = replica.pending_isr is not None
            if not is_retry:
                replica.pending_isr = replica.wanted_isr(monotonic_ms(), lag_ms_max, is_live)
            if replica.pending_isr is not None:
                key = replica.metadata.topic_id, replica.metadata.partition
                proposals[key] = _Proposal(replica, is_retry)
        if proposals:
            await _propose(proposals, alter)


async def _propose(proposals: dict[tuple[Uuid, int], _Proposal], alter: Alter) -> None:
    try:
        response = await alter(tuple([_altered(p.replica) for p in proposals.values()]))
    except (RequestError, UnavailableError) as error:
        log.info("the ISR was not changed: %s", error)
        for proposal in proposals.values():
            if error.outcome is Outcome.NOTHING and not proposal.is_retry:
                proposal.replica.pending_isr = None
        return
    for topic in response.topics:
        for result in topic.partitions:
            replica = proposals[topic.topic_id, result.partition_index].replica
            if result.error_code == NONE:
                if result.leader_epoch == replica.leader_epoch:
                    replica.isr_is(result.isr, result.partition_epoch)
                continue
            log.info("%s: the ISR was not changed: %s", replica.path, name_of(result.error_code))
            if result.error_code in _NOT_MADE:
                replica.pending_isr = None


def _altered(replica: Replica) -> AlteredTopic:
    state, isr = replica.state, replica.pending_isr
    assert state is not None and isr is not None, "it was noted just now"
    return AlteredTopic(
        topic_id=replica.metadata.topic_id,
        partitions=(
            AlteredPartition(
                partition_index=replica.metadata.partition,
                leader_epoch=state.leader_epoch,
                new_isr_with_epochs=tuple([IsrBroker(broker_id=b) for b in isr]),
                partition_epoch=state.zk_version,
            ),
        ),
    )
