"""Secrets do not leave the log unless they are asked for.

Redacted are the keys of SCRAM credentials, delegation tokens, and the values of configs that are
passwords or that this release does not know: an unknown name may well be a password.
"""

from typing import Any

REDACTED = "(redacted)"

# Names whose values anyone who may read the metadata may see. From Kafka's documentation of topic
# and broker configs (4.0), and the settings of partition removal.
_PUBLIC_CONFIG_NAMES = """
    advertised.listeners auto.create.topics.enable auto.leader.rebalance.enable
    background.threads broker.rack cleanup.policy client.quota.callback.class
    compression.gzip.level compression.lz4.level compression.type compression.zstd.level
    connection.creation.rate connection_creation_rate connections.max.idle.ms consumer_byte_rate
    controller_mutation_rate default.replication.factor delete.retention.ms delete.topic.enable
    delete.topic.partition.enable delete.topic.partition.interval.delay.ms file.delete.delay.ms
    flush.messages flush.ms follower.replication.throttled.rate
    follower.replication.throttled.replicas index.interval.bytes
    leader.replication.throttled.rate leader.replication.throttled.replicas
    listener.security.protocol.map listeners local.retention.bytes local.retention.ms
    log.cleaner.backoff.ms log.cleaner.dedupe.buffer.size log.cleaner.delete.retention.ms
    log.cleaner.io.buffer.size log.cleaner.io.max.bytes.per.second
    log.cleaner.max.compaction.lag.ms log.cleaner.min.cleanable.ratio
    log.cleaner.min.compaction.lag.ms log.cleaner.threads log.cleanup.policy
    log.flush.interval.messages log.flush.interval.ms log.index.interval.bytes
    log.index.size.max.bytes log.local.retention.bytes log.local.retention.ms
    log.message.timestamp.after.max.ms log.message.timestamp.before.max.ms
    log.message.timestamp.type log.preallocate log.retention.bytes log.retention.hours
    log.retention.minutes log.retention.ms log.roll.hours log.roll.jitter.ms log.roll.ms
    log.segment.bytes log.segment.delete.delay.ms max.compaction.lag.ms
    max.connection.creation.rate max.connections max.connections.per.ip
    max.connections.per.ip.overrides max.message.bytes message.downconversion.enable
    message.format.version message.max.bytes message.timestamp.after.max.ms
    message.timestamp.before.max.ms message.timestamp.difference.max.ms message.timestamp.type
    metrics.interval.ms min.cleanable.dirty.ratio min.compaction.lag.ms min.insync.replicas
    num.io.threads num.network.threads num.partitions num.recovery.threads.per.data.dir
    num.replica.fetchers preallocate producer_byte_rate producer.id.expiration.ms
    remote.log.copy.disable remote.log.delete.on.disable remote.storage.enable
    replica.alter.log.dirs.io.max.bytes.per.second request_percentage retention.bytes
    retention.ms segment.bytes segment.index.bytes segment.jitter.ms segment.ms
    transaction.partition.verification.enable unclean.leader.election.enable
"""
_PUBLIC_CONFIGS = frozenset(_PUBLIC_CONFIG_NAMES.split())

_SECRET_FIELDS = {
    "UserScramCredentialRecord": ("salt", "stored_key", "server_key"),
    "DelegationTokenRecord": ("token_id",),
    "RemoveDelegationTokenRecord": ("token_id",),
    "scram": ("salt", "stored_key", "server_key"),
    "token": ("token_id",),
}


def is_secret_config(name: str) -> bool:
    """Whether the value of a config must not be shown."""
    return name not in _PUBLIC_CONFIGS


def redact_record(type_name: str, fields: dict[str, Any]) -> dict[str, Any]:
    """Return a record's JSON fields without secrets."""
    if type_name == "ConfigRecord" and fields["value"] is not None:
        return {**fields, "value": redact_field("config", fields["name"], fields["value"])}
    secret = _SECRET_FIELDS.get(type_name, ())
    return {name: REDACTED if name in secret else value for name, value in fields.items()}


def redact_field(kind: str, field: str, value: Any) -> Any:
    """Return the value of one field of an object, or what stands for it."""
    if value is None:
        return None
    if kind == "config":
        return REDACTED if is_secret_config(field) else value
    return REDACTED if field in _SECRET_FIELDS.get(kind, ()) else value


def redact_label(kind: str, label: str) -> str:
    """Return the name of an object; a token is known by its secret."""
    return REDACTED if kind == "token" else label


def redact_kraft_json(document: dict[str, Any]) -> dict[str, Any]:
    """Return an image in the shape of `kraft_json` without secrets."""
    return {
        **document,
        "configs": [
            [key, {name: redact_field("config", name, value) for name, value in values.items()}]
            for key, values in document["configs"]
        ],
        "scram": [
            [
                key,
                {name: redact_field("scram", _snake(name), value) for name, value in item.items()},
            ]
            for key, item in document["scram"]
        ],
        "tokens": [
            [REDACTED, {name: redact_field("token", _snake(name), v) for name, v in item.items()}]
            for _, item in document["tokens"]
        ],
    }


def _snake(name: str) -> str:
    return "".join(f"_{char.lower()}" if char.isupper() else char for char in name)
