"""Configs of topics. Source: TopicConfig, LogConfig, ServerTopicConfigSynonyms of Kafka 4.0."""

TOPICS = """
cleanup.policy | list | delete | compact delete | | log.cleanup.policy
    What becomes of old records: deleted by age and size, compacted by key, or both.
compression.gzip.level | int | -1 | -1..9 | | compression.gzip.level
    Level of gzip if compression.type is gzip; -1 is gzip's own default. (3.8)
compression.lz4.level | int | 9 | 1..17 | | compression.lz4.level
    Level of lz4 if compression.type is lz4. (3.8)
compression.type | string | producer | uncompressed gzip snappy lz4 zstd producer | | compression.type
    Compression of stored batches; producer keeps what the producer chose.
compression.zstd.level | int | 3 | ..22 | | compression.zstd.level
    Level of zstd if compression.type is zstd. (3.8)
delete.retention.ms | long | 86400000 | 0.. | | log.cleaner.delete.retention.ms
    How long compaction keeps tombstones.
file.delete.delay.ms | long | 60000 | 0.. | | log.segment.delete.delay.ms
    How long a deleted segment's file stays.
flush.messages | long | 9223372036854775807 | 1.. | | log.flush.interval.messages
    Number of records after which a log is synced.
flush.ms | long | 9223372036854775807 | 0.. | | log.flush.interval.ms
    Time after which a log is synced.
follower.replication.throttled.replicas | list | | /\\*|\\d+:\\d+/
    Replicas, as partition:broker, whose replication is throttled on followers; * is all.
index.interval.bytes | int | 4096 | 0.. | | log.index.interval.bytes
    Bytes of records for each entry of the offset index.
leader.replication.throttled.replicas | list | | /\\*|\\d+:\\d+/
    Replicas, as partition:broker, whose replication is throttled on leaders; * is all.
local.retention.bytes | long | -2 | -2.. | | log.local.retention.bytes
    Bytes of a partition kept locally under tiered storage; -2 is retention.bytes. (3.6)
local.retention.ms | long | -2 | -2.. | | log.local.retention.ms
    How long segments are kept locally under tiered storage; -2 is retention.ms. (3.6)
max.compaction.lag.ms | long | 9223372036854775807 | 1.. | | log.cleaner.max.compaction.lag.ms
    Longest time that a record may stay uncompacted.
max.message.bytes | int | 1048588 | 0.. | | message.max.bytes
    Largest batch, after compression.
message.timestamp.after.max.ms | long | 3600000 | 0.. | | log.message.timestamp.after.max.ms
    How far a record's timestamp may lie after the broker's. (3.6)
message.timestamp.before.max.ms | long | 9223372036854775807 | 0.. | | log.message.timestamp.before.max.ms
    How far a record's timestamp may lie before the broker's. (3.6)
message.timestamp.type | string | CreateTime | CreateTime LogAppendTime | | log.message.timestamp.type
    Whether a record's timestamp is the producer's or the broker's.
min.cleanable.dirty.ratio | double | 0.5 | 0..1 | | log.cleaner.min.cleanable.ratio
    Share of a log that must be uncompacted before it is compacted.
min.compaction.lag.ms | long | 0 | 0.. | | log.cleaner.min.compaction.lag.ms
    Shortest time that a record stays uncompacted.
min.insync.replicas | int | 1 | 1.. | | min.insync.replicas
    In-sync replicas that a write with acks=all needs.
preallocate | boolean | false | | | log.preallocate
    Whether the files of new segments are allocated at full size.
remote.log.copy.disable | boolean | false
    Whether tiered storage takes no more segments of this topic. (3.9)
remote.log.delete.on.disable | boolean | false
    Whether remote segments are deleted when tiered storage is switched off. (3.9)
remote.storage.enable | boolean | false
    Whether the topic uses tiered storage. (3.6)
retention.bytes | long | -1 | | | log.retention.bytes
    Bytes of a partition kept under the delete policy; -1 is no limit.
retention.ms | long | 604800000 | -1.. | | log.retention.ms log.retention.minutes*m log.retention.hours*h
    How long records are kept under the delete policy; -1 is for ever.
segment.bytes | int | 1073741824 | 14.. | | log.segment.bytes
    Size of a segment file.
segment.index.bytes | int | 10485760 | 4.. | | log.index.size.max.bytes
    Size of the index of a segment.
segment.jitter.ms | long | 0 | 0.. | | log.roll.jitter.ms log.roll.jitter.hours*h
    Random time taken off segment.ms, so that not all segments roll at once.
segment.ms | long | 604800000 | 1.. | | log.roll.ms log.roll.hours*h
    Time after which a segment is closed even if it is not full.
unclean.leader.election.enable | boolean | false | | | unclean.leader.election.enable
    Whether a replica outside the ISR may lead as a last resort, which loses records.
"""  # noqa: E501 - rows of a table
