"""Like `kafka_python_client`, with librdkafka: python -m tests.stories.librdkafka_client H:P."""

import json
import sys
import time

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec

TOPIC = "from-librdkafka"
TIMES = "times-from-librdkafka"
START_MS = 1_700_000_000_000
_TIMEOUT_S = 60


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
    producer = Producer(
        {
            "bootstrap.servers": server,
            "enable.idempotence": True,
            "compression.type": "gzip",
            "linger.ms": 100,
        }
    )
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
    # Closing would wait 45 s (session.timeout.ms) for a coordinator to commit to: there are none.
    settings = {"group.id": "test", "enable.auto.commit": False}
    consumer = Consumer({"bootstrap.servers": server, **settings})
    consumer.assign([TopicPartition(TOPIC, 0, 0), TopicPartition(TOPIC, 1, 0)])
    read: list[int] = []
    deadline = time.monotonic() + _TIMEOUT_S
    while len(read) < 20 and time.monotonic() < deadline:
        message = consumer.poll(1.0)
        if message is not None and message.error() is None:
            read.append(int(message.value()))
    at_time = offset_by_time(admin, producer, consumer)
    consumer.close()
    cluster = admin.list_topics(timeout=_TIMEOUT_S)
    listed = TOPIC in cluster.topics
    admin.delete_topics([TOPIC])[TOPIC].result(_TIMEOUT_S)
    time.sleep(0.2)
    found = {
        "refused": refused,
        "offsets": [offsets[number] for number in range(20)],
        "read": sorted(read),
        "at_time": at_time,
        "listed": listed,
        "deleted": TOPIC not in admin.list_topics(timeout=_TIMEOUT_S).topics,
        "nodes": sorted(cluster.brokers),
        "controller_is_a_broker": cluster.controller_id in (1, 2, 3),
    }
    sys.stdout.write(json.dumps(found) + "\n")


def offset_by_time(admin: AdminClient, producer: Producer, consumer: Consumer) -> int:
    """Write one compressed batch with unordered timestamps; look up the offset of a time in it."""
    admin.create_topics([NewTopic(TIMES, 1, 1)])[TIMES].result(_TIMEOUT_S)
    for past in (100, 400, 200):
        producer.produce(TIMES, b"x" * 1_000, partition=0, timestamp=START_MS + past)
    assert producer.flush(_TIMEOUT_S) == 0
    asked = TopicPartition(TIMES, 0, START_MS + 150)
    (found,) = consumer.offsets_for_times([asked], _TIMEOUT_S)
    greatest = admin.list_offsets({TopicPartition(TIMES, 0): OffsetSpec.max_timestamp()})
    ((_, answer),) = greatest.items()
    assert answer.result(_TIMEOUT_S).offset == 1
    admin.delete_topics([TIMES])[TIMES].result(_TIMEOUT_S)
    return int(found.offset)


if __name__ == "__main__":
    main(sys.argv[1])
