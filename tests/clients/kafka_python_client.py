"""kafka-python with defaults: python -m tests.clients.kafka_python_client HOST:PORT TOPIC."""

import sys

from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import ConfigResource, ConfigResourceType, KafkaAdminClient, NewTopic

from tests.clients.steps import WAIT_S, Steps


def main(server: str, topic: str) -> None:
    """Run each operation, and print its outcome."""
    steps = Steps()
    admin = KafkaAdminClient(bootstrap_servers=server)
    partition = TopicPartition(topic, 0)
    new = [NewTopic(topic, num_partitions=1, replication_factor=1)]
    steps.take("create", lambda: admin.create_topics(new) and True)
    steps.take_in_time("list", lambda: topic in admin.list_topics())

    def write() -> bool:
        producer = KafkaProducer(bootstrap_servers=server)
        sent = [producer.send(topic, value) for value in (b"0", b"1")]
        return [each.get(timeout=60).offset for each in sent] == [0, 1]

    steps.take("write", write)
    consumer = KafkaConsumer(bootstrap_servers=server, auto_offset_reset="earliest")
    steps.take("offsets", lambda: consumer.end_offsets([partition])[partition] == 2)
    resource = ConfigResource(ConfigResourceType.TOPIC, topic)
    steps.take("configs", lambda: bool(admin.describe_configs([resource])))

    def read() -> bool:
        consumer.assign([partition])
        return [next(consumer).value for _ in range(2)] == [b"0", b"1"]

    steps.take("read", read)
    steps.take("groups", lambda: str(len(admin.list_groups())))

    def subscribe() -> bool | str:
        member = KafkaConsumer(
            topic, bootstrap_servers=server, group_id="g", auto_offset_reset="earliest"
        )
        return bool(member.poll(timeout_ms=WAIT_S * 1_000)) or "waits"

    steps.take("subscribe", subscribe)

    def transact() -> bool:
        producer = KafkaProducer(bootstrap_servers=server, transactional_id="t")
        producer.init_transactions()
        return True

    steps.take("transact", transact)
    steps.take("delete", lambda: admin.delete_topics([topic]) and True)
    steps.end()


if __name__ == "__main__":
    main(*sys.argv[1:])
