"""kafka-python's consumers in groups: python -m tests.clients.kafka_python_groups HOST:PORT TOPIC.

The topic has the records 0 and 1.
"""

import sys

from kafka import KafkaConsumer, TopicPartition

from tests.clients.steps import WAIT_S, Steps


def main(server: str, topic: str) -> None:
    """Run each operation, and print its outcome."""
    steps = Steps()
    partition = TopicPartition(topic, 0)

    def consumer_of(*topics: str) -> KafkaConsumer:
        return KafkaConsumer(
            *topics, bootstrap_servers=server, group_id="g", auto_offset_reset="earliest"
        )

    def subscribe() -> bool | str:
        return bool(consumer_of(topic).poll(timeout_ms=WAIT_S * 1_000)) or "waits"

    steps.take("subscribe", subscribe)
    consumer = consumer_of()

    def assign() -> bool:
        consumer.assign([partition])
        return [next(consumer).value for _ in range(2)] == [b"0", b"1"]

    steps.take("assign", assign)
    steps.take("commit", lambda: consumer.commit() is None)
    steps.take("committed", lambda: str(consumer.committed(partition)).lower())
    steps.take_for("close", consumer.close, WAIT_S)
    steps.end()


if __name__ == "__main__":
    main(*sys.argv[1:])
