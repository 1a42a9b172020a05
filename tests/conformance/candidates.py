"""Triggers of records that a fork copies unchanged, because (almost) no state determines them.

As in `controller.forks.candidates`, a trigger has only what a request contains: the feature levels
that a log was formatted with, the registration of a controller, the broker that needs producer ids.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Any

from controller.asked.asked import BoundDecision
from controller.decisions.brokers.controllers import RegisterController, register_controller
from controller.decisions.brokers.heartbeats import FENCE
from controller.decisions.brokers.producer_ids import AllocateProducerIds, allocate_producer_ids
from controller.decisions.context.context import Context
from controller.decisions.features.levels_in_use import (
    FeatureUpdate,
    UpdateFeatures,
    bootstrap,
    update_features,
)
from controller.forks.candidates import CANDIDATES
from controller.forks.trigger import Trigger
from controller.results.result import ControllerResult
from records import brokers, configs, control, partitions
from records.base import Record
from replay.image.metadata import MetadataImage
from replay.image.partitions import NO_LEADER

NOT_COMPARED: frozenset[type[Record]] = frozenset(
    {
        *(control.NoOpRecord, control.NoOpRunRecord, control.LeaderChangeMessage),
        *(control.SnapshotHeaderRecord, control.SnapshotFooterRecord),
        *(control.KRaftVersionRecord, control.VotersRecord),
        *(control.BeginTransactionRecord, control.EndTransactionRecord),
        *(control.AbortTransactionRecord, configs.ZkMigrationStateRecord),
    }
)
"""No decision: NoOps, control records and the bounds of transactions. And "no migration from
ZooKeeper goes on", which Kafka wrote from 3.4 to 3.9, and we write at every level."""

_Candidates = Iterator[Trigger]


def triggers_of(records: Sequence[Any], image: MetadataImage) -> _Candidates:
    """Yield the triggers that can have written the first of some records.

    There is none if that record changes nothing: then it had no trigger, or a release of Kafka
    wrote more than it needs to.
    """
    if _repeats(records[0], image):
        return
    find = _MORE.get(type(records[0])) or CANDIDATES.get(type(records[0]))
    if find is not None:
        yield from find(records, image)


def _repeats(record: Any, image: MetadataImage) -> bool:
    if isinstance(record, brokers.BrokerRegistrationChangeRecord) and record.fenced == FENCE:
        broker = image.broker(record.broker_id)
        return broker is not None and broker.fenced
    if isinstance(record, partitions.PartitionChangeRecord):
        partition = image.partition(record.topic_id, record.partition_id)
        nothing_else = record == partitions.PartitionChangeRecord(
            topic_id=record.topic_id, partition_id=record.partition_id, leader=NO_LEADER
        )
        return nothing_else and partition is not None and partition.leader == NO_LEADER
    return False


def _levels(records: Sequence[Any], image: MetadataImage) -> _Candidates:
    found = takewhile(lambda each: isinstance(each, configs.FeatureLevelRecord), records)
    levels = {each.name: each.feature_level for each in found}
    if image.feature("metadata.version") is None:
        bound = BoundDecision("bootstrap", _bootstrap, levels)
        yield Trigger(bound, "the log begins with its feature levels")
    updates = [FeatureUpdate(name=name, level=level) for name, level in levels.items()]
    request = UpdateFeatures(updates=tuple(updates))
    yield Trigger(BoundDecision("features update", update_features, request), "features are set")


def _bootstrap(context: Context, levels: Mapping[str, int]) -> ControllerResult[None]:
    records = bootstrap(context, levels).records
    kept = tuple([record for record in records if type(record) not in NOT_COMPARED])
    return ControllerResult(response=None, records=kept)


def _controller(records: Sequence[Any], image: MetadataImage) -> _Candidates:
    record: brokers.RegisterControllerRecord = records[0]
    request = RegisterController(
        controller_id=record.controller_id,
        incarnation_id=record.incarnation_id,
        end_points=record.end_points,
        features=record.features,
        zk_migration_ready=record.zk_migration_ready,
    )
    bound = BoundDecision("register controller", register_controller, request)
    yield Trigger(bound, f"controller {record.controller_id} registers")


def _producer_ids(records: Sequence[Any], image: MetadataImage) -> _Candidates:
    broker = image.broker(records[0].broker_id)
    if broker is not None:
        request = AllocateProducerIds(broker_id=broker.broker_id, broker_epoch=broker.broker_epoch)
        bound = BoundDecision("producer ids allocate", allocate_producer_ids, request)
        yield Trigger(bound, f"broker {broker.broker_id} wants producer ids")


_MORE: Mapping[type[Record], Callable[[Sequence[Any], MetadataImage], _Candidates]] = {
    configs.FeatureLevelRecord: _levels,
    configs.ProducerIdsRecord: _producer_ids,
    brokers.RegisterControllerRecord: _controller,
}
