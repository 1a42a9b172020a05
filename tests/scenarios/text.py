"""Records as lines of text: names instead of ids, and only the fields that are set."""

from typing import Any

from records import brokers, configs, partitions, security, topics
from records.base import Record, Uuid
from records.json import to_json
from replay.image.metadata import MetadataImage
from replay.image.quotas import quota_entity
from replay.time_travel.labels import entity_text


def record_lines(
    records: tuple[Record, ...], base_offset: int, before: MetadataImage, after: MetadataImage
) -> list[str]:
    """Return a line per record: offset, type, and fields.

    Args:
        before, after: The images before and after the records, for the names of objects.
    """
    return [
        f"{offset} {type(record).__name__} {_says(record, before, after)}"
        for offset, record in enumerate(records, base_offset)
    ]


def _says(record: Record, before: MetadataImage, after: MetadataImage) -> str:
    def name(topic_id: Uuid) -> str:
        for image in (after, before):
            topic = image.topic(topic_id)
            if topic is not None:
                return image.full_name(topic)
        return "?"

    match record:
        case topics.TopicRecord(topic_id=i) | topics.MoveTopicRecord(topic_id=i):
            return name(i)
        case topics.RemoveTopicRecord(topic_id=i):
            return name(i)
        case topics.NamespaceRecord(name=full_name):
            return full_name
        case topics.RemoveNamespaceRecord(namespace_id=i):
            namespace = before.namespace(i)
            return "?" if namespace is None else namespace.name
        case partitions.PartitionRecord():
            return _partition(name(record.topic_id), record)
        case partitions.PartitionChangeRecord():
            return _partition_change(name(record.topic_id), record, after)
        case partitions.ReplicaDeletionRecord():
            where = f"{name(record.topic_id)}-{record.partition_id}"
            return f"{where} broker={record.broker_id} state={record.state}"
        case partitions.DeleteTopicPartitionsRecord():
            ids = _list(record.partition_ids)
            return f"{name(record.topic_id)} partitions={ids} delay_ms={record.delay_ms}"
        case (
            partitions.RemovePartitionsRecord(topic_id=i, partition_ids=ids)
            | partitions.CancelDeleteTopicPartitionsRecord(topic_id=i, partition_ids=ids)
        ):
            return f"{name(i)} partitions={_list(ids)}"
        case configs.ConfigRecord():
            return f"{record.resource_type}/{record.resource_name} {record.name}={record.value}"
        case configs.ClientQuotaRecord():
            entity = entity_text(quota_entity(record))
            return f"{entity} {record.key}={'none' if record.remove else record.value}"
        case security.AccessControlEntryRecord():
            return f"{record.principal} {record.resource_type}/{record.resource_name}"
        case security.RemoveAccessControlEntryRecord(id=i):
            acl = before.acl(i)
            return (
                "?" if acl is None else f"{acl.principal} {acl.resource_type}/{acl.resource_name}"
            )
        case security.DelegationTokenRecord():
            renewers = ",".join(record.renewers)
            expires, most = (
                at - record.issue_timestamp
                for at in (record.expiration_timestamp, record.max_timestamp)
            )
            return f"owner={record.owner} renewers=[{renewers}] expires={expires} max={most}"
        case security.RemoveDelegationTokenRecord(token_id=token_id):
            token = before.delegation_token(token_id)
            return "?" if token is None else f"owner={token.owner}"
        case security.UserScramCredentialRecord():
            return f"{record.name}/{record.mechanism} iterations={record.iterations}"
        case security.RemoveUserScramCredentialRecord():
            return f"{record.name}/{record.mechanism}"
        case brokers.RegisterBrokerRecord():
            return f"broker={record.broker_id} epoch={record.broker_epoch} fenced={record.fenced}"
        case brokers.UnregisterBrokerRecord():
            return f"broker={record.broker_id} epoch={record.broker_epoch}"
        case brokers.BrokerRegistrationChangeRecord():
            return _registration_change(record)
    return " ".join(f"{key}={value}" for key, value in to_json(record).items())


def _partition(topic: str, record: partitions.PartitionRecord) -> str:
    return (
        f"{topic}-{record.partition_id} replicas={_list(record.replicas)} "
        f"isr={_list(record.isr)} leader={record.leader}"
    )


def _partition_change(
    topic: str, record: partitions.PartitionChangeRecord, after: MetadataImage
) -> str:
    said = [f"{topic}-{record.partition_id}"]
    for field, unset in _CHANGE_FIELDS.items():
        value = getattr(record, field)
        if value != unset:
            said.append(f"{field}={_list(value) if isinstance(value, tuple) else value}")
    if record.directories is not None and record.replicas is None:
        numbers = tuple([int.from_bytes(each) for each in record.directories])
        said.append(f"directories={_list(numbers)}")
    if record.leader != _CHANGE_FIELDS["leader"]:
        partition = after.partition(record.topic_id, record.partition_id)
        said.append(f"leader_epoch={'?' if partition is None else partition.leader_epoch}")
    return " ".join(said)


def _registration_change(record: brokers.BrokerRegistrationChangeRecord) -> str:
    said = [f"broker={record.broker_id}"]
    if record.fenced:
        said.append("fence" if record.fenced == 1 else "unfence")
    if record.in_controlled_shutdown:
        said.append("controlled-shutdown")
    if record.log_dirs:
        said.append(f"log_dirs={len(record.log_dirs)}")
    return " ".join(said)


def _list(items: tuple[int, ...]) -> str:
    return f"[{','.join(map(str, items))}]"


# What a change leaves alone: the default of each field.
_CHANGE_FIELDS: dict[str, Any] = {
    "leader": -2,
    "isr": None,
    "replicas": None,
    "adding_replicas": None,
    "removing_replicas": None,
    "leader_recovery_state": -1,
    "eligible_leader_replicas": None,
    "last_known_elr": None,
    "mode": None,
}
