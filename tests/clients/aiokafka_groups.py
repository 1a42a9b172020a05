"""aiokafka's consumers with a group: python -m tests.clients.aiokafka_groups HOST:PORT TOPIC.

The topic has the records 0 and 1.
"""

import asyncio
import sys

from aiokafka import AIOKafkaConsumer, TopicPartition

from tests.clients.steps import WAIT_S, Steps


async def main(server: str, topic: str) -> None:
    """Run each operation, and print its outcome."""
    steps = Steps()
    partition = TopicPartition(topic, 0)

    def consumer_of(*topics: str) -> AIOKafkaConsumer:
        return AIOKafkaConsumer(
            *topics, bootstrap_servers=server, group_id="g", auto_offset_reset="earliest"
        )

    member = consumer_of(topic)
    await steps.take_async("subscribe", member.start(), WAIT_S)
    consumer = consumer_of()
    await consumer.start()

    async def assign() -> bool:
        consumer.assign([partition])
        return [(await consumer.getone()).value for _ in range(2)] == [b"0", b"1"]

    await steps.take_async("assign", assign())
    await steps.take_async("commit", consumer.commit())

    async def committed() -> str:
        return str(await consumer.committed(partition)).lower()

    await steps.take_async("committed", committed())
    await steps.take_async("close", consumer.stop(), WAIT_S)
    steps.end()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
