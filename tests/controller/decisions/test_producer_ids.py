"""Blocks of producer ids."""

from msgspec.structs import replace

from controller.decisions.brokers.producer_ids import (
    AllocateProducerIds,
    ProducerIdBlock,
    allocate_producer_ids,
)
from records.configs import ProducerIdsRecord
from tests.controller.cluster import Cluster


def _asked(cluster: Cluster) -> AllocateProducerIds:
    broker = cluster.image.broker(1)
    assert broker is not None
    return AllocateProducerIds(broker_id=1, broker_epoch=broker.broker_epoch)


def test_blocks_follow_each_other() -> None:
    cluster = Cluster()
    cluster.add_brokers(1)
    request = _asked(cluster)
    assert cluster.do(allocate_producer_ids, request) == ProducerIdBlock(0, 1_000)
    assert cluster.do(allocate_producer_ids, request) == ProducerIdBlock(1_000, 1_000)


def test_process_of_before_gets_no_block() -> None:
    cluster = Cluster()
    cluster.add_brokers(1)
    request = _asked(cluster)
    stale = replace(request, broker_epoch=request.broker_epoch - 1)
    assert cluster.refused(allocate_producer_ids, stale).code == "STALE_BROKER_EPOCH"


def test_the_last_id_is_never_given_twice() -> None:
    cluster = Cluster()
    cluster.add_brokers(1)
    request = _asked(cluster)
    last = ProducerIdsRecord(broker_id=1, broker_epoch=1, next_producer_id=2**63 - 1_000)
    cluster.write([last])
    assert cluster.refused(allocate_producer_ids, request).code == "UNKNOWN_SERVER_ERROR"
