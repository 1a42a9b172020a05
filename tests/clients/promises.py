"""What the documentation of clients promises, compared with what they do with our cluster.

Each entry has the operation, the promise in our words, its source, and the expected output of the
client's program in this folder. Where our cluster answers something else, `here` has that answer
and `why` the reason.

    python -m tests.clients.promises    writes the table into docs/clients.md
"""

from collections.abc import Iterator

import msgspec

from tests.docs_console import ROOT

DOCUMENT = ROOT / "docs" / "clients.md"
BEGIN = "<!-- written by python -m tests.clients.promises -->"
END = "<!-- end -->"

DOC = "its docstring"
JAVA = "javadoc of Kafka's Admin"
GUIDE = "its guide"
TYPES = "its types"
HELP = "its help"
SUITE = "its suite"


class Promise(msgspec.Struct, frozen=True):
    """One operation of a client, and what its documentation promises."""

    operation: str
    promise: str
    source: str
    result: str
    here: str | None = None
    why: str | None = None

    @property
    def found(self) -> str:
        """The answer of our cluster."""
        return self.result if self.here is None else self.here


PROMISES: dict[str, tuple[Promise, ...]] = {
    "kafka-python": (
        Promise(
            "create_topics, names only",
            "both counts default to -1, the cluster's own defaults",
            DOC,
            "1 partition with 1 replica",
        ),
        Promise(
            "create_topics, answer",
            "the answer holds the counts and the effective configs",
            JAVA,
            "2 partitions, 3 replicas, retention.ms=1000, cleanup.policy=delete",
        ),
        Promise(
            "create_topics, again",
            "a topic that is there is an error",
            DOC,
            "TopicAlreadyExistsError",
        ),
        Promise(
            "create_topics, validate_only",
            "checks the request and creates nothing",
            DOC,
            "accepted, not there",
        ),
        Promise(
            "create_topics, assignments",
            "replicas are those that were named, the first one leads",
            DOC,
            "[3, 1] led by 3",
        ),
        Promise(
            "create_topics, some bad",
            "not transactional: some topics are created while others fail",
            JAVA,
            "0, 40, 38, 17",
        ),
        Promise(
            "wait_for_topics",
            "returns when every partition has a leader",
            DOC,
            "all have leaders",
        ),
        Promise("wait_for_topics, unknown", "raises at the deadline", DOC, "KafkaTimeoutError"),
        Promise("list_topics", "the names of all topics", DOC, "yes"),
        Promise("describe_topics, by id", "ids and names may be mixed", DOC, "both found"),
        Promise("describe_topics, unknown", "an unknown topic is an error of its own", JAVA, "3"),
        Promise(
            "describe_cluster",
            "the brokers, the controller among them, and the cluster's id",
            DOC,
            "brokers 1, 2, 3; controller among them; an id",
        ),
        Promise(
            "describe_topic_partitions, limit",
            "at most so many partitions, and where the next page begins",
            DOC,
            "1 partition, next is partition 1",
        ),
        Promise("create_partitions", "grows the topic to the total", DOC, "3"),
        Promise(
            "create_partitions, fewer", "a count can only grow", JAVA, "InvalidPartitionsError"
        ),
        Promise("create_partitions, validate_only", "nothing is created", DOC, "accepted, still 3"),
        Promise(
            "describe_configs, modified",
            "only keys with values that are not defaults",
            DOC,
            "retention.ms",
        ),
        Promise(
            "describe_configs, all",
            "all keys, with defaults",
            DOC,
            "cleanup.policy, retention.ms and more",
        ),
        Promise(
            "alter_configs",
            "incremental where the brokers can: other keys keep their values",
            DOC,
            "retention.ms=1000, segment.ms=5000",
        ),
        Promise("alter_configs, validate_only", "checked, not applied", DOC, "segment.ms=5000"),
        Promise("alter_configs, append", "adds to a list", DOC, "cleanup.policy=delete,compact"),
        Promise(
            "alter_configs, bad value",
            "an error for that resource",
            JAVA,
            "InvalidConfigurationError",
        ),
        Promise("reset_configs", "back to the default", DOC, "retention.ms"),
        Promise("list_config_resources, topics", "the topics of the cluster", DOC, "yes"),
        Promise(
            "elect_leaders, preferred",
            "a partition that its preferred replica leads is no error",
            DOC,
            "accepted",
        ),
        Promise(
            "alter_partition_reassignments",
            "no error for a partition that is accepted, and it moves",
            DOC,
            "accepted, [2, 3]",
        ),
        Promise(
            "alter_partition_reassignments, cancel",
            "where nothing moves there is nothing to cancel",
            JAVA,
            "NoReassignmentInProgressError",
        ),
        Promise("list_partition_reassignments", "what still moves", DOC, "none"),
        Promise(
            "describe_log_dirs", "all brokers with their directories and replicas", DOC, "1, 2, 3"
        ),
        Promise(
            "alter_replica_log_dirs",
            "a replica that lies there already is no error",
            JAVA,
            "NoError",
        ),
        Promise(
            "alter_replica_log_dirs, unknown",
            "an error class for each replica",
            DOC,
            "LogDirNotFoundError",
        ),
        Promise("list_partition_offsets", "earliest, latest, greatest time", DOC, "0, 3, 2"),
        Promise("list_partition_offsets, by time", "the first record at or after it", DOC, "1"),
        Promise(
            "list_partition_offsets, unknown",
            "an unknown partition is an error",
            DOC,
            "UnknownTopicOrPartitionError",
        ),
        Promise(
            "delete_records",
            "the offset is the earliest one afterwards",
            DOC,
            "low watermark 2, earliest 2",
        ),
        Promise(
            "delete_records, beyond the end",
            "an offset that is not there is an error",
            JAVA,
            "OffsetOutOfRangeError",
        ),
        Promise("list_groups", "all groups", DOC, "none"),
        Promise(
            "describe_features",
            "supported and finalized levels, and their epoch",
            DOC,
            "metadata.version is supported, finalized, finalized_epoch",
        ),
        Promise(
            "describe_metadata_quorum",
            "leader, epoch, voters, observers",
            DOC,
            "a leader that votes; observers 1, 2, 3",
        ),
        Promise(
            "describe_acls, no authorizer",
            "a cluster without an authorizer says so",
            DOC,
            "SecurityDisabledError",
        ),
        Promise("alter_user_scram_credentials", "None for a user on success", DOC, "None"),
        Promise(
            "describe_user_scram_credentials",
            "mechanism and iterations of each user",
            DOC,
            "SCRAM_SHA_256 4096",
        ),
        Promise(
            "describe_user_scram_credentials, unknown",
            "a user without credentials is an error of its own",
            JAVA,
            "an error",
        ),
        Promise("delete_topics, by id", "names or ids", DOC, "gone"),
        Promise(
            "delete_topics, unknown",
            "a topic that is not there is an error",
            DOC,
            "UnknownTopicOrPartitionError",
        ),
    ),
    "librdkafka": (
        Promise("create_topics", "the future's result is None", DOC, "None"),
        Promise("create_topics, again", "raises", DOC, "TOPIC_ALREADY_EXISTS"),
        Promise("create_topics, validate_only", "creates nothing", DOC, "None, not there"),
        Promise(
            "list_topics, unknown",
            "is not created without auto-creation",
            DOC,
            "UNKNOWN_TOPIC_OR_PART",
        ),
        Promise("describe_topics", "partitions, leaders, replicas", DOC, "2 partitions, led"),
        Promise("describe_topics, unknown", "raises for that topic", DOC, "UNKNOWN_TOPIC_OR_PART"),
        Promise(
            "describe_cluster, operations",
            "nodes, controller, and the operations that are allowed",
            DOC,
            "3 nodes, controller among them, operations",
        ),
        Promise("create_partitions", "the future's result is None", DOC, "None"),
        Promise("incremental_alter_configs", "values that are not named remain", DOC, "1000, 5000"),
        Promise("alter_configs", "replaces all values of the resource", DOC, "default, 7000"),
        Promise(
            "describe_configs, unknown topic",
            "raises for that resource",
            DOC,
            "UNKNOWN_TOPIC_OR_PART",
        ),
        Promise("list_offsets", "beginning, end, and the greatest time", DOC, "0, 3, 2"),
        Promise("delete_records, OFFSET_END", "all records of the partition", DOC, "3"),
        Promise(
            "elect_leaders, preferred",
            "an error or None for each partition",
            DOC,
            "ELECTION_NOT_NEEDED",
        ),
        Promise("list_consumer_groups", "those that there are", DOC, "0 groups, 0 errors"),
        Promise(
            "alter_user_scram_credentials, unknown",
            "raises for the user",
            DOC,
            "RESOURCE_NOT_FOUND",
        ),
        Promise("delete_topics", "the future's result is None", DOC, "None"),
        Promise("delete_topics, unknown", "raises", DOC, "UNKNOWN_TOPIC_OR_PART"),
    ),
    "kafkajs": (
        Promise("createTopics", "true if it was created", GUIDE, "true"),
        Promise("createTopics, again", "false if it is there already", GUIDE, "false"),
        Promise("createTopics, validateOnly", "nothing is created", GUIDE, "not there"),
        Promise(
            "fetchTopicMetadata", "partitions with leader, replicas, isr", GUIDE, "1 partition, led"
        ),
        Promise(
            "fetchTopicMetadata, unknown",
            "throws if a topic does not exist",
            GUIDE,
            "UNKNOWN_TOPIC_OR_PARTITION",
        ),
        Promise(
            "describeCluster", "brokers, controller, id", GUIDE, "1, 2, 3; controller among them"
        ),
        Promise("fetchTopicOffsets", "highest and lowest offset", GUIDE, "0 to 3"),
        Promise("fetchTopicOffsetsByTimestamp", "the first at or after the time", GUIDE, "1"),
        Promise("deleteTopicRecords", "up to the offset, without it", GUIDE, "2 to 3"),
        Promise("deleteTopicRecords, -1", "all records", GUIDE, "3 to 3"),
        Promise("describeConfigs, configNames", "those alone", GUIDE, "retention.ms"),
        Promise("createPartitions", "resolves on success", GUIDE, "2 partitions"),
        Promise(
            "send",
            "topic, partition, error code, base offset, append time",
            GUIDE,
            "true, 1, 0, 0, -1",
        ),
        Promise("send, acks 1", "the leader has it", GUIDE, "1"),
        Promise("send, acks 0", "nothing is answered", GUIDE, "3"),
        Promise("send, GZIP", "compresses", GUIDE, "4"),
        Promise("send, null value", "a tombstone", GUIDE, "5"),
        Promise("send, timestamp", "the record's own time", GUIDE, "6"),
        Promise(
            "send, several messages", "one batch; the offset of its first", GUIDE, "7, then 10"
        ),
        Promise(
            "send, key", "messages with the same key go to one partition", GUIDE, "1 partition"
        ),
        Promise("sendBatch", "metadata for each partition", GUIDE, "0, 1"),
        Promise("createPartitioner", "its own choice", GUIDE, "1"),
        Promise("idempotent", "each message is written exactly once", GUIDE, "3"),
        Promise(
            "send, unknown topic",
            "retried, then an error",
            GUIDE,
            "KafkaJSNumberOfRetriesExceeded",
        ),
        Promise(
            "send, too large",
            "a batch above the topic's limit is an error",
            GUIDE,
            "MESSAGE_TOO_LARGE",
        ),
        Promise("send, LogAppendTime", "the time that the broker gave", GUIDE, "the broker's time"),
        Promise("listPartitionReassignments", "those under way", TYPES, "0"),
        Promise("deleteTopics", "the topic goes", GUIDE, "gone"),
    ),
    "platformatic": (
        Promise(
            "createTopics",
            "id, name, partitions, replicas and configuration of each",
            GUIDE,
            "an id, 1 partition, 1 replica, cleanup.policy=delete",
        ),
        Promise("listTopics", "the available topics", GUIDE, "yes"),
        Promise("createPartitions", "resolves", TYPES, "resolved"),
        Promise("listOffsets", "offsets of the partitions", TYPES, "3"),
        Promise("deleteRecords", "the low watermarks", TYPES, "2"),
        Promise("describeLogDirs", "one description a broker", GUIDE, "1, 2, 3"),
        Promise("alterClientQuotas", "the entities that changed", GUIDE, "1"),
        Promise(
            "describeClientQuotas", "the quotas of the entity", GUIDE, "producer_byte_rate=1000"
        ),
        Promise(
            "alterClientQuotas, order",
            "an entity's types are sorted",
            SUITE,
            "user, client-id+user",
        ),
        Promise(
            "describeClientQuotas, order",
            "a user before the user with a client id; quotas in the order of Kafka's hash map",
            SUITE,
            "user, client-id+user: consumer_byte_rate, request_percentage, producer_byte_rate",
        ),
        Promise("listGroups", "the groups", GUIDE, "0"),
        Promise("deleteTopics", "void", GUIDE, "gone"),
    ),
    "aiokafka": (
        Promise("create_topics", "the answer has no error", DOC, "0"),
        Promise("create_topics, again", "a topic that is there is an error", JAVA, "36"),
        Promise("create_topics, validate_only", "checked, not created", DOC, "0, not there"),
        Promise("list_topics", "the names of all topics", DOC, "yes"),
        Promise("describe_topics", "partitions with leader and replicas", DOC, "3 replicas, led"),
        Promise(
            "describe_cluster",
            "the brokers and the controller",
            DOC,
            "[1, 2, 3]; controller among them",
        ),
        Promise("describe_configs", "the requested keys", DOC, "cleanup.policy=delete"),
        Promise("describe_configs, broker", "asks that broker", DOC, "node.id=2"),
        Promise("alter_configs", "the values of the resource", DOC, "retention.ms=7000"),
        Promise("create_partitions", "grows the topic to the total", DOC, "0, yes"),
        Promise("list_consumer_groups", "those that there are", DOC, "[]"),
        Promise("partitions_for", "the partitions of the topic", DOC, "[0, 1, 2]"),
        Promise("send_and_wait", "partition and offset of the record", DOC, "0, 0"),
        Promise(
            "send_and_wait, time",
            "the record's time, type 0 for CreateTime",
            DOC,
            "0, 1, time 1000000, type 0",
        ),
        Promise("send_and_wait, key", "the next offsets", DOC, "2, 3"),
        Promise("send_and_wait, acks=0", "does not wait", DOC, "sent"),
        Promise("send_and_wait, acks=1", "waits for the leader", DOC, "sent"),
        Promise("send_and_wait, idempotent", "exactly one copy", DOC, "sent"),
        Promise("send_and_wait, gzip", "compresses with the codec", DOC, "sent"),
        Promise("send_and_wait, snappy", "compresses with the codec", DOC, "sent"),
        Promise("send_and_wait, lz4", "compresses with the codec", DOC, "sent"),
        Promise("send_and_wait, zstd", "compresses with the codec", DOC, "sent"),
        Promise("send_batch", "the offset of the first record", GUIDE, "2, 0"),
        Promise(
            "send_and_wait, too large",
            "a record above the topic's limit is an error",
            GUIDE,
            "MessageSizeTooLargeError",
        ),
        Promise(
            "send_and_wait, unknown topic",
            "an error after the request's timeout",
            GUIDE,
            "UnknownTopicOrPartitionError",
        ),
        Promise(
            "send_and_wait, bad name",
            "the same for a name that no topic can have",
            GUIDE,
            "UnknownTopicOrPartitionError",
        ),
        Promise("getone", "records in their order, with their times", DOC, "0 b'0', 1 1000000"),
        Promise("getmany", "all that there are, and the high watermark", DOC, "4, highwater 4"),
        Promise("getmany, max_records", "at most so many", DOC, "1"),
        Promise("getmany, timeout", "an empty dict", DOC, "{}"),
        Promise(
            "records, headers",
            "values and headers as sent, with all codecs",
            DOC,
            r"""14, sizes {500}, headers {(('h', b'\x00\xff'), ('n', b''))}""",
        ),
        Promise("subscribe without a group", "all partitions of the topic", DOC, "[0, 1, 2]"),
        Promise("subscribe to a pattern", "the topics that match", DOC, "read"),
        Promise("read_committed", "records below the last stable offset", DOC, "0, stable 4"),
        Promise(
            "fetch_max_bytes",
            "a batch that is larger is returned all the same",
            DOC,
            "[0, 1, 2, 3]",
        ),
        Promise("topics", "all topics", DOC, "yes"),
        Promise("beginning_offsets, end_offsets", "the first and the next offset", DOC, "0, 4"),
        Promise("offsets_for_times", "the first record at or after the time", DOC, "1 at 1000001"),
        Promise("offsets_for_times, later than all", "None", DOC, "None"),
        Promise("seek", "the next record is that one", DOC, "1, then 2"),
        Promise("seek_to_beginning, seek_to_end", "the first and the next offset", DOC, "0, 4"),
        Promise("seek, beyond the end", "auto_offset_reset applies", DOC, "0"),
        Promise("seek, beyond the end, no reset", "an error", DOC, "OffsetOutOfRangeError"),
        Promise("pause", "returns nothing until resumed", DOC, "0, then 0"),
        Promise(
            "delete_records",
            "the new low watermark, which is the earliest offset",
            DOC,
            "low watermark 2, earliest 2",
        ),
        Promise(
            "getone, deleted offset",
            "an error without auto_offset_reset",
            DOC,
            "OffsetOutOfRangeError",
        ),
        Promise("delete_topics", "the topic goes", DOC, "yes"),
    ),
    "kcat": (
        Promise("-L", "brokers and topics", HELP, "3 brokers"),
        Promise("-P -z gzip", "compresses with the codec", HELP, "sent"),
        Promise("-Q, by time", "the offset of a time", HELP, "0"),
        Promise("-C -o -1 -e", "the last record, then exits at the end", HELP, "2"),
        Promise("-C -c 1", "exits after so many records", HELP, "0"),
    ),
}


def rows() -> Iterator[str]:
    """Yield the lines of the table."""
    yield "| client | operation | what its documentation promises | says | found |"
    yield "|---|---|---|---|---|"
    for client, promises in PROMISES.items():
        for each in promises:
            cells = (client, f"`{each.operation}`", each.promise, each.source, each.found)
            yield f"| {' | '.join(cells)} |"


def differences() -> list[str]:
    """Return a line for each promise that our cluster does not keep."""
    return [
        f"- {client}, `{each.operation}`: {each.result} is promised; {each.why}."
        for client, promises in PROMISES.items()
        for each in promises
        if each.here is not None
    ]


def written() -> str:
    """Return the part of the document that is generated from this table."""
    return "\n".join([BEGIN, *rows(), "", *(differences() or ["All of it is kept."]), END])


def main() -> None:
    """Write the table into the document."""
    text = DOCUMENT.read_text()
    before, _, rest = text.partition(BEGIN)
    DOCUMENT.write_text(before + written() + rest.partition(END)[2])


if __name__ == "__main__":
    main()
