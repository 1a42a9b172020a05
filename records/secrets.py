"""Which values in records are secrets.

The keys of SCRAM credentials, delegation tokens, and the values of configs that are passwords or
unknown to this release: an unknown config may be a password.
"""

REDACTED = "(redacted)"
"""Printed in place of a secret."""

# Names whose values may be shown to every reader of the metadata. From Kafka's documentation of
# topic and broker configs (4.0), and the settings of partition removal
# and of subscriptions.
_PUBLIC_CONFIG_NAMES = """
    advertised.listeners auto.create.topics.enable auto.leader.rebalance.enable
    background.threads broker.rack cleanup.policy client.quota.callback.class
    compression.gzip.level compression.lz4.level compression.type compression.zstd.level
    connection.creation.rate connection_creation_rate connections.max.idle.ms consumer_byte_rate
    controller_mutation_rate default.replication.factor delete.retention.ms
    delete.stale.topic.delay.ms delete.topic.enable
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
    namespace.max.mutations.per.second namespace.max.partitions namespace.max.topics
    num.io.threads num.network.threads num.partitions num.recovery.threads.per.data.dir
    num.replica.fetchers preallocate producer_byte_rate producer.id.expiration.ms
    remote.log.copy.disable remote.log.delete.on.disable remote.storage.enable
    replica.alter.log.dirs.io.max.bytes.per.second request_percentage retention.bytes
    retention.ms segment.bytes segment.index.bytes segment.jitter.ms segment.ms
    subscribed.topic.regex
    transaction.partition.verification.enable unclean.leader.election.enable
"""
PUBLIC_CONFIGS = frozenset(_PUBLIC_CONFIG_NAMES.split())
"""All others are secrets."""

SECRET_FIELDS = {
    "UserScramCredentialRecord": ("salt", "stored_key", "server_key"),
    "DelegationTokenRecord": ("token_id",),
    "RemoveDelegationTokenRecord": ("token_id",),
    # A newer version of any of these, perhaps.
    "UnknownRecord": ("value",),
}
"""By record type."""


def is_secret_config(name: str) -> bool:
    """True if the value of a config must not be shown."""
    return name not in PUBLIC_CONFIGS
