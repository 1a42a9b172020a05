"""kafka-python describes the log directories of brokers: python -m ...kafka_python_log_dirs H:P.

Prints the directories and sizes of a topic's replicas as one JSON document.
"""

import json
import sys

from kafka import KafkaProducer
from kafka.admin import KafkaAdminClient, NewTopic

TOPIC = "sizes-by-kafka-python"


def main(server: str) -> None:
    """Write to one of two partitions, describe the directories, and delete the topic."""
    admin = KafkaAdminClient(bootstrap_servers=server)
    admin.create_topics([NewTopic(TOPIC, num_partitions=2, replication_factor=1)])
    with KafkaProducer(bootstrap_servers=server) as producer:
        producer.send(TOPIC, b"a record", partition=1).get(timeout=60)
    found = [
        {"broker": broker["broker"], "directory": directory["log_dir"], **partition}
        for broker in admin.describe_log_dirs()
        for directory in broker["log_dirs"]
        for topic in directory["topics"]
        if topic["name"] == TOPIC
        for partition in topic["partitions"]
    ]
    admin.delete_topics([TOPIC])
    admin.close()
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1])
