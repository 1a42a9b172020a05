"""Write to topics with record configs with librdkafka: HOST:PORT, and the writes as JSON."""

import json
import sys
import time

from confluent_kafka import KafkaError, Message, Producer


def main(server: str, writes: str) -> None:
    """Write each record on its own, and print the outcomes and times."""
    producer = Producer({"bootstrap.servers": server})
    outcomes: list[tuple[str, int]] = []

    def delivered(error: KafkaError | None, message: Message) -> None:
        outcomes.append(("written" if error is None else error.name(), message.timestamp()[1]))

    for topic, key, size, shift_ms in json.loads(writes):
        now_ms = time.time_ns() // 1_000_000
        producer.produce(
            topic, b"v" * size, key, timestamp=now_ms + shift_ms, on_delivery=delivered
        )
        assert producer.flush(30) == 0
    names = " ".join([name for name, _ in outcomes])
    print(json.dumps({"outcomes": names, "last_ms": str(outcomes[-1][1])}))


if __name__ == "__main__":
    main(*sys.argv[1:])
