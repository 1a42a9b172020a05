"""Rules for which values in records are secret.

Secrets are the salts and keys of SCRAM credentials, the ids of delegation tokens, the bytes of
unknown records, and the values of some configs: those that are passwords, and those that this
release does not know, because they may be passwords.
"""

from typing import Any

REDACTED = "(redacted)"
"""Printed in place of a secret."""

# Names whose values may be shown to every reader of the metadata. From Kafka's documentation of
# topic, broker, group and client metrics configs, and our own.
_PUBLIC_CONFIG_NAMES = """
    advertised.listeners allow.everyone.if.no.acl.found alter.config.policy.class.name
    alter.log.dirs.replication.quota.window.num
    alter.log.dirs.replication.quota.window.size.seconds authorizer.class.name
    auto.create.topics.enable auto.include.jmx.reporter auto.leader.rebalance.enable
    background.threads broker.heartbeat.interval.ms broker.id broker.rack
    broker.session.timeout.ms cleanup.policy client.quota.callback.class
    client.quota.callback.static.class client.quota.max.throttle.time.ms compression.gzip.level
    compression.lz4.level compression.type compression.zstd.level config.providers
    connection.creation.rate connection.failed.authentication.delay.ms connection_creation_rate
    connections.max.idle.ms connections.max.reauth.ms consumer.heartbeat.interval.ms
    consumer.session.timeout.ms consumer_byte_rate controlled.shutdown.enable
    controller.listener.names controller.performance.always.log.threshold.ms
    controller.performance.sample.period.ms controller.quorum.append.linger.ms
    controller.quorum.auto.join.enable controller.quorum.bootstrap.servers
    controller.quorum.election.backoff.max.ms controller.quorum.election.timeout.ms
    controller.quorum.fetch.timeout.ms controller.quorum.request.timeout.ms
    controller.quorum.retry.backoff.ms controller.quorum.voters controller.quota.window.num
    controller.quota.window.size.seconds controller.socket.timeout.ms controller_mutation_rate
    create.topic.policy.class.name default.replication.factor
    delegation.token.expiry.check.interval.ms delegation.token.expiry.time.ms
    delegation.token.max.lifetime.ms delete.retention.ms delete.stale.topic.delay.ms
    delete.topic.enable delete.topic.partition.enable delete.topic.partition.interval.delay.ms
    early.start.listeners enable.fips.mode fetch.max.bytes
    fetch.purgatory.purge.interval.requests file.delete.delay.ms flush.messages flush.ms
    follower.fetch.last.tiered.offset.enable follower.replication.throttled.rate
    follower.replication.throttled.replicas group.consumer.assignors
    group.consumer.heartbeat.interval.ms group.consumer.max.heartbeat.interval.ms
    group.consumer.max.session.timeout.ms group.consumer.max.size
    group.consumer.migration.policy group.consumer.min.heartbeat.interval.ms
    group.consumer.min.session.timeout.ms group.consumer.regex.refresh.interval.ms
    group.consumer.session.timeout.ms group.coordinator.append.linger.ms
    group.coordinator.background.threads group.coordinator.rebalance.protocols
    group.coordinator.threads group.initial.rebalance.delay.ms group.max.session.timeout.ms
    group.max.size group.min.session.timeout.ms group.share.delivery.count.limit
    group.share.heartbeat.interval.ms group.share.max.heartbeat.interval.ms
    group.share.max.record.lock.duration.ms group.share.max.session.timeout.ms
    group.share.max.share.sessions group.share.max.size group.share.min.heartbeat.interval.ms
    group.share.min.record.lock.duration.ms group.share.min.session.timeout.ms
    group.share.partition.max.record.locks group.share.record.lock.duration.ms
    group.share.session.timeout.ms group.streams.heartbeat.interval.ms
    group.streams.max.heartbeat.interval.ms group.streams.max.session.timeout.ms
    group.streams.max.size group.streams.max.standby.replicas
    group.streams.min.heartbeat.interval.ms group.streams.min.session.timeout.ms
    group.streams.num.standby.replicas group.streams.session.timeout.ms index.interval.bytes
    initial.broker.registration.timeout.ms inter.broker.listener.name interval.ms
    kafka.metrics.polling.interval.secs kafka.metrics.reporters
    leader.imbalance.check.interval.seconds leader.imbalance.per.broker.percentage
    leader.replication.throttled.rate leader.replication.throttled.replicas
    listener.security.protocol.map listeners local.retention.bytes local.retention.ms
    log.cleaner.backoff.ms log.cleaner.dedupe.buffer.size log.cleaner.delete.retention.ms
    log.cleaner.enable log.cleaner.io.buffer.load.factor log.cleaner.io.buffer.size
    log.cleaner.io.max.bytes.per.second log.cleaner.max.compaction.lag.ms
    log.cleaner.min.cleanable.ratio log.cleaner.min.compaction.lag.ms log.cleaner.threads
    log.cleanup.policy log.dir log.dir.failure.timeout.ms log.dirs log.flush.interval.messages
    log.flush.interval.ms log.flush.offset.checkpoint.interval.ms
    log.flush.scheduler.interval.ms log.flush.start.offset.checkpoint.interval.ms
    log.index.interval.bytes log.index.size.max.bytes log.initial.task.delay.ms
    log.local.retention.bytes log.local.retention.ms log.message.timestamp.after.max.ms
    log.message.timestamp.before.max.ms log.message.timestamp.type log.preallocate
    log.retention.bytes log.retention.check.interval.ms log.retention.hours
    log.retention.minutes log.retention.ms log.roll.hours log.roll.jitter.hours
    log.roll.jitter.ms log.roll.ms log.segment.bytes log.segment.delete.delay.ms match
    max.compaction.lag.ms max.connection.creation.rate max.connections max.connections.per.ip
    max.connections.per.ip.overrides max.incremental.fetch.session.cache.slots max.message.bytes
    max.request.partition.size.limit message.downconversion.enable message.format.version
    message.max.bytes message.timestamp.after.max.ms message.timestamp.before.max.ms
    message.timestamp.difference.max.ms message.timestamp.type metadata.log.dir
    metadata.log.max.record.bytes.between.snapshots metadata.log.max.snapshot.interval.ms
    metadata.log.segment.bytes metadata.log.segment.min.bytes metadata.log.segment.ms
    metadata.max.idle.interval.ms metadata.max.retention.bytes metadata.max.retention.ms
    metric.reporters metrics metrics.interval.ms metrics.num.samples metrics.recording.level
    metrics.sample.window.ms min.cleanable.dirty.ratio min.compaction.lag.ms min.insync.replicas
    namespace.max.mutations.per.second namespace.max.partitions namespace.max.topics node.id
    num.io.threads num.network.threads num.partitions num.recovery.threads.per.data.dir
    num.replica.alter.log.dirs.threads num.replica.fetchers offset.metadata.max.bytes
    offsets.commit.timeout.ms offsets.load.buffer.size offsets.retention.check.interval.ms
    offsets.retention.minutes offsets.topic.compression.codec offsets.topic.num.partitions
    offsets.topic.replication.factor offsets.topic.segment.bytes
    password.encoder.cipher.algorithm preallocate principal.builder.class process.roles
    producer.id.expiration.check.interval.ms producer.id.expiration.ms
    producer.purgatory.purge.interval.requests producer_byte_rate queued.max.request.bytes
    queued.max.requests quota.window.num quota.window.size.seconds remote.fetch.max.wait.ms
    remote.list.offsets.request.timeout.ms remote.log.copy.disable remote.log.delete.on.disable
    remote.log.index.file.cache.total.size.bytes remote.log.manager.copier.thread.pool.size
    remote.log.manager.copy.max.bytes.per.second remote.log.manager.expiration.thread.pool.size
    remote.log.manager.fetch.max.bytes.per.second remote.log.metadata.custom.metadata.max.bytes
    remote.log.metadata.manager.class.name remote.log.metadata.manager.class.path
    remote.log.metadata.manager.impl.prefix remote.log.metadata.manager.listener.name
    remote.log.reader.max.pending.tasks remote.log.reader.threads
    remote.log.storage.manager.class.name remote.log.storage.manager.class.path
    remote.log.storage.manager.impl.prefix remote.log.storage.system.enable
    remote.storage.enable replica.alter.log.dirs.io.max.bytes.per.second
    replica.fetch.backoff.ms replica.fetch.max.bytes replica.fetch.min.bytes
    replica.fetch.response.max.bytes replica.fetch.wait.max.ms
    replica.high.watermark.checkpoint.interval.ms replica.lag.time.max.ms replica.selector.class
    replica.socket.receive.buffer.bytes replica.socket.timeout.ms replication.quota.window.num
    replication.quota.window.size.seconds request.timeout.ms request_percentage
    reserved.broker.max.id retention.bytes retention.ms sasl.client.callback.handler.class
    sasl.enabled.mechanisms sasl.kerberos.kinit.cmd sasl.kerberos.min.time.before.relogin
    sasl.kerberos.principal.to.local.rules sasl.kerberos.service.name
    sasl.kerberos.ticket.renew.jitter sasl.kerberos.ticket.renew.window.factor
    sasl.login.callback.handler.class sasl.login.class sasl.login.connect.timeout.ms
    sasl.login.read.timeout.ms sasl.login.refresh.buffer.seconds
    sasl.login.refresh.min.period.seconds sasl.login.refresh.window.factor
    sasl.login.refresh.window.jitter sasl.login.retry.backoff.max.ms sasl.login.retry.backoff.ms
    sasl.mechanism.controller.protocol sasl.mechanism.inter.broker.protocol
    sasl.oauthbearer.clock.skew.seconds sasl.oauthbearer.expected.audience
    sasl.oauthbearer.expected.issuer sasl.oauthbearer.header.urlencode
    sasl.oauthbearer.jwks.endpoint.refresh.ms
    sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms
    sasl.oauthbearer.jwks.endpoint.retry.backoff.ms sasl.oauthbearer.jwks.endpoint.url
    sasl.oauthbearer.scope.claim.name sasl.oauthbearer.sub.claim.name
    sasl.oauthbearer.token.endpoint.url sasl.server.callback.handler.class
    sasl.server.max.receive.size security.inter.broker.protocol security.providers segment.bytes
    segment.index.bytes segment.jitter.ms segment.ms server.max.startup.time.ms
    share.auto.offset.reset share.coordinator.append.linger.ms
    share.coordinator.load.buffer.size share.coordinator.snapshot.update.records.per.snapshot
    share.coordinator.state.topic.compression.codec share.coordinator.state.topic.min.isr
    share.coordinator.state.topic.num.partitions share.coordinator.state.topic.prune.interval.ms
    share.coordinator.state.topic.replication.factor share.coordinator.state.topic.segment.bytes
    share.coordinator.threads share.coordinator.write.timeout.ms
    share.fetch.purgatory.purge.interval.requests share.heartbeat.interval.ms
    share.isolation.level share.record.lock.duration.ms share.session.timeout.ms
    socket.connection.setup.timeout.max.ms socket.connection.setup.timeout.ms
    socket.listen.backlog.size socket.receive.buffer.bytes socket.request.max.bytes
    socket.send.buffer.bytes ssl.allow.dn.changes ssl.allow.san.changes ssl.cipher.suites
    ssl.client.auth ssl.enabled.protocols ssl.endpoint.identification.algorithm
    ssl.engine.factory.class ssl.keymanager.algorithm ssl.keystore.location ssl.keystore.type
    ssl.principal.mapping.rules ssl.protocol ssl.provider ssl.secure.random.implementation
    ssl.trustmanager.algorithm ssl.truststore.location ssl.truststore.type
    streams.heartbeat.interval.ms streams.num.standby.replicas streams.session.timeout.ms
    subscribed.topic.regex super.users telemetry.max.bytes
    transaction.abort.timed.out.transaction.cleanup.interval.ms transaction.max.timeout.ms
    transaction.partition.verification.enable
    transaction.remove.expired.transaction.cleanup.interval.ms
    transaction.state.log.load.buffer.size transaction.state.log.min.isr
    transaction.state.log.num.partitions transaction.state.log.replication.factor
    transaction.state.log.segment.bytes transaction.two.phase.commit.enable
    transactional.id.expiration.ms unclean.leader.election.enable
    unclean.leader.election.interval.ms
"""
PUBLIC_CONFIGS = frozenset(_PUBLIC_CONFIG_NAMES.split())
"""Configs whose values may be shown; the values of all other configs are secret."""

SECRET_FIELDS = {
    "UserScramCredentialRecord": ("salt", "stored_key", "server_key"),
    "DelegationTokenRecord": ("token_id",),
    "RemoveDelegationTokenRecord": ("token_id",),
    # A newer version of any of these, perhaps.
    "UnknownRecord": ("value",),
}
"""Secret fields by record type. In ConfigRecord, the name decides if the value is secret."""


def is_secret_config(name: str) -> bool:
    """True if the value of a config must not be shown."""
    return name not in PUBLIC_CONFIGS


def redact_record(type_name: str, fields: dict[str, Any]) -> dict[str, Any]:
    """Return a record's fields, as `records.json.to_json` gives them, with secrets removed."""
    if type_name == "ConfigRecord":
        is_secret = fields["value"] is not None and is_secret_config(fields["name"])
        return {**fields, "value": REDACTED} if is_secret else fields
    secret = SECRET_FIELDS.get(type_name, ())
    return {name: REDACTED if name in secret else value for name, value in fields.items()}
