"""Write to topics with record configs with kafka-python: HOST:PORT, and the writes as JSON."""

import json
import sys
import time

from kafka import KafkaProducer
from kafka.errors import KafkaError


def main(server: str, writes: str) -> None:
    """Write each record on its own, and print the outcomes and times."""
    outcomes, last_ms = [], -1
    for topic, key, size, shift_ms in json.loads(writes):
        # After a refused record an idempotent producer of this client refuses all others.
        producer = KafkaProducer(bootstrap_servers=server)
        now_ms = time.time_ns() // 1_000_000
        sent = producer.send(
            topic, b"v" * size, key and key.encode(), timestamp_ms=now_ms + shift_ms
        )
        try:
            last_ms = sent.get(timeout=30).timestamp
            outcomes.append("written")
        except KafkaError as error:
            outcomes.append(type(error).__name__)
        producer.close()
    print(json.dumps({"outcomes": " ".join(outcomes), "last_ms": str(last_ms)}))


if __name__ == "__main__":
    main(*sys.argv[1:])
