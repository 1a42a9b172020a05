"""Describes records, except those of brokers and partitions; in the texts, %s is a plural s.

Secrets are left out: configs and credentials are described by their names only. Tokens are
described without even their ids, because a token's id is the name that a client logs in with.
"""

from collections.abc import Sequence
from typing import Any

from records import brokers, configs, control, partitions, security, topics
from records.base import Uuid
from records.metadata_versions import feature_level_text
from replay.acl_words import acl_text
from replay.image.configs import BROKER, RESOURCE_NAMES
from replay.incidents.affected_objects import affected_objects
from replay.incidents.replay_state import ReplayState

_ZK_MIGRATION = {0: "none", 1: "pre-migration", 2: "migrating", 3: "done"}


def effect_of(record: Any, state: ReplayState) -> str:
    """Return the description of a record's effect.

    Args:
        state: The state before or after the record in which the record's object exists.
    """
    if type(record) is configs.ConfigRecord:  # most of them
        return _of_config(record)
    return (
        _of_names(record, state)
        or _of_settings(record, state)
        or _of_quorum(record)
        or _of_removals(record, state)
    )


def detail_of(record: Any, state: ReplayState) -> str:
    """Return the details of a record's effect that `effect_of` leaves out, or an empty text.

    Args:
        state: As for `effect_of`.
    """
    if isinstance(record, security.AccessControlEntryRecord):
        return acl_text(record)
    if isinstance(record, security.RemoveAccessControlEntryRecord):
        acl = state.acl(record.id)
        return "" if acl is None else acl_text(acl)
    return ""


def _of_config(record: configs.ConfigRecord) -> str:
    of = RESOURCE_NAMES.get(record.resource_type, record.resource_type)
    did = "removed" if record.value is None else "set"
    if record.resource_type == BROKER and not record.resource_name:
        return f"{record.name} of all brokers {did}"
    return f"{record.name} of {of}/{record.resource_name} {did}"


def _of_names(record: Any, state: ReplayState) -> str | None:
    match record:
        case topics.TopicRecord(topic_id=topic_id):
            return f"topic {state.topic_name(topic_id)} created"
        case topics.RemoveTopicRecord(topic_id=topic_id):
            return f"topic {state.topic_name(topic_id)} deleted"
        case topics.MoveTopicRecord(topic_id=topic_id):
            return f"topic {state.topic_name(topic_id)} moved"
        case topics.NamespaceRecord(namespace_id=namespace_id):
            return f"namespace {state.namespace_name(namespace_id)} created"
        case topics.RemoveNamespaceRecord(namespace_id=namespace_id):
            return f"namespace {state.namespace_name(namespace_id)} deleted"
        case control.NoteRecord(at_offset=at_offset):
            return f"note about offset {at_offset} written"
    return None


def _of_settings(record: Any, state: ReplayState) -> str | None:
    match record:
        case configs.FeatureLevelRecord(name=name, feature_level=level):
            return f"feature {name} is {feature_level_text(name, level)}"
        case configs.ClientQuotaRecord(remove=removed):
            return f"{_object(record, state)} {'removed' if removed else 'set'}"
        case configs.ProducerIdsRecord(broker_id=broker_id, next_producer_id=end):
            return f"broker {broker_id} was given producer ids up to {end - 1}"
        case security.AccessControlEntryRecord():
            return "ACL%s created"
        case security.RemoveAccessControlEntryRecord():
            return "ACL%s removed"
        case security.UserScramCredentialRecord():
            return f"{_object(record, state)} set"
        case security.RemoveUserScramCredentialRecord():
            return f"{_object(record, state)} removed"
        case security.DelegationTokenRecord():
            return "delegation token%s created or renewed"
        case security.RemoveDelegationTokenRecord():
            return "delegation token%s removed"
    return None


def _of_quorum(record: Any) -> str | None:
    match record:
        case brokers.RegisterControllerRecord(controller_id=controller_id):
            return f"controller {controller_id} registered"
        case brokers.UnregisterControllerRecord(controller_id=controller_id):
            return f"controller {controller_id} was unregistered"
        case control.VotersRecord(voters=voters):
            ids = ", ".join(str(voter.voter_id) for voter in voters)
            return f"the voters are {ids or 'none'}"
        case control.KRaftVersionRecord(kraft_version=version):
            return f"kraft.version is {version}"
        case configs.ZkMigrationStateRecord(zk_migration_state=state):
            return f"migration from ZooKeeper: {_ZK_MIGRATION.get(state, state)}"
    return None


def _of_removals(record: Any, state: ReplayState) -> str:
    match record:
        case partitions.DeleteTopicPartitionsRecord(topic_id=topic_id, partition_ids=ids):
            return f"{_partitions(topic_id, ids, state)} to be removed"
        case partitions.CancelDeleteTopicPartitionsRecord(topic_id=topic_id, partition_ids=ids):
            return f"{_partitions(topic_id, ids, state)} to be kept after all"
        case partitions.RemovePartitionsRecord(topic_id=topic_id, partition_ids=ids):
            return f"{_partitions(topic_id, ids, state)} removed"
        case partitions.ClearElrRecord(topic_name=name):
            return f"eligible replicas of {f'topic {name}' if name else 'all topics'} cleared"
        case partitions.ReplicaDeletionRecord():
            return "step%s of deleting replicas"
        case control.UnknownRecord():
            return "record%s not understood"
    return f"{type(record).__name__}%s"


def _partitions(topic_id: Uuid, ids: Sequence[int], state: ReplayState) -> str:
    numbers = ", ".join(map(str, ids))
    return f"partition{'' if len(ids) == 1 else 's'} {numbers} of {state.topic_name(topic_id)}"


def _object(record: Any, state: ReplayState) -> str:
    """Return the name of a record's object, such as `quota user=ann/producer_byte_rate`."""
    kind, _, label = next(iter(affected_objects(record, state))).partition(":")
    return f"{kind} {label}"
