"""Configs of brokers: groups, offsets, transactions. Source: KafkaConfig of Kafka 4.0."""

BROKER_GROUPS = """
group.consumer.assignors | list | uniform,range | | file
    Assignors of consumer groups, the first one is the default. (3.7)
group.consumer.heartbeat.interval.ms | int | 5000 | 1.. | file
    Heartbeat interval of consumer groups that set none. (3.7)
group.consumer.max.heartbeat.interval.ms | int | 15000 | 1.. | file
    Longest heartbeat interval of a consumer group. (3.7)
group.consumer.max.session.timeout.ms | int | 60000 | 1.. | file
    Longest session timeout of a consumer group. (3.7)
group.consumer.max.size | int | 2147483647 | 1.. | file
    Members of a consumer group. (3.7)
group.consumer.migration.policy | string | bidirectional | bidirectional upgrade downgrade disabled | file
    Which conversions between classic and consumer groups are allowed. (3.8)
group.consumer.min.heartbeat.interval.ms | int | 5000 | 1.. | file
    Shortest heartbeat interval of a consumer group. (3.7)
group.consumer.min.session.timeout.ms | int | 45000 | 1.. | file
    Shortest session timeout of a consumer group. (3.7)
group.consumer.regex.refresh.interval.ms | int | 600000 | 10000.. | file
    Interval between evaluations of patterns of topics. (4.1)
group.consumer.session.timeout.ms | int | 45000 | 1.. | file
    Session timeout of consumer groups that set none. (3.7)
group.coordinator.append.linger.ms | int | 5 | -1.. | file
    How long the coordinator waits for more records. (4.0)
group.coordinator.background.threads | int | 2 | 1.. | file
    Background threads of the coordinator. (4.1)
group.coordinator.rebalance.protocols | list | classic,consumer,streams | classic consumer share streams | file
    Rebalance protocols that are switched on. (3.7)
group.coordinator.threads | int | 4 | 1.. | file
    Threads of the coordinator. (3.7)
group.initial.rebalance.delay.ms | int | 3000 | | file
    How long a new classic group waits for members.
group.max.session.timeout.ms | int | 1800000 | | file
    Longest session timeout of a classic group.
group.max.size | int | 2147483647 | 1.. | file
    Members of a classic group.
group.min.session.timeout.ms | int | 6000 | | file
    Shortest session timeout of a classic group.
group.share.delivery.count.limit | int | 5 | 2..10 | file
    Deliveries of a record to a share group. (4.0)
group.share.heartbeat.interval.ms | int | 5000 | 1.. | file
    Heartbeat interval of share groups that set none. (4.0)
group.share.max.heartbeat.interval.ms | int | 15000 | 1.. | file
    Longest heartbeat interval of a share group. (4.0)
group.share.max.record.lock.duration.ms | int | 60000 | 30000..3600000 | file
    Longest lock of a record of a share group. (4.0)
group.share.max.session.timeout.ms | int | 60000 | 1.. | file
    Longest session timeout of a share group. (4.0)
group.share.max.share.sessions | int | 2000 | 1.. | file
    Share sessions of a broker. (4.1)
group.share.max.size | int | 200 | 1..1000 | file
    Members of a share group. (4.0)
group.share.min.heartbeat.interval.ms | int | 5000 | 1.. | file
    Shortest heartbeat interval of a share group. (4.0)
group.share.min.record.lock.duration.ms | int | 15000 | 1000..30000 | file
    Shortest lock of a record of a share group. (4.0)
group.share.min.session.timeout.ms | int | 45000 | 1.. | file
    Shortest session timeout of a share group. (4.0)
group.share.partition.max.record.locks | int | 2000 | 100..10000 | file
    Locked records of a partition of a share group. (4.0)
group.share.record.lock.duration.ms | int | 30000 | 1000..3600000 | file
    Lock of a record of share groups that set none. (4.0)
group.share.session.timeout.ms | int | 45000 | 1.. | file
    Session timeout of share groups that set none. (4.0)
group.streams.heartbeat.interval.ms | int | 5000 | 1.. | file
    Heartbeat interval of streams groups that set none. (4.1)
group.streams.max.heartbeat.interval.ms | int | 15000 | 1.. | file
    Longest heartbeat interval of a streams group. (4.1)
group.streams.max.session.timeout.ms | int | 60000 | 1.. | file
    Longest session timeout of a streams group. (4.1)
group.streams.max.size | int | 2147483647 | 1.. | file
    Members of a streams group. (4.1)
group.streams.max.standby.replicas | int | 2 | 0.. | file
    Most standby replicas of a streams group. (4.1)
group.streams.min.heartbeat.interval.ms | int | 5000 | 1.. | file
    Shortest heartbeat interval of a streams group. (4.1)
group.streams.min.session.timeout.ms | int | 45000 | 1.. | file
    Shortest session timeout of a streams group. (4.1)
group.streams.num.standby.replicas | int | 0 | 0.. | file
    Standby replicas of streams groups that set none. (4.1)
group.streams.session.timeout.ms | int | 45000 | 1.. | file
    Session timeout of streams groups that set none. (4.1)
offset.metadata.max.bytes | int | 4096 | | file
    Largest metadata of a committed offset.
offsets.commit.timeout.ms | int | 5000 | 1.. | file
    Longest wait for a commit to be replicated.
offsets.load.buffer.size | int | 5242880 | 1.. | file
    Bytes read at once when offsets are loaded.
offsets.retention.check.interval.ms | long | 600000 | 1.. | file
    Interval between checks for expired offsets.
offsets.retention.minutes | int | 10080 | 1.. | file
    How long the offsets of an empty group are kept.
offsets.topic.compression.codec | int | 0 | | file
    Compression of the offsets topic, by its number.
offsets.topic.num.partitions | int | 50 | 1.. | file
    Partitions of the offsets topic.
offsets.topic.replication.factor | short | 3 | 1.. | file
    Replicas of the offsets topic.
offsets.topic.segment.bytes | int | 104857600 | 1.. | file
    Size of a segment of the offsets topic.
share.coordinator.append.linger.ms | int | 5 | -1.. | file
    How long the share coordinator waits for more records. (4.0)
share.coordinator.load.buffer.size | int | 5242880 | 1.. | file
    Bytes read at once when share state is loaded. (4.0)
share.coordinator.snapshot.update.records.per.snapshot | int | 500 | 0..500 | file
    Updates between snapshots of share state. (4.0)
share.coordinator.state.topic.compression.codec | int | 0 | | file
    Compression of the topic of share state, by its number. (4.0)
share.coordinator.state.topic.min.isr | short | 2 | 1.. | file
    min.insync.replicas of the topic of share state. (4.0)
share.coordinator.state.topic.num.partitions | int | 50 | 1.. | file
    Partitions of the topic of share state. (4.0)
share.coordinator.state.topic.prune.interval.ms | int | 300000 | 1.. | file
    Interval between deletions of old share state. (4.0)
share.coordinator.state.topic.replication.factor | short | 3 | 1.. | file
    Replicas of the topic of share state. (4.0)
share.coordinator.state.topic.segment.bytes | int | 104857600 | 1.. | file
    Size of a segment of the topic of share state. (4.0)
share.coordinator.threads | int | 1 | 1.. | file
    Threads of the share coordinator. (4.0)
share.coordinator.write.timeout.ms | int | 5000 | 1.. | file
    Longest wait for share state to be replicated. (4.0)
share.fetch.purgatory.purge.interval.requests | int | 1000 | | file
    Requests after which the share fetch purgatory is cleaned. (4.0)
transaction.abort.timed.out.transaction.cleanup.interval.ms | int | 10000 | 1.. | file
    Interval between aborts of transactions that timed out.
transaction.max.timeout.ms | int | 900000 | 1.. | file
    Longest timeout that a transaction may ask for.
transaction.partition.verification.enable | boolean | true | | cluster
    Whether a partition is verified to be part of a transaction. (3.6)
transaction.remove.expired.transaction.cleanup.interval.ms | int | 3600000 | 1.. | file
    Interval between removals of expired transactional ids.
transaction.state.log.load.buffer.size | int | 5242880 | 1.. | file
    Bytes read at once when transactions are loaded.
transaction.state.log.min.isr | int | 2 | 1.. | file
    min.insync.replicas of the transaction topic.
transaction.state.log.num.partitions | int | 50 | 1.. | file
    Partitions of the transaction topic.
transaction.state.log.replication.factor | short | 3 | 1.. | file
    Replicas of the transaction topic.
transaction.state.log.segment.bytes | int | 104857600 | 1.. | file
    Size of a segment of the transaction topic.
transaction.two.phase.commit.enable | boolean | false | | file
    Whether producers may prepare transactions. (4.1)
transactional.id.expiration.ms | int | 604800000 | 1.. | file
    How long an idle transactional id is kept.
"""  # noqa: E501 - rows of a table
