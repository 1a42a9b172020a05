"""kafka-python writes to a topic that does not exist: python -m ... H:P TOPIC.

Prints the offset of the record as JSON.
"""

import json
import sys

from kafka import KafkaProducer


def main(server: str, topic: str) -> None:
    """Write one record."""
    with KafkaProducer(bootstrap_servers=server) as producer:
        print(json.dumps(producer.send(topic, b"a record").get(timeout=60).offset))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
