"""kafka-python does what it promises: python -m ...kafka_python_promises HOST:PORT TOPIC."""

import sys
import uuid
from typing import Any

from kafka import KafkaProducer, TopicPartition, TopicPartitionReplica
from kafka.admin import (
    ACLFilter,
    ACLOperation,
    ACLPermissionType,
    ACLResourcePatternType,
    ConfigResource,
    ConfigResourceType,
    KafkaAdminClient,
    OffsetSpec,
    ResourcePatternFilter,
    ResourceType,
    UserScramCredentialDeletion,
    UserScramCredentialUpsertion,
)

from tests.clients.steps import Steps, in_time

_PREFERRED = 0
_USER = "promised"


def main(server: str, topic: str) -> None:
    """Run each operation, and print its outcome."""
    admin = KafkaAdminClient(bootstrap_servers=server)
    steps = Steps()
    topics = _Topics(admin, topic)
    topics.create(steps)
    topics.describe(steps)
    topics.grow(steps)
    _Configs(admin, topic).take(steps)
    _move(admin, topic, steps)
    _offsets(admin, server, topic, steps)
    _cluster(admin, steps)
    _users(admin, steps)
    topics.delete(steps)
    steps.end()


class _Topics:
    """The topic, and others that begin with its name."""

    def __init__(self, admin: KafkaAdminClient, topic: str) -> None:
        self._admin = admin
        self._topic = topic

    def create(self, steps: Steps) -> None:
        steps.take("create_topics, names only", self._by_default)
        steps.take("create_topics, answer", self._answer)
        steps.take("create_topics, again", lambda: bool(self._admin.create_topics([self._topic])))
        steps.take("create_topics, validate_only", self._validated)
        steps.take("create_topics, assignments", self._assigned)
        steps.take("create_topics, some bad", self._some_bad)
        steps.take("wait_for_topics", self._waited)
        steps.take(
            "wait_for_topics, unknown",
            lambda: str(self._admin.wait_for_topics([f"{self._topic}-no"], timeout_ms=300)),
        )

    def _by_default(self) -> str:
        self._admin.create_topics([self._topic])
        self._admin.wait_for_topics([self._topic])

        def described() -> str:
            (partition,) = self._described(self._topic)
            return f"1 partition with {len(partition['replica_nodes'])} replica"

        return in_time(described, "1 partition with 1 replica")

    def _answer(self) -> str:
        new = {
            "num_partitions": 2,
            "replication_factor": 3,
            "configs": {"retention.ms": "1000"},
        }
        (told,) = self._admin.create_topics({f"{self._topic}-2": new})["topics"]
        configs = told["configs"]
        named = [f"{name}={configs[name]['value']}" for name in ("retention.ms", "cleanup.policy")]
        partitions, replicas = told["num_partitions"], told["replication_factor"]
        return f"{partitions} partitions, {replicas} replicas, {', '.join(named)}"

    def _validated(self) -> str:
        name = f"{self._topic}-dry"
        self._admin.create_topics([name], validate_only=True)
        return "accepted, " + ("there" if name in self._admin.list_topics() else "not there")

    def _assigned(self) -> str:
        name = f"{self._topic}-3"
        self._admin.create_topics({name: {"assignments": {0: [3, 1]}}})
        self._admin.wait_for_topics([name])

        def described() -> str:
            (partition,) = self._described(name)
            return f"{partition['replica_nodes']} led by {partition['leader_id']}"

        return in_time(described, "[3, 1] led by 3")

    def _some_bad(self) -> str:
        new: dict[str, Any] = {
            f"{self._topic}-4": {},
            f"{self._topic}-5": {"configs": {"retention.ms": "long"}},
            f"{self._topic}-6": {"num_partitions": 1, "replication_factor": 9},
            "not a name": {},
        }
        told = self._admin.create_topics(new, raise_errors=False)["topics"]
        codes = {each["name"]: each["error_code"] for each in told}
        return ", ".join(str(codes[name]) for name in new)

    def _waited(self) -> str:
        self._admin.wait_for_topics([f"{self._topic}-2", f"{self._topic}-4"])
        return "all have leaders"

    def describe(self, steps: Steps) -> None:
        steps.take_in_time("list_topics", lambda: self._topic in self._admin.list_topics())
        steps.take("describe_topics, by id", lambda: in_time(self._by_id, "both found"))
        steps.take("describe_topics, unknown", self._unknown)
        steps.take("describe_cluster", self._described_cluster)
        steps.take("describe_topic_partitions, limit", self._page)

    def _id(self, name: str) -> uuid.UUID:
        (described,) = self._admin.describe_topics([name])
        return uuid.UUID(str(described["topic_id"]))

    def _by_id(self) -> str:
        asked = [self._topic, self._id(f"{self._topic}-2")]
        names = {each["name"] for each in self._admin.describe_topics(asked)}
        return "both found" if names == {self._topic, f"{self._topic}-2"} else str(names)

    def _unknown(self) -> str:
        (described,) = self._admin.describe_topics([f"{self._topic}-no"])
        return str(described["error_code"])

    def _described_cluster(self) -> str:
        found = self._admin.describe_cluster()
        brokers = sorted(each.get("node_id", each.get("broker_id")) for each in found["brokers"])
        named = ", ".join(map(str, brokers))
        controller = "among them" if found["controller_id"] in brokers else "elsewhere"
        return (
            f"brokers {named}; controller {controller}; {'an' if found['cluster_id'] else 'no'} id"
        )

    def _page(self) -> str:
        page = self._admin.describe_topic_partitions(
            [f"{self._topic}-2"], response_partition_limit=1
        )
        count = sum(len(each["partitions"]) for each in page["topics"])
        return f"{count} partition, next is partition {page['next_cursor']['partition_index']}"

    def grow(self, steps: Steps) -> None:
        name = f"{self._topic}-4"

        def grown(count: int, **options: Any) -> str:
            self._admin.create_partitions({name: count}, **options)
            return in_time(lambda: str(len(self._described(name))), "3")

        steps.take("create_partitions", lambda: grown(3))
        steps.take("create_partitions, fewer", lambda: grown(2))
        steps.take(
            "create_partitions, validate_only",
            lambda: f"accepted, still {grown(5, validate_only=True)}",
        )

    def delete(self, steps: Steps) -> None:
        rest = [n for n in self._admin.list_topics() if n.startswith(f"{self._topic}-")]
        self._admin.delete_topics(rest)
        steps.take("delete_topics, by id", self._deleted)
        steps.take(
            "delete_topics, unknown",
            lambda: bool(self._admin.delete_topics([f"{self._topic}-no"])),
        )

    def _deleted(self) -> str:
        self._admin.delete_topics([self._id(self._topic)])
        return in_time(
            lambda: "there" if self._topic in self._admin.list_topics() else "gone", "gone"
        )

    def _described(self, name: str) -> Any:
        (described,) = self._admin.describe_topics([name])
        return sorted(described["partitions"], key=lambda each: each["partition_index"])


class _Configs:
    """Configs of the topic."""

    def __init__(self, admin: KafkaAdminClient, topic: str) -> None:
        self._admin = admin
        self._topic = topic

    def take(self, steps: Steps) -> None:
        self._alter({"retention.ms": "1000"})
        steps.take("describe_configs, modified", lambda: ", ".join(self._values()))
        steps.take("describe_configs, all", self._all)
        steps.take("alter_configs", lambda: self._altered({"segment.ms": "5000"}))
        steps.take("alter_configs, validate_only", self._validated)
        steps.take("alter_configs, append", self._appended)
        steps.take("alter_configs, bad value", lambda: self._told({"segment.ms": "long"}))
        steps.take("reset_configs", self._reset)
        steps.take("list_config_resources, topics", self._listed)

    def _values(self, **options: Any) -> dict[str, str]:
        told = self._admin.describe_configs([_resource(self._topic)], **options)
        return {name: each["value"] for name, each in told["topic"][self._topic].items()}

    def _all(self) -> str:
        found = self._values(config_filter="all")
        named = [name for name in ("cleanup.policy", "retention.ms") if name in found]
        return f"{', '.join(named)} and {'more' if len(found) > 20 else 'few'}"

    def _alter(self, configs: dict[str, Any], **options: Any) -> str:
        told = self._admin.alter_configs([_resource(self._topic, configs)], **options)
        return str(told["topic"][self._topic])

    def _altered(self, configs: dict[str, str]) -> str:
        self._alter(configs)
        return ", ".join(f"{name}={value}" for name, value in sorted(self._values().items()))

    def _validated(self) -> str:
        self._alter({"segment.ms": "6000"}, validate_only=True)
        return f"segment.ms={self._values()['segment.ms']}"

    def _appended(self) -> str:
        self._alter({"cleanup.policy": ("APPEND", "compact")})
        return f"cleanup.policy={self._values()['cleanup.policy']}"

    def _told(self, configs: dict[str, str]) -> str:
        told = self._alter(configs)
        name = "InvalidConfigurationError"
        return name if name in told else told

    def _reset(self) -> str:
        keys = {"segment.ms": None, "cleanup.policy": None}
        self._admin.reset_configs([_resource(self._topic, keys)])
        return ", ".join(self._values())

    def _listed(self) -> bool:
        return self._topic in self._admin.list_config_resources(["TOPIC"])["topic"]


def _resource(topic: str, configs: dict[str, Any] | None = None) -> ConfigResource:
    return ConfigResource(ConfigResourceType.TOPIC, topic, configs)


def _move(admin: KafkaAdminClient, topic: str, steps: Steps) -> None:
    name = f"{topic}-3"
    partition = TopicPartition(name, 0)

    def elected() -> str:
        admin.elect_leaders(_PREFERRED, {name: [0]})
        return "accepted"

    def moved() -> str:
        told = admin.alter_partition_reassignments({partition: [2, 3]})
        accepted = "accepted" if told[partition] is None else told[partition]
        return f"{accepted}, {in_time(replicas, '[2, 3]')}"

    def replicas() -> str:
        (described,) = admin.describe_topics([name])
        return str(described["partitions"][0]["replica_nodes"])

    def cancelled() -> str:
        told = admin.alter_partition_reassignments({partition: None})[partition]
        return str(getattr(told, "__name__", told))

    steps.take("elect_leaders, preferred", elected)

    def moving() -> str:
        return str(admin.list_partition_reassignments([partition]) or "none")

    steps.take("alter_partition_reassignments", moved)
    steps.take("list_partition_reassignments", lambda: in_time(moving, "none"))
    steps.take("alter_partition_reassignments, cancel", cancelled)


def _offsets(admin: KafkaAdminClient, server: str, topic: str, steps: Steps) -> None:
    partition, unknown = TopicPartition(topic, 0), TopicPartition(topic, 9)
    with KafkaProducer(bootstrap_servers=server) as producer:
        for number in range(3):
            sent = producer.send(topic, b"%d" % number, timestamp_ms=1_000 * (number + 1))
            sent.get(timeout=60)

    def offset(spec: Any) -> int:
        return int(admin.list_partition_offsets({partition: spec})[partition].offset)

    def deleted(before: int) -> str:
        told = admin.delete_records({partition: before})[partition]
        low = getattr(told, "low_watermark", None) or told["low_watermark"]
        return f"low watermark {low}, earliest {offset(OffsetSpec.EARLIEST)}"

    def listed() -> str:
        specs = (OffsetSpec.EARLIEST, OffsetSpec.LATEST, OffsetSpec.MAX_TIMESTAMP)
        return ", ".join(str(offset(spec)) for spec in specs)

    def directories() -> str:
        found = admin.describe_log_dirs([topic])
        return ", ".join(str(each["broker"]) for each in sorted(found, key=lambda b: b["broker"]))

    def placed(suffix: str) -> str:
        broker, path = next(
            (each["broker"], directory["log_dir"])
            for each in admin.describe_log_dirs([topic])
            for directory in each["log_dirs"]
            if directory["topics"]
        )
        replica = TopicPartitionReplica(topic, 0, broker)
        told = admin.alter_replica_log_dirs({replica: f"{path}{suffix}"})
        return str(told[replica].__name__)

    steps.take("describe_log_dirs", directories)
    steps.take("alter_replica_log_dirs", lambda: placed(""))
    steps.take("alter_replica_log_dirs, unknown", lambda: placed("-no"))
    steps.take("list_partition_offsets", listed)
    steps.take("list_partition_offsets, by time", lambda: str(offset(1_001)))
    steps.take(
        "list_partition_offsets, unknown",
        lambda: str(admin.list_partition_offsets({unknown: OffsetSpec.LATEST}, timeout_ms=500)),
    )
    steps.take("delete_records", lambda: deleted(2))
    steps.take("delete_records, beyond the end", lambda: deleted(9))


def _cluster(admin: KafkaAdminClient, steps: Steps) -> None:
    def features() -> str:
        name = "metadata.version"
        return f"{name} is {', '.join(admin.describe_features()[name])}"

    def quorum() -> str:
        (found,) = admin.describe_metadata_quorum()["topics"][0]["partitions"]
        voters = {each["replica_id"] for each in found["current_voters"]}
        leader = "votes" if found["leader_id"] in voters else "does not vote"
        observers = ", ".join(str(i) for i in sorted(o["replica_id"] for o in found["observers"]))
        return f"a leader that {leader}; observers {observers}"

    def acls() -> str:
        everything = ACLFilter(
            principal=None,
            host=None,
            operation=ACLOperation.ANY,
            permission_type=ACLPermissionType.ANY,
            resource_pattern=ResourcePatternFilter(
                ResourceType.ANY, None, ACLResourcePatternType.ANY
            ),
        )
        return str(admin.describe_acls(everything))

    steps.take("list_groups", lambda: str(admin.list_groups() or "none"))
    steps.take("describe_features", features)
    steps.take("describe_metadata_quorum", quorum)
    steps.take("describe_acls, no authorizer", acls)


def _users(admin: KafkaAdminClient, steps: Steps) -> None:
    set_ = UserScramCredentialUpsertion(_USER, "SCRAM-SHA-256", "secret", iterations=4096)
    unset = UserScramCredentialDeletion(_USER, "SCRAM-SHA-256")

    def described() -> str:
        (info,) = admin.describe_user_scram_credentials([_USER])[_USER]["credential_infos"]
        return f"{info['mechanism'].name} {info['iterations']}"

    def unknown() -> str:
        admin.alter_user_scram_credentials([unset])
        found = admin.describe_user_scram_credentials([_USER])
        return "an error" if found[_USER]["error"] else str(found)

    steps.take(
        "alter_user_scram_credentials",
        lambda: str(admin.alter_user_scram_credentials([set_])[_USER]),
    )
    steps.take("describe_user_scram_credentials", described)
    steps.take("describe_user_scram_credentials, unknown", unknown)


if __name__ == "__main__":
    main(*sys.argv[1:])
