"""librdkafka with defaults: python -m tests.clients.librdkafka_client HOST:PORT TOPIC."""

import sys

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic

from tests.clients.steps import WAIT_S, Steps

_TIMEOUT_S = 60


def main(server: str, topic: str) -> None:
    """Run each operation, and print its outcome."""
    steps = Steps()
    to = {"bootstrap.servers": server}
    admin = AdminClient(to)
    steps.take(
        "create",
        lambda: admin.create_topics([NewTopic(topic, 1, 1)])[topic].result(_TIMEOUT_S) is None,
    )
    steps.take_in_time("list", lambda: topic in admin.list_topics(timeout=_TIMEOUT_S).topics)

    def write() -> bool:
        producer, offsets = Producer(to), []
        for value in (b"0", b"1"):
            producer.produce(
                topic, value, on_delivery=lambda _, message: offsets.append(message.offset())
            )
        return producer.flush(_TIMEOUT_S) == 0 and offsets == [0, 1]

    steps.take("write", write)
    consumer = Consumer({**to, "group.id": "g"})
    partition = TopicPartition(topic, 0, 0)
    steps.take("offsets", lambda: consumer.get_watermark_offsets(partition, _TIMEOUT_S) == (0, 2))
    resource = ConfigResource(ConfigResource.Type.TOPIC, topic)
    steps.take(
        "configs",
        lambda: bool(admin.describe_configs([resource])[resource].result(_TIMEOUT_S)),
    )

    def read() -> bool:
        consumer.assign([partition])
        found = consumer.consume(2, _TIMEOUT_S)
        return [message.value() for message in found] == [b"0", b"1"]

    steps.take("read", read)
    steps.take("groups", lambda: str(len(admin.list_consumer_groups().result(_TIMEOUT_S).valid)))

    def subscribe() -> bool | str:
        member = Consumer({**to, "group.id": "g", "auto.offset.reset": "earliest"})
        member.subscribe([topic])
        message = member.poll(WAIT_S)
        if message is None:
            return "waits"
        error = message.error()
        return True if error is None else str(error.name())

    steps.take("subscribe", subscribe)

    def transact() -> bool | str:
        try:
            Producer({**to, "transactional.id": "t"}).init_transactions(_TIMEOUT_S)
        except KafkaException as error:
            return str(error.args[0].name())
        return True

    steps.take("transact", transact)
    steps.take("delete", lambda: admin.delete_topics([topic])[topic].result(_TIMEOUT_S) is None)
    steps.end()


if __name__ == "__main__":
    main(*sys.argv[1:])
