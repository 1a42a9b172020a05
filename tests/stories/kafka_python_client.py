"""kafka-python in a separate process: python -m tests.stories.kafka_python_client H:P.

Prints the results as one JSON document.
"""

import json
import sys
import time

from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import KafkaAdminClient, NewTopic
from kafka.errors import TopicAlreadyExistsError

TOPIC = "from-kafka-python"
TIMES = "times-from-kafka-python"
START_MS = 1_700_000_000_000


def main(server: str) -> None:
    """Create a topic, write, read, and delete it."""
    admin = KafkaAdminClient(bootstrap_servers=server)
    admin.create_topics([NewTopic(TOPIC, num_partitions=2, replication_factor=2)])
    refused = False
    try:
        admin.create_topics([NewTopic(TOPIC, num_partitions=2, replication_factor=2)])
    except TopicAlreadyExistsError:
        refused = True
    producer = KafkaProducer(bootstrap_servers=server)
    sent = [producer.send(TOPIC, b"%d" % n, partition=n % 2) for n in range(20)]
    offsets = [future.get(timeout=60).offset for future in sent]
    producer.close()
    consumer = KafkaConsumer(
        bootstrap_servers=server, auto_offset_reset="earliest", consumer_timeout_ms=40_000
    )
    consumer.assign([TopicPartition(TOPIC, 0), TopicPartition(TOPIC, 1)])
    read = [int(next(consumer).value) for _ in sent]
    at_time = offset_by_time(admin, consumer, server)
    consumer.close()
    topics = admin.list_topics()
    cluster = admin.describe_cluster()
    admin.delete_topics([TOPIC])
    time.sleep(0.2)
    left = admin.list_topics()
    admin.close()
    found = {
        "refused": refused,
        "offsets": offsets,
        "read": sorted(read),
        "at_time": at_time,
        "listed": TOPIC in topics,
        "deleted": TOPIC not in left,
        "nodes": sorted(broker["broker_id"] for broker in cluster["brokers"]),
        "controller_is_a_broker": cluster["controller_id"] in (1, 2, 3),
    }
    sys.stdout.write(json.dumps(found) + "\n")


def offset_by_time(admin: KafkaAdminClient, consumer: KafkaConsumer, server: str) -> int:
    """Write one compressed batch with unordered timestamps; look up the offset of a time in it."""
    admin.create_topics([NewTopic(TIMES, num_partitions=1, replication_factor=1)])
    producer = KafkaProducer(bootstrap_servers=server, compression_type="gzip", linger_ms=100)
    for past in (100, 400, 200):
        producer.send(TIMES, b"x" * 1_000, partition=0, timestamp_ms=START_MS + past)
    producer.close()
    asked = TopicPartition(TIMES, 0)
    found = int(consumer.offsets_for_times({asked: START_MS + 150})[asked].offset)
    admin.delete_topics([TIMES])
    return found


if __name__ == "__main__":
    main(sys.argv[1])
