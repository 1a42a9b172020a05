"""Configs of brokers: logs, topics, replication. Source: KafkaConfig of Kafka 4.0."""

BROKER_LOGS = """
auto.create.topics.enable | boolean | true | | file
    Whether a broker creates a topic that a client asks for.
auto.include.jmx.reporter | boolean | true | | file
    Whether the JMX reporter runs without being listed.
auto.leader.rebalance.enable | boolean | true | | file
    Whether leadership goes back to preferred replicas by itself.
background.threads | int | 10 | 1.. | cluster
    Threads for background work.
broker.rack | string | | | file
    Rack of the broker.
compression.gzip.level | int | -1 | -1..9 | cluster
    Level of gzip for topics that set none. (3.8)
compression.lz4.level | int | 9 | 1..17 | cluster
    Level of lz4 for topics that set none. (3.8)
compression.type | string | producer | uncompressed gzip snappy lz4 zstd producer | cluster
    Compression of stored batches for topics that set none.
compression.zstd.level | int | 3 | ..22 | cluster
    Level of zstd for topics that set none. (3.8)
controlled.shutdown.enable | boolean | true | | file
    Whether a broker moves its leaders away before it stops.
default.replication.factor | int | 1 | 1.. | file
    Replicas of topics created without a number.
delete.stale.topic.delay.ms | long | 14400000 | 0.. | cluster
    How long a broker keeps partitions that the log no longer knows. (ours)
delete.topic.enable | boolean | true | | file
    Whether topics can be deleted.
delete.topic.partition.enable | boolean | false | | cluster
    Whether a topic's number of partitions can be reduced. (ours)
delete.topic.partition.interval.delay.ms | long | 300000 | 1.. | cluster
    Interval between checks of partitions being removed. (ours)
follower.fetch.last.tiered.offset.enable | boolean | false | | file
    Whether a new follower starts at the last tiered offset. (4.2)
follower.replication.throttled.rate | long | 9223372036854775807 | 0.. | cluster
    Bytes a second for throttled replicas on followers.
leader.imbalance.check.interval.seconds | long | 300 | 1.. | file
    Interval between checks whether leadership should be rebalanced.
leader.imbalance.per.broker.percentage | int | 10 | | file
    Share of partitions with another leader that starts a rebalance.
leader.replication.throttled.rate | long | 9223372036854775807 | 0.. | cluster
    Bytes a second for throttled replicas on leaders.
log.cleaner.backoff.ms | long | 15000 | 0.. | cluster
    Pause of the cleaner when there is nothing to clean.
log.cleaner.dedupe.buffer.size | long | 134217728 | | cluster
    Memory of all cleaner threads for deduplication.
log.cleaner.delete.retention.ms | long | 86400000 | 0.. | cluster
    How long compaction keeps tombstones.
log.cleaner.enable | boolean | true | | file
    Whether the cleaner runs.
log.cleaner.io.buffer.load.factor | double | 0.9 | | cluster
    How full the deduplication buffer may get.
log.cleaner.io.buffer.size | int | 524288 | 0.. | cluster
    Memory of all cleaner threads for reading and writing.
log.cleaner.io.max.bytes.per.second | double | 1.7976931348623157E308 | | cluster
    Bytes a second that the cleaner reads and writes.
log.cleaner.max.compaction.lag.ms | long | 9223372036854775807 | 1.. | cluster
    Longest time that a record may stay uncompacted.
log.cleaner.min.cleanable.ratio | double | 0.5 | 0..1 | cluster
    Share of a log that must be uncompacted before it is compacted.
log.cleaner.min.compaction.lag.ms | long | 0 | 0.. | cluster
    Shortest time that a record stays uncompacted.
log.cleaner.threads | int | 1 | 0.. | cluster
    Threads of the cleaner.
log.cleanup.policy | list | delete | compact delete | cluster
    What becomes of old records.
log.dir | string | /tmp/kafka-logs | | file
    Directory of the logs, if log.dirs is not set.
log.dir.failure.timeout.ms | long | 30000 | 1.. | file
    How long a broker tries to report a failed directory before it stops. (3.7)
log.dirs | list | | | file
    Directories of the logs.
log.flush.interval.messages | long | 9223372036854775807 | 1.. | cluster
    Number of records after which a log is synced.
log.flush.interval.ms | long | | 0.. | cluster | log.flush.scheduler.interval.ms
    Time after which a log is synced.
log.flush.offset.checkpoint.interval.ms | int | 60000 | 0.. | file
    Interval between writes of the recovery point.
log.flush.scheduler.interval.ms | long | 9223372036854775807 | | file
    Interval between checks whether a log has to be synced.
log.flush.start.offset.checkpoint.interval.ms | int | 60000 | 0.. | file
    Interval between writes of the log start offsets.
log.index.interval.bytes | int | 4096 | 0.. | cluster
    Bytes of records for each entry of the offset index.
log.index.size.max.bytes | int | 10485760 | 4.. | cluster
    Size of the index of a segment.
log.initial.task.delay.ms | long | 30000 | 0.. | file
    Delay of the first run of a log's background tasks. (3.8)
log.local.retention.bytes | long | -2 | -2.. | cluster
    Bytes of a partition kept locally under tiered storage. (3.6)
log.local.retention.ms | long | -2 | -2.. | cluster
    How long segments are kept locally under tiered storage. (3.6)
log.message.timestamp.after.max.ms | long | 3600000 | 0.. | cluster
    How far a record's timestamp may lie after the broker's. (3.6)
log.message.timestamp.before.max.ms | long | 9223372036854775807 | 0.. | cluster
    How far a record's timestamp may lie before the broker's. (3.6)
log.message.timestamp.type | string | CreateTime | CreateTime LogAppendTime | cluster
    Whether a record's timestamp is the producer's or the broker's.
log.preallocate | boolean | false | | cluster
    Whether the files of new segments are allocated at full size.
log.retention.bytes | long | -1 | | cluster
    Bytes of a partition kept under the delete policy; -1 is no limit.
log.retention.check.interval.ms | long | 300000 | 1.. | file
    Interval between checks whether a log may be deleted.
log.retention.hours | int | 168 | -1.. | file
    Hours that records are kept, if neither log.retention.ms nor .minutes is set.
log.retention.minutes | int | | -1.. | file | log.retention.hours*60
    Minutes that records are kept, if log.retention.ms is not set.
log.retention.ms | long | | -1.. | cluster | log.retention.minutes*m log.retention.hours*h
    How long records are kept; -1 is for ever.
log.roll.hours | int | 168 | 1.. | file
    Hours after which a segment is closed, if log.roll.ms is not set.
log.roll.jitter.hours | int | 0 | 0.. | file
    Hours of random time taken off log.roll.hours.
log.roll.jitter.ms | long | | 0.. | cluster | log.roll.jitter.hours*h
    Random time taken off log.roll.ms.
log.roll.ms | long | | 1.. | cluster | log.roll.hours*h
    Time after which a segment is closed even if it is not full.
log.segment.bytes | int | 1073741824 | 14.. | cluster
    Size of a segment file.
log.segment.delete.delay.ms | long | 60000 | 0.. | cluster
    How long a deleted segment's file stays.
message.max.bytes | int | 1048588 | 0.. | cluster
    Largest batch, after compression.
min.insync.replicas | int | 1 | 1.. | cluster
    In-sync replicas that a write with acks=all needs.
num.partitions | int | 1 | 1.. | file
    Partitions of topics created without a number.
num.recovery.threads.per.data.dir | int | 2 | 1.. | cluster
    Threads that recover a directory at start.
num.replica.alter.log.dirs.threads | int | | | file
    Threads that move replicas between directories.
num.replica.fetchers | int | 1 | | cluster
    Threads that fetch from each leader.
producer.id.expiration.check.interval.ms | int | 600000 | 1.. | file
    Interval between checks for expired producer ids.
producer.id.expiration.ms | int | 86400000 | 1.. | cluster
    How long the state of an idle producer id is kept.
producer.purgatory.purge.interval.requests | int | 1000 | | file
    Requests after which the produce purgatory is cleaned.
remote.fetch.max.wait.ms | int | 500 | 1.. | cluster
    Longest wait of a fetch from tiered storage. (3.8)
remote.list.offsets.request.timeout.ms | long | 30000 | 1.. | cluster
    Longest wait of a lookup by time in tiered storage. (4.0)
remote.log.index.file.cache.total.size.bytes | long | 1073741824 | 1.. | cluster
    Size of the cache of indexes of remote segments. (3.6)
remote.log.manager.copier.thread.pool.size | int | 10 | 1.. | cluster
    Threads that copy segments to tiered storage. (3.9)
remote.log.manager.copy.max.bytes.per.second | long | 9223372036854775807 | 1.. | cluster
    Bytes a second copied to tiered storage. (3.9)
remote.log.manager.expiration.thread.pool.size | int | 10 | 1.. | cluster
    Threads that delete expired remote segments. (3.9)
remote.log.manager.fetch.max.bytes.per.second | long | 9223372036854775807 | 1.. | cluster
    Bytes a second fetched from tiered storage. (3.9)
remote.log.metadata.custom.metadata.max.bytes | int | 128 | 0.. | file
    Largest custom metadata of a remote segment. (3.6)
remote.log.metadata.manager.class.name | string | | | file
    Class that keeps the metadata of remote segments. (3.6)
remote.log.metadata.manager.class.path | string | | | file
    Class path of remote.log.metadata.manager.class.name. (3.6)
remote.log.metadata.manager.impl.prefix | string | rlmm.config. | | file
    Prefix of configs for the metadata manager. (3.6)
remote.log.metadata.manager.listener.name | string | | | file
    Listener that the metadata manager connects to. (3.6)
remote.log.reader.max.pending.tasks | int | 100 | 1.. | file
    Reads that may wait for a thread. (3.6)
remote.log.reader.threads | int | 10 | 1.. | cluster
    Threads that read remote segments. (3.6)
remote.log.storage.manager.class.name | string | | | file
    Class that stores remote segments. (3.6)
remote.log.storage.manager.class.path | string | | | file
    Class path of remote.log.storage.manager.class.name. (3.6)
remote.log.storage.manager.impl.prefix | string | rsm.config. | | file
    Prefix of configs for the storage manager. (3.6)
remote.log.storage.system.enable | boolean | false | | file
    Whether the broker has tiered storage. (3.6)
replica.alter.log.dirs.io.max.bytes.per.second | long | 9223372036854775807 | 0.. | cluster
    Bytes a second moved between directories.
replica.fetch.backoff.ms | int | 1000 | 0.. | file
    Pause after a failed fetch.
replica.fetch.max.bytes | int | 1048576 | 0.. | file
    Bytes to fetch for each partition.
replica.fetch.min.bytes | int | 1 | | file
    Bytes that a fetch waits for.
replica.fetch.response.max.bytes | int | 10485760 | 0.. | file
    Bytes of a whole fetch response.
replica.fetch.wait.max.ms | int | 500 | | file
    Longest wait of a follower's fetch.
replica.high.watermark.checkpoint.interval.ms | long | 5000 | | file
    Interval between writes of the high watermarks.
replica.lag.time.max.ms | long | 30000 | | file
    How long a follower may lag before it leaves the ISR.
replica.selector.class | string | | | file
    Class that chooses the replica a consumer reads from.
replica.socket.receive.buffer.bytes | int | 65536 | | file
    Receive buffer of fetching sockets.
replica.socket.timeout.ms | int | 30000 | | file
    Timeout of fetching sockets.
unclean.leader.election.enable | boolean | false | | cluster
    Whether a replica outside the ISR may lead as a last resort, which loses records.
unclean.leader.election.interval.ms | long | 300000 | 1.. | file
    Interval between unclean elections. (4.0)
"""
