"""librdkafka does what it promises: python -m tests.clients.librdkafka_promises HOST:PORT TOPIC."""

import sys
from collections.abc import Callable
from typing import Any

from confluent_kafka import (
    OFFSET_END,
    ElectionType,
    KafkaException,
    Producer,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    OffsetSpec,
    ScramMechanism,
    UserScramCredentialDeletion,
)

from tests.clients.steps import Steps, in_time

_WAIT_S = 60


def main(server: str, topic: str) -> None:
    """Run each operation, and print its outcome."""
    admin = AdminClient({"bootstrap.servers": server})
    steps = Steps()

    def take(name: str, action: Callable[[], str]) -> None:
        steps.take(name, lambda: _or_code(action))

    _topics(admin, topic, take)
    _configs(admin, topic, take)
    _records(admin, server, topic, take)
    _rest(admin, topic, take)
    steps.end()


def _or_code(action: Callable[[], str]) -> str:
    try:
        return action()
    except KafkaException as error:
        return str(error.args[0].name())


def _topics(admin: AdminClient, topic: str, take: Callable[..., None]) -> None:
    def created(name: str, **options: Any) -> str:
        return str(admin.create_topics([NewTopic(name, 1, 1)], **options)[name].result(_WAIT_S))

    def is_there(name: str) -> bool:
        return name in admin.list_topics(timeout=_WAIT_S).topics

    def validated() -> str:
        name = f"{topic}-dry"
        told = created(name, validate_only=True)
        return f"{told}, {'there' if is_there(name) else 'not there'}"

    def unknown() -> str:
        name = f"{topic}-no"
        found = admin.list_topics(name, timeout=_WAIT_S).topics[name]
        return str(found.error.name())

    def described(name: str) -> str:
        found = admin.describe_topics(TopicCollection([name]))[name].result(_WAIT_S)
        led = all(each.leader is not None for each in found.partitions)
        return f"{len(found.partitions)} partitions, {'led' if led else 'not led'}"

    def grown() -> str:
        return str(admin.create_partitions([NewPartitions(topic, 2)])[topic].result(_WAIT_S))

    def cluster() -> str:
        found = admin.describe_cluster(include_authorized_operations=True).result(_WAIT_S)
        ids = [node.id for node in found.nodes]
        controller = "among them" if found.controller.id in ids else "elsewhere"
        operations = "operations" if found.authorized_operations else "no operations"
        return f"{len(ids)} nodes, controller {controller}, {operations}"

    take("create_topics", lambda: created(topic))
    take("create_topics, again", lambda: created(topic))
    take("create_topics, validate_only", validated)
    take("list_topics, unknown", unknown)
    take("create_partitions", grown)
    take("describe_topics", lambda: in_time(lambda: described(topic), "2 partitions, led"))
    take("describe_topics, unknown", lambda: described(f"{topic}-no"))
    take("describe_cluster, operations", cluster)


def _configs(admin: AdminClient, topic: str, take: Callable[..., None]) -> None:
    def resource(**configs: str) -> ConfigResource:
        return ConfigResource(
            ConfigResource.Type.TOPIC,
            topic,
            incremental_configs=[
                ConfigEntry(
                    name.replace("_", "."), value, incremental_operation=AlterConfigOpType.SET
                )
                for name, value in configs.items()
            ],
        )

    def value(name: str) -> str:
        asked = ConfigResource(ConfigResource.Type.TOPIC, topic)
        entry = admin.describe_configs([asked])[asked].result(_WAIT_S)[name]
        return "default" if entry.is_default else str(entry.value)

    def incremental() -> str:
        for each in (resource(retention_ms="1000"), resource(segment_ms="5000")):
            admin.incremental_alter_configs([each])[each].result(_WAIT_S)
        return f"{value('retention.ms')}, {value('segment.ms')}"

    def replaced() -> str:
        new = ConfigResource(ConfigResource.Type.TOPIC, topic, set_config={"segment.ms": "7000"})
        admin.alter_configs([new])[new].result(_WAIT_S)
        return f"{value('retention.ms')}, {value('segment.ms')}"

    def unknown() -> str:
        asked = ConfigResource(ConfigResource.Type.TOPIC, f"{topic}-no")
        return str(admin.describe_configs([asked])[asked].result(_WAIT_S))

    take("incremental_alter_configs", incremental)
    take("alter_configs", replaced)
    take("describe_configs, unknown topic", unknown)


def _records(admin: AdminClient, server: str, topic: str, take: Callable[..., None]) -> None:
    partition = TopicPartition(topic, 0)
    producer = Producer({"bootstrap.servers": server})
    for number in range(3):
        producer.produce(topic, str(number), partition=0, timestamp=1_000 * (number + 1))
        producer.flush(_WAIT_S)

    def listed() -> str:
        specs = (OffsetSpec.earliest(), OffsetSpec.latest(), OffsetSpec.max_timestamp())
        found = [admin.list_offsets({partition: spec})[partition].result(_WAIT_S) for spec in specs]
        return ", ".join(str(each.offset) for each in found)

    def deleted() -> str:
        before = TopicPartition(topic, 0, OFFSET_END)
        return str(admin.delete_records([before])[before].result(_WAIT_S).low_watermark)

    take("list_offsets", listed)
    take("delete_records, OFFSET_END", deleted)


def _rest(admin: AdminClient, topic: str, take: Callable[..., None]) -> None:
    def elected() -> str:
        partition = TopicPartition(topic, 0)
        told = admin.elect_leaders(ElectionType.PREFERRED, [partition]).result(_WAIT_S)[partition]
        return "None" if told is None else str(told.name())

    def groups() -> str:
        found = admin.list_consumer_groups().result(_WAIT_S)
        return f"{len(found.valid)} groups, {len(found.errors)} errors"

    def no_user() -> str:
        gone = UserScramCredentialDeletion("nobody", ScramMechanism.SCRAM_SHA_256)
        return str(admin.alter_user_scram_credentials([gone])["nobody"].result(_WAIT_S))

    def deleted() -> str:
        return str(admin.delete_topics([topic])[topic].result(_WAIT_S))

    take("elect_leaders, preferred", elected)
    take("list_consumer_groups", groups)
    take("alter_user_scram_credentials, unknown", no_user)
    take("delete_topics", deleted)
    take("delete_topics, unknown", deleted)


if __name__ == "__main__":
    main(*sys.argv[1:])
