"""kafka-python at work in a process of its own: python -m tests.stories.kafka_python_client H:P.

Prints what it found as one JSON document.
"""

import json
import sys
import time

from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import KafkaAdminClient, NewTopic
from kafka.errors import TopicAlreadyExistsError

TOPIC = "from-kafka-python"


def main(server: str) -> None:
    """Create a topic, write, read, and delete it."""
    admin = KafkaAdminClient(bootstrap_servers=server)
    admin.create_topics([NewTopic(TOPIC, num_partitions=2, replication_factor=2)])
    refused = False
    try:
        admin.create_topics([NewTopic(TOPIC, num_partitions=2, replication_factor=2)])
    except TopicAlreadyExistsError:
        refused = True
    producer = KafkaProducer(bootstrap_servers=server, acks="all", enable_idempotence=False)
    sent = [producer.send(TOPIC, b"%d" % n, partition=n % 2) for n in range(20)]
    offsets = [future.get(timeout=20).offset for future in sent]
    producer.close()
    consumer = KafkaConsumer(
        bootstrap_servers=server, auto_offset_reset="earliest", consumer_timeout_ms=10_000
    )
    consumer.assign([TopicPartition(TOPIC, 0), TopicPartition(TOPIC, 1)])
    read = [int(next(consumer).value) for _ in sent]
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
        "listed": TOPIC in topics,
        "deleted": TOPIC not in left,
        "nodes": sorted(broker["broker_id"] for broker in cluster["brokers"]),
        "controller_is_a_broker": cluster["controller_id"] in (1, 2, 3),
    }
    sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
