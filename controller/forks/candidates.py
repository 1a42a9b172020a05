"""Candidate triggers: requests that may have caused records, by the records' types and keys.

A candidate uses only fields that a request contains: the ISR that a leader proposes, the replicas
of a new partition, the values of configs. It never uses a field that the decision computes.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import takewhile
from typing import Any

from msgspec.structs import replace

from controller.asked.asked import BoundDecision
from controller.decisions.brokers.fencing import SetFencing, set_fencing
from controller.decisions.brokers.heartbeats import FENCE, UNFENCE, Heartbeat, heartbeat
from controller.decisions.brokers.isr_proposals import (
    AlterPartition,
    IsrMember,
    PartitionAlteration,
    alter_partition,
)
from controller.decisions.brokers.registrations import (
    RegisterBroker,
    register_broker,
    unregister_broker,
)
from controller.decisions.configs.changes import (
    AlterConfigs,
    ConfigChange,
    Operation,
    ResourceChange,
    alter_configs,
)
from controller.decisions.partitions.assignments import Assignment
from controller.decisions.partitions.elections import ElectLeaders, elect_leaders
from controller.decisions.partitions.partition_change import LEADER_UNCHANGED
from controller.decisions.partitions.reassignments import (
    AlterReassignments,
    PartitionTarget,
    alter_reassignments,
)
from controller.decisions.topics.growth import CreatePartitions, TopicGrowth, create_partitions
from controller.decisions.topics.topics import (
    CreateTopics,
    DeleteTopics,
    NewTopic,
    create_topics,
    delete_topics,
)
from controller.forks.trigger import Trigger
from records import brokers, configs, partitions, topics
from records.base import Record
from replay.image.metadata import MetadataImage
from replay.image.partitions import Partition

_Candidates = Iterator[Trigger]
_Records = Sequence[Any]


def _run(records: _Records, of: type[Record]) -> list[Any]:
    return list(takewhile(lambda record: isinstance(record, of), records))


def _about_broker(records: _Records, image: MetadataImage) -> _Candidates:
    """Yield the triggers that a record about a broker may have, by its type."""
    record = records[0]
    match record:
        case brokers.FenceBrokerRecord(id=broker_id):
            yield _fencing(broker_id, fenced=True)
        case brokers.UnfenceBrokerRecord(id=broker_id):
            yield _fencing(broker_id, fenced=False)
        case brokers.BrokerRegistrationChangeRecord(fenced=change) if change in (FENCE, UNFENCE):
            yield _fencing(record.broker_id, fenced=change == FENCE)
        case brokers.BrokerRegistrationChangeRecord(in_controlled_shutdown=1):
            yield from _shutdown(record.broker_id, image)
        case brokers.RegisterBrokerRecord():
            yield _registration(record, image)
        case brokers.UnregisterBrokerRecord(broker_id=broker_id):
            bound = BoundDecision("brokers unregister", unregister_broker, broker_id)
            yield Trigger(bound, f"broker {broker_id} is unregistered")


def _fencing(broker_id: int, *, fenced: bool) -> Trigger:
    request = SetFencing(broker_id=broker_id, fenced=fenced)
    what = "is fenced" if fenced else "is unfenced"
    bound = BoundDecision("brokers fence", set_fencing, request)
    return Trigger(bound, f"broker {broker_id} {what}", leaving=broker_id if fenced else None)


def _shutdown(broker_id: int, image: MetadataImage) -> _Candidates:
    broker = image.broker(broker_id)
    if broker is not None:
        request = Heartbeat(
            broker_id=broker_id,
            broker_epoch=broker.broker_epoch,
            metadata_offset=broker.broker_epoch,
            want_shutdown=True,
        )
        bound = BoundDecision("heartbeat", heartbeat, request)
        yield Trigger(bound, f"broker {broker_id}'s request to shut down", leaving=broker_id)


def _registration(record: brokers.RegisterBrokerRecord, image: MetadataImage) -> Trigger:
    """Return the trigger for a registration record.

    The previous process is assumed to have stopped cleanly if it was told to shut down.
    """
    old = image.broker(record.broker_id)
    is_clean = old is not None and old.fenced and old.in_controlled_shutdown
    return Trigger(
        BoundDecision(
            "register",
            _register,
            RegisterBroker(
                broker_id=record.broker_id,
                cluster_id="",
                incarnation_id=record.incarnation_id,
                end_points=record.end_points,
                features=record.features,
                rack=record.rack,
                log_dirs=record.log_dirs,
                previous_broker_epoch=old.broker_epoch if old is not None and is_clean else -1,
            ),
        ),
        f"broker {record.broker_id} registers",
    )


def _register(context: Any, request: RegisterBroker) -> Any:
    return register_broker(context, replace(request, cluster_id=context.settings.cluster_id))


def _partition_changes(records: _Records, image: MetadataImage) -> _Candidates:
    changes = _run(records, partitions.PartitionChangeRecord)
    following = records[len(changes) :]
    if following and type(following[0]) in _ENDS_A_CHANGE:
        yield from _about_broker(following, image)
    first = changes[0]
    old = image.partition(first.topic_id, first.partition_id)
    if old is None:
        return
    if first.isr is not None and first.leader == LEADER_UNCHANGED:
        yield from _wishes(changes, old.leader, image)
    if first.isr is None and first.leader == old.replicas[0]:
        yield _preferred_elections(changes)
    if first.adding_replicas or first.removing_replicas:
        yield _reassignments(changes, image)
    if first.leader != LEADER_UNCHANGED and old.leader >= 0:
        yield from _shutdown(old.leader, image)


def _wishes(changes: _Records, leader: int, image: MetadataImage) -> _Candidates:
    """Yield two candidates: an AlterPartition request for all changes, and one for the first only.

    The changes end before the first that `leader`, the sender, cannot have requested.
    """
    wishes = []
    for change in changes:
        old = image.partition(change.topic_id, change.partition_id)
        if old is None or old.leader != leader or change.isr is None:
            break
        wishes.append(_wish(change, old))
    broker = image.broker(leader)
    for count in dict.fromkeys((len(wishes), 1)):
        if broker is not None and wishes:
            request = AlterPartition(
                broker_id=leader, broker_epoch=broker.broker_epoch, partitions=tuple(wishes[:count])
            )
            bound = BoundDecision("alter partition", alter_partition, request)
            yield Trigger(bound, f"broker {leader}'s request to change ISRs")


def _wish(change: partitions.PartitionChangeRecord, old: Partition) -> PartitionAlteration:
    assert change.isr is not None, "a change of the ISR names it"
    recovery = change.leader_recovery_state
    return PartitionAlteration(
        topic_id=change.topic_id,
        partition_id=change.partition_id,
        leader_epoch=old.leader_epoch,
        partition_epoch=old.partition_epoch,
        new_isr=tuple([IsrMember(broker_id) for broker_id in change.isr]),
        leader_recovery_state=old.leader_recovery_state if recovery < 0 else recovery,
    )


def _preferred_elections(changes: _Records) -> Trigger:
    of = takewhile(lambda change: change.isr is None and change.replicas is None, changes)
    request = ElectLeaders(partitions=tuple([(c.topic_id, c.partition_id) for c in of]))
    return Trigger(
        BoundDecision("leaders elect", elect_leaders, request), "preferred leaders are elected"
    )


def _reassignments(changes: _Records, image: MetadataImage) -> Trigger:
    targets = []
    for change in changes:
        old = image.partition(change.topic_id, change.partition_id)
        replicas = change.replicas or (old.replicas if old is not None else ())
        leaving = change.removing_replicas or ()
        target = tuple([replica for replica in replicas if replica not in leaving])
        targets.append(
            PartitionTarget(
                topic=change.topic_id, partition_id=change.partition_id, broker_ids=target
            )
        )
    request = AlterReassignments(partitions=tuple(targets))
    return Trigger(
        BoundDecision("reassignments alter", alter_reassignments, request), "partitions are moved"
    )


def _creation(records: _Records, image: MetadataImage) -> _Candidates:
    """Yield two candidates: a request that creates all topics, and one for the first topic only."""
    found: list[NewTopic] = []
    rest = list(records)
    while rest and isinstance(rest[0], topics.TopicRecord):
        topic = rest[0]
        values = _run(rest[1:], configs.ConfigRecord)
        new = _run(rest[1 + len(values) :], partitions.PartitionRecord)
        rest = rest[1 + len(values) + len(new) :]
        found.append(
            NewTopic(
                name=topic.name,
                topic_id=topic.topic_id,
                assignments=tuple([Assignment(p.partition_id, p.replicas) for p in new]),
                configs=tuple([(each.name, each.value) for each in values]),
            )
        )
    for count in dict.fromkeys((len(found), 1)):
        names = ", ".join(topic.name for topic in found[:count])
        request = CreateTopics(topics=tuple(found[:count]))
        yield Trigger(
            BoundDecision("topics create", create_topics, request),
            f"topics are created, with the placement of the log: {names}",
        )


def _growth(records: _Records, image: MetadataImage) -> _Candidates:
    first = records[0]
    of_topic = takewhile(
        lambda each: each.topic_id == first.topic_id, _run(records, partitions.PartitionRecord)
    )
    new = [each.replicas for each in of_topic]
    request = TopicGrowth(
        topic=first.topic_id, partitions=first.partition_id + len(new), assignments=tuple(new)
    )
    yield Trigger(
        BoundDecision("partitions create", create_partitions, CreatePartitions(topics=(request,))),
        "partitions are added, with the placement of the log",
    )


def _deletion(records: _Records, image: MetadataImage) -> _Candidates:
    removed = _run(records, topics.RemoveTopicRecord)
    for count in dict.fromkeys((len(removed), 1)):
        request = DeleteTopics(topics=tuple([each.topic_id for each in removed[:count]]))
        bound = BoundDecision("topics delete", delete_topics, request)
        yield Trigger(bound, "topics are deleted")


def _configs(records: _Records, image: MetadataImage) -> _Candidates:
    """Yield requests for config changes and, if a topic's record follows, for the topic's creation.

    Kafka 3.3 wrote the configs of a new topic before its TopicRecord.
    """
    values = _run(records, configs.ConfigRecord)
    following = records[len(values) :]
    if following and isinstance(following[0], topics.TopicRecord):
        yield from _creation([following[0], *values, *following[1:]], image)
    changes: dict[tuple[int, str], list[ConfigChange]] = {}
    for each in _run(records, configs.ConfigRecord):
        operation = Operation.DELETE if each.value is None else Operation.SET
        change = ConfigChange(each.name, each.value, operation)
        changes.setdefault((each.resource_type, each.resource_name), []).append(change)
    resources = [
        ResourceChange(resource_type=of, resource_name=name, changes=tuple(each))
        for (of, name), each in changes.items()
    ]
    for count in dict.fromkeys((len(resources), 1)):
        request = AlterConfigs(resources=tuple(resources[:count]))
        yield Trigger(BoundDecision("configs alter", alter_configs, request), "configs are set")


_ENDS_A_CHANGE = frozenset(
    {
        brokers.FenceBrokerRecord,
        brokers.RegisterBrokerRecord,
        brokers.UnregisterBrokerRecord,
        brokers.BrokerRegistrationChangeRecord,
    }
)

CANDIDATES: dict[type[Record], Callable[[_Records, MetadataImage], _Candidates]] = {
    brokers.FenceBrokerRecord: _about_broker,
    brokers.UnfenceBrokerRecord: _about_broker,
    brokers.BrokerRegistrationChangeRecord: _about_broker,
    brokers.RegisterBrokerRecord: _about_broker,
    brokers.UnregisterBrokerRecord: _about_broker,
    partitions.PartitionChangeRecord: _partition_changes,
    partitions.PartitionRecord: _growth,
    topics.TopicRecord: _creation,
    topics.RemoveTopicRecord: _deletion,
    configs.ConfigRecord: _configs,
}
"""For each type of first record, a function that yields the triggers that may have caused it."""
