"""Names of the objects that a record touches, for events."""

from collections.abc import Iterable, Iterator
from typing import Any

from records import control, partitions, security, topics
from records.base import Record
from records.configs import ConfigRecord
from records.secrets import REDACTED
from replay.image.configs import TOPIC
from replay.image.metadata import MetadataImage
from replay.incidents.replay_state import ReplayState
from replay.time_travel.affected import AFFECTED
from replay.time_travel.kinds import KINDS
from replay.time_travel.labels import config_label, escaped

# Their names lie in the record itself.
_BY_RECORD = frozenset(
    {"acl", "quota", "scram", "controller", "feature", "cluster", "note", "config", "deletion"}
)

_NAMED_BY_STATE: frozenset[type[Record]] = frozenset(
    {
        *(topics.NamespaceRecord, topics.RemoveNamespaceRecord),
        *(topics.TopicRecord, topics.RemoveTopicRecord, topics.MoveTopicRecord),
        *(partitions.RemovePartitionsRecord, partitions.ClearElrRecord),
        *(partitions.DeleteTopicPartitionsRecord, partitions.CancelDeleteTopicPartitionsRecord),
        control.VotersRecord,
    }
)

GOING: frozenset[type[Record]] = frozenset(
    {
        *(topics.RemoveTopicRecord, topics.MoveTopicRecord, topics.RemoveNamespaceRecord),
        *(partitions.RemovePartitionsRecord, partitions.ClearElrRecord, control.VotersRecord),
        security.RemoveAccessControlEntryRecord,
    }
)
"""Record types whose objects must be named in the state before the record, not after it."""


def affected_objects(record: Any, state: ReplayState) -> Iterable[str]:
    """Return the names of the objects that a record touches.

    Args:
        state: For a record type in GOING, the state before the record; else the state after it.
    """
    if type(record) is ConfigRecord:  # most of them
        resource = record.resource_type, record.resource_name
        return (f"config:{config_label(MetadataImage.EMPTY, resource)}",)
    if type(record) in _NAMED_BY_STATE:
        return _by_state(record, state)
    return _by_record(record)


def _by_state(record: Any, state: ReplayState) -> Iterator[str]:
    match record:
        case topics.TopicRecord(topic_id=topic_id):
            yield f"topic:{state.topic_label(topic_id)}"
        case topics.NamespaceRecord() | topics.RemoveNamespaceRecord():
            yield f"namespace:{escaped(state.namespace_name(record.namespace_id))}"
        case (
            topics.RemoveTopicRecord(topic_id=topic_id) | topics.MoveTopicRecord(topic_id=topic_id)
        ):
            label = state.topic_label(topic_id)
            yield f"topic:{label}"
            for each in state.partitions(topic_id):
                yield f"partition:{label}/{each.partition_id}"
            if state.has_config((TOPIC, state.topic_name(topic_id))):
                yield f"config:topic/{label}"
        case partitions.RemovePartitionsRecord(topic_id=topic_id, partition_ids=numbers):
            label = state.topic_label(topic_id)
            yield f"topic:{label}"
            for number in numbers:
                yield f"partition:{label}/{number}"
                yield f"removal:{label}/{number}"
        case (
            partitions.DeleteTopicPartitionsRecord(topic_id=topic_id, partition_ids=numbers)
            | partitions.CancelDeleteTopicPartitionsRecord(topic_id=topic_id, partition_ids=numbers)
        ):
            label = state.topic_label(topic_id)
            yield from (f"removal:{label}/{number}" for number in numbers)
        case partitions.ClearElrRecord(topic_name=name):
            for topic_id in state.topic_ids(name):
                for each in state.partitions(topic_id):
                    if each.eligible_leader_replicas or each.last_known_elr:
                        yield f"partition:{state.topic_label(topic_id)}/{each.partition_id}"
        case control.VotersRecord(voters=voters):
            ids = (*state.voter_ids(), *(voter.voter_id for voter in voters))
            yield from (f"voter:{voter_id}" for voter_id in dict.fromkeys(ids))


def _by_record(record: Any) -> list[str]:
    image, names = MetadataImage.EMPTY, []
    for kind, keys in AFFECTED.get(type(record), {}).items():
        if kind == "token":
            names.append(f"token:{REDACTED}")
        elif kind in _BY_RECORD:
            label = KINDS[kind].label
            names += [f"{kind}:{label(image, key)}" for key in keys(record, image)]
    return names
