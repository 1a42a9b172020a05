"""As `kafka_python_client`, with librdkafka: python -m tests.stories.librdkafka_client H:P."""

import json
import sys
import time

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

TOPIC = "from-librdkafka"
_TIMEOUT_S = 20


def main(server: str) -> None:
    """Create a topic, write, read, and delete it."""
    admin = AdminClient({"bootstrap.servers": server})
    admin.create_topics([NewTopic(TOPIC, 2, 2)])[TOPIC].result(_TIMEOUT_S)
    refused = False
    try:
        admin.create_topics([NewTopic(TOPIC, 2, 2)])[TOPIC].result(_TIMEOUT_S)
    except KafkaException as error:
        refused = error.args[0].code() == KafkaError.TOPIC_ALREADY_EXISTS
    offsets: dict[int, int] = {}
    producer = Producer({"bootstrap.servers": server, "acks": "all"})
    for number in range(20):
        producer.produce(
            TOPIC,
            b"%d" % number,
            partition=number % 2,
            on_delivery=lambda error, message: offsets.update(
                {int(message.value()): message.offset()}
            ),
        )
    assert producer.flush(_TIMEOUT_S) == 0
    consumer = Consumer({"bootstrap.servers": server, "group.id": "test"})
    consumer.assign([TopicPartition(TOPIC, 0, 0), TopicPartition(TOPIC, 1, 0)])
    read: list[int] = []
    deadline = time.monotonic() + _TIMEOUT_S
    while len(read) < 20 and time.monotonic() < deadline:
        message = consumer.poll(1.0)
        if message is not None and message.error() is None:
            read.append(int(message.value()))
    consumer.close()
    cluster = admin.list_topics(timeout=_TIMEOUT_S)
    listed = TOPIC in cluster.topics
    admin.delete_topics([TOPIC])[TOPIC].result(_TIMEOUT_S)
    time.sleep(0.2)
    found = {
        "refused": refused,
        "offsets": [offsets[number] for number in range(20)],
        "read": sorted(read),
        "listed": listed,
        "deleted": TOPIC not in admin.list_topics(timeout=_TIMEOUT_S).topics,
        "nodes": sorted(cluster.brokers),
        "controller_is_a_broker": cluster.controller_id in (1, 2, 3),
    }
    sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
