"""librdkafka's consumers with a group: python -m tests.clients.librdkafka_groups HOST:PORT TOPIC.

The topic has the records 0 and 1.
"""

import sys

from confluent_kafka import Consumer, KafkaException, TopicPartition

from tests.clients.steps import WAIT_S, Steps


def main(server: str, topic: str, protocol: str = "classic") -> None:
    """Run each operation, and print its outcome."""
    steps = Steps()
    options = {
        "bootstrap.servers": server,
        "group.id": "g",
        "auto.offset.reset": "earliest",
        "group.protocol": protocol,
    }

    def subscribe() -> bool | str:
        member = Consumer(options)
        member.subscribe([topic])
        message = member.poll(WAIT_S)
        if message is None:
            return "waits"
        error = message.error()
        return True if error is None else str(error.name())

    steps.take("subscribe", subscribe)
    consumer = Consumer(options)
    partition = TopicPartition(topic, 0)

    def assign() -> bool:
        consumer.assign([partition])
        found = consumer.consume(2, 60)
        return [message.value() for message in found] == [b"0", b"1"]

    steps.take("assign", assign)

    def commit() -> bool | str:
        try:
            consumer.commit(asynchronous=False)
        except KafkaException as error:
            return str(error.args[0].name())
        return True

    steps.take("commit", commit)

    def committed() -> bool | str:
        (found,) = consumer.committed([partition], 60)
        return "none" if found.offset < 0 and found.error is None else str(found)

    steps.take("committed", committed)
    steps.take_for("close", consumer.close, WAIT_S)
    steps.end()


if __name__ == "__main__":
    main(*sys.argv[1:])
