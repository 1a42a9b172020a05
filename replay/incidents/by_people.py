"""Which changes people or their tools asked for, unlike those of brokers and the controller itself.

A log written by Metalog names the command of each record. In a log of Kafka, which does not, the
type of the record decides: what a controller writes only on request counts, so not the election of
a preferred leader, for which a request and a timer write the same.
"""

from records import brokers, configs, partitions, security, topics
from records.base import Record
from records.command_names import UNASKED
from records.control import NoteRecord
from records.envelope import Envelope

_REQUESTED: frozenset[type[Record]] = frozenset(
    {
        *(topics.TopicRecord, topics.RemoveTopicRecord, topics.MoveTopicRecord),
        *(topics.NamespaceRecord, topics.RemoveNamespaceRecord),
        *(partitions.PartitionRecord, partitions.DeleteTopicPartitionsRecord),
        partitions.CancelDeleteTopicPartitionsRecord,
        *(configs.ConfigRecord, configs.ClientQuotaRecord, configs.FeatureLevelRecord),
        *(security.AccessControlEntryRecord, security.RemoveAccessControlEntryRecord),
        *(security.UserScramCredentialRecord, security.RemoveUserScramCredentialRecord),
        security.DelegationTokenRecord,
        *(brokers.UnregisterBrokerRecord, brokers.UnregisterControllerRecord),
    }
)


def is_by_people(row: Envelope) -> bool:
    """True if a person or a tool asked for a record; notes, which change nothing, do not count."""
    record, origin = row.payload, row.origin
    if isinstance(record, NoteRecord):
        return False
    if origin is not None and origin.command is not None:
        return origin.command not in UNASKED
    if isinstance(record, partitions.PartitionChangeRecord):
        # A reassignment begins; its later steps have fewer replicas to add or to remove.
        return bool(record.adding_replicas or record.removing_replicas)
    return type(record) in _REQUESTED
