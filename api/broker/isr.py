"""Leaders tell the controller which followers are in sync, whenever that has changed."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from api.broker.replica import Replica
from api.broker.replicas import Replicas, now_ms
from api.kafka.errors import NONE, name_of
from api.kafka.messages.brokers import (
    AlteredPartition,
    AlteredTopic,
    AlterPartitionResponse,
    IsrBroker,
)
from records.base import Uuid
from records.errors import RequestError, UnavailableError

log = logging.getLogger(__name__)

_CHECK_S = 0.1

Alter = Callable[[tuple[AlteredTopic, ...]], Awaitable[AlterPartitionResponse]]


async def keep_isr(
    replicas: Replicas, alter: Alter, *, lag_ms_max: int, is_live: Callable[[int], bool]
) -> None:
    """Look after the ISR of every partition led here, for ever.

    A change is in force once the controller has written it; one that it refuses is decided anew
    when it has said what is true now.
    """
    while True:
        await asyncio.sleep(_CHECK_S)
        wanted = {}
        for replica in replicas:
            replica.pending_isr = replica.wanted_isr(now_ms(), lag_ms_max, is_live)
            if replica.pending_isr is not None:
                wanted[replica.metadata.topic_id, replica.metadata.partition] = replica
        if wanted:
            await _ask(wanted, alter)


async def _ask(wanted: dict[tuple[Uuid, int], Replica], alter: Alter) -> None:
    try:
        response = await alter(tuple([_altered(replica) for replica in wanted.values()]))
    except (RequestError, UnavailableError) as error:
        log.info("the ISR was not changed: %s", error)
        response = AlterPartitionResponse()
    for topic in response.topics:
        for result in topic.partitions:
            replica = wanted[topic.topic_id, result.partition_index]
            if result.error_code == NONE:
                if result.leader_epoch == replica.leader_epoch:
                    replica.isr_is(result.isr, result.partition_epoch)
            else:
                log.info(
                    "%s: the ISR was not changed: %s", replica.path, name_of(result.error_code)
                )
    for replica in wanted.values():
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
