"""aiokafka does what it promises: python -m tests.clients.aiokafka_promises HOST:PORT TOPIC."""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic, RecordsToDelete
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType

from tests.clients.steps import Steps

_CODECS = ("gzip", "snappy", "lz4", "zstd")
_SOON_S = 60.0
_PAUSE_S = 0.05
_TIME_MS = 1_000_000


class _Run:
    """The operations in their order; each is recorded with its outcome."""

    def __init__(self, server: str, topic: str) -> None:
        self._server = server
        self._topic = topic
        self._steps = Steps()
        self._runner = asyncio.Runner()

    def take(self, name: str, ask: Callable[[], Awaitable[str]]) -> None:
        """Run an operation to its end, and record its outcome."""

        async def asked() -> str:
            async with asyncio.timeout(_SOON_S):
                return await ask()

        self._steps.take(name, lambda: self._runner.run(asked()))

    def all(self) -> None:
        """Run all operations, and print their outcomes."""
        self._runner.run(self._start())
        self._administer()
        self._write()
        self._read()
        self._seek()
        self.take("delete_records", self._delete_records)
        self.take("getone, deleted offset", self._deleted)
        self.take("delete_topics", self._delete)
        self._steps.end()

    async def _start(self) -> None:
        self._admin = AIOKafkaAdminClient(bootstrap_servers=self._server)
        self._producer = AIOKafkaProducer(bootstrap_servers=self._server, acks="all")
        await self._admin.start()
        await self._producer.start()

    # Administration.

    def _administer(self) -> None:
        self.take("create_topics", lambda: self._create(self._topic))
        self.take("create_topics, again", lambda: self._create(self._topic))
        self.take("create_topics, validate_only", self._validated)
        self.take("list_topics", self._listed)
        self.take("describe_topics", self._described)
        self.take("describe_cluster", self._cluster)
        self.take("describe_configs", lambda: self._config("cleanup.policy"))
        self.take("describe_configs, broker", self._broker_config)
        self.take("alter_configs", self._alter)
        self.take("create_partitions", self._grow)
        self.take("list_consumer_groups", self._groups)

    async def _create(self, topic: str, **options: Any) -> str:
        new = NewTopic(name=topic, num_partitions=1, replication_factor=3)
        answer = await self._admin.create_topics([new], **options)
        return str(answer.topic_errors[0][1])

    async def _validated(self) -> str:
        code = await self._create(f"{self._topic}-dry", validate_only=True)
        is_there = f"{self._topic}-dry" in await self._admin.list_topics()
        return f"{code}, {'there' if is_there else 'not there'}"

    async def _listed(self) -> str:
        async def is_listed() -> bool:
            return self._topic in await self._admin.list_topics()

        return await _in_time(is_listed)

    async def _described(self) -> str:
        partitions: list[dict[str, Any]] = []

        async def is_known() -> bool:
            # Any broker is asked, and one may hear of the topic later than others.
            (topic,) = await self._admin.describe_topics([self._topic])
            partitions[:] = topic["partitions"]
            return bool(partitions)

        await _in_time(is_known)
        (partition,) = partitions
        is_led = partition["leader"] in partition["replicas"]
        return f"{len(partition['replicas'])} replicas, {'led' if is_led else 'not led'}"

    async def _cluster(self) -> str:
        found = await self._admin.describe_cluster()
        ids = sorted(broker["node_id"] for broker in found["brokers"])
        return f"{ids}; controller {'among them' if found['controller_id'] in ids else 'elsewhere'}"

    async def _config(self, name: str) -> str:
        resource = ConfigResource(ConfigResourceType.TOPIC, self._topic, {name: ""})
        (answer,) = await self._admin.describe_configs([resource])
        return ", ".join([f"{c[0]}={c[1]}" for c in answer.resources[0][4]])

    async def _broker_config(self) -> str:
        resource = ConfigResource(ConfigResourceType.BROKER, 2, {"node.id": ""})
        *_, answer = await self._admin.describe_configs([resource])
        return ", ".join([f"{c[0]}={c[1]}" for c in answer.resources[0][4]])

    async def _alter(self) -> str:
        configs = {"retention.ms": "7000"}
        await self._admin.alter_configs(
            [ConfigResource(ConfigResourceType.TOPIC, self._topic, configs)]
        )
        return await self._config("retention.ms")

    async def _grow(self) -> str:
        answer = await self._admin.create_partitions({self._topic: NewPartitions(3)})

        async def has_three() -> bool:
            (topic,) = await self._admin.describe_topics([self._topic])
            return len(topic["partitions"]) == 3

        return f"{answer.topic_errors[0][1]}, {await _in_time(has_three)}"

    async def _groups(self) -> str:
        return str(await self._admin.list_consumer_groups())

    async def _delete_records(self) -> str:
        partition = TopicPartition(self._topic, 0)
        answer = await self._admin.delete_records({partition: RecordsToDelete(before_offset=2)})
        async with self._consumer() as consumer:
            earliest = await consumer.beginning_offsets([partition])
        return f"low watermark {answer[partition]}, earliest {earliest[partition]}"

    async def _deleted(self) -> str:
        partition = TopicPartition(self._topic, 0)
        async with self._consumer(auto_offset_reset="none") as consumer:
            consumer.assign([partition])
            consumer.seek(partition, 0)
            return str((await consumer.getone()).offset)

    async def _delete(self) -> str:
        await self._admin.delete_topics([self._topic])

        async def is_gone() -> bool:
            return self._topic not in await self._admin.list_topics()

        return await _in_time(is_gone)

    # Producers.

    def _write(self) -> None:
        self.take("partitions_for", self._partitions_for)
        self.take("send_and_wait", lambda: self._send(b"0", partition=0))
        self.take("send_and_wait, time", lambda: self._send(b"1", timestamp_ms=_TIME_MS))
        self.take("send_and_wait, key", self._keyed)
        self.take("send_and_wait, acks=0", lambda: self._with(acks=0))
        self.take("send_and_wait, acks=1", lambda: self._with(acks=1))
        self.take("send_and_wait, idempotent", lambda: self._with(enable_idempotence=True))
        for codec in _CODECS:
            self.take(f"send_and_wait, {codec}", partial(self._with, compression_type=codec))
        self.take("send_batch", self._batch)
        self.take("send_and_wait, too large", self._too_large)
        self.take("send_and_wait, unknown topic", lambda: self._no_topic(f"{self._topic}-no"))
        self.take("send_and_wait, bad name", lambda: self._no_topic("no/such"))

    async def _partitions_for(self) -> str:
        return str(sorted(await self._producer.partitions_for(self._topic)))

    async def _send(self, value: bytes, partition: int = 0, timestamp_ms: int | None = None) -> str:
        sent = await self._producer.send_and_wait(
            self._topic, value, partition=partition, timestamp_ms=timestamp_ms
        )
        at = "" if timestamp_ms is None else f", time {sent.timestamp}, type {sent.timestamp_type}"
        return f"{sent.partition}, {sent.offset}{at}"

    async def _keyed(self) -> str:
        sent = [
            await self._producer.send_and_wait(f"{self._topic}", b"k", key=b"the key", partition=0)
            for _ in range(2)
        ]
        return ", ".join([str(each.offset) for each in sent])

    async def _with(self, **options: Any) -> str:
        """Send two records to partition 1 by a producer with these options."""
        async with AIOKafkaProducer(bootstrap_servers=self._server, **options) as producer:
            for value in (b"x" * 500, b"y" * 500):
                await producer.send_and_wait(
                    self._topic, value, partition=1, headers=[("h", b"\x00\xff"), ("n", b"")]
                )
        return "sent"

    async def _batch(self) -> str:
        batch = self._producer.create_batch()
        for number in range(3):
            batch.append(key=None, value=b"%d" % number, timestamp=_TIME_MS + number)
        batch.close()
        sent = await (await self._producer.send_batch(batch, self._topic, partition=2))
        return f"{sent.partition}, {sent.offset}"

    async def _too_large(self) -> str:
        configs = {"max.message.bytes": "200", "retention.ms": "7000"}
        resource = ConfigResource(ConfigResourceType.TOPIC, self._topic, configs)
        await self._admin.alter_configs([resource])
        try:
            return await self._send(b"z" * 1_000, partition=2)
        finally:
            resource.configs = {"retention.ms": "7000"}
            await self._admin.alter_configs([resource])

    async def _no_topic(self, name: str) -> str:
        options = {"request_timeout_ms": 1_000}
        async with AIOKafkaProducer(bootstrap_servers=self._server, **options) as producer:
            return str(await producer.send_and_wait(name, b"x"))

    # Consumers.

    def _consumer(self, *topics: str, **options: Any) -> Any:
        options = {"auto_offset_reset": "earliest"} | options
        return AIOKafkaConsumer(*topics, bootstrap_servers=self._server, **options)

    def _read(self) -> None:
        self.take("getone", self._getone)
        self.take("getmany", self._getmany)
        self.take("getmany, max_records", self._limited)
        self.take("getmany, timeout", self._nothing)
        self.take("records, headers", self._headers)
        self.take("subscribe without a group", self._all_partitions)
        self.take("subscribe to a pattern", self._pattern)
        self.take("read_committed", self._committed)
        self.take("fetch_max_bytes", self._small_fetches)
        self.take("topics", self._topics)

    async def _getone(self) -> str:
        async with self._consumer() as consumer:
            consumer.assign([TopicPartition(self._topic, 0)])
            first = await consumer.getone()
            second = await consumer.getone()
        return f"{first.offset} {first.value!r}, {second.offset} {second.timestamp}"

    async def _getmany(self) -> str:
        partition = TopicPartition(self._topic, 0)
        async with self._consumer() as consumer:
            consumer.assign([partition])
            found = await consumer.getmany(timeout_ms=5_000)
            return f"{len(found[partition])}, highwater {consumer.highwater(partition)}"

    async def _limited(self) -> str:
        async with self._consumer() as consumer:
            consumer.assign([TopicPartition(self._topic, 0)])
            found = await consumer.getmany(timeout_ms=5_000, max_records=1)
        return str(sum(len(each) for each in found.values()))

    async def _nothing(self) -> str:
        partition = TopicPartition(self._topic, 0)
        async with self._consumer(auto_offset_reset="latest") as consumer:
            consumer.assign([partition])
            return str(await consumer.getmany(timeout_ms=300))

    async def _values(self, consumer: Any, count: int) -> list[Any]:
        return [await consumer.getone() for _ in range(count)]

    async def _headers(self) -> str:
        async with self._consumer() as consumer:
            consumer.assign([TopicPartition(self._topic, 1)])
            # Two of each producer: acks=0, acks=1, idempotent, and each codec.
            found = await self._values(consumer, 2 * (3 + len(_CODECS)))
        sizes = {len(each.value) for each in found}
        headers = {each.headers for each in found}
        return f"{len(found)}, sizes {sizes}, headers {headers}"

    async def _all_partitions(self) -> str:
        async with self._consumer(self._topic) as consumer:
            return str(sorted(each.partition for each in consumer.assignment()))

    async def _pattern(self) -> str:
        async with self._consumer() as consumer:
            consumer.subscribe(pattern=f"^{self._topic}$")
            return "read" if (await consumer.getone()).topic == self._topic else "another topic"

    async def _committed(self) -> str:
        partition = TopicPartition(self._topic, 0)
        async with self._consumer(isolation_level="read_committed") as consumer:
            consumer.assign([partition])
            first = await consumer.getone()
            return f"{first.offset}, stable {consumer.last_stable_offset(partition)}"

    async def _small_fetches(self) -> str:
        async with self._consumer(fetch_max_bytes=1, max_partition_fetch_bytes=1) as consumer:
            consumer.assign([TopicPartition(self._topic, 0)])
            return str([each.offset for each in await self._values(consumer, 4)])

    async def _topics(self) -> str:
        async with self._consumer() as consumer:
            return "yes" if self._topic in await consumer.topics() else "no"

    # Offsets.

    def _seek(self) -> None:
        self.take("beginning_offsets, end_offsets", self._ends)
        self.take("offsets_for_times", self._times)
        self.take("offsets_for_times, later than all", self._later)
        self.take("seek", self._seek_to)
        self.take("seek_to_beginning, seek_to_end", self._seek_to_ends)
        self.take("seek, beyond the end", self._beyond)
        self.take("seek, beyond the end, no reset", lambda: self._beyond("none"))
        self.take("pause", self._pause)

    async def _ends(self) -> str:
        partition = TopicPartition(self._topic, 0)
        async with self._consumer() as consumer:
            first = await consumer.beginning_offsets([partition])
            last = await consumer.end_offsets([partition])
        return f"{first[partition]}, {last[partition]}"

    async def _times(self) -> str:
        partition = TopicPartition(self._topic, 2)
        async with self._consumer() as consumer:
            found = (await consumer.offsets_for_times({partition: _TIME_MS + 1}))[partition]
        return f"{found.offset} at {found.timestamp}"

    async def _later(self) -> str:
        partition = TopicPartition(self._topic, 2)
        async with self._consumer() as consumer:
            return str((await consumer.offsets_for_times({partition: _TIME_MS + 9}))[partition])

    async def _seek_to(self) -> str:
        partition = TopicPartition(self._topic, 0)
        async with self._consumer() as consumer:
            consumer.assign([partition])
            consumer.seek(partition, 1)
            return f"{(await consumer.getone()).offset}, then {await consumer.position(partition)}"

    async def _seek_to_ends(self) -> str:
        partition = TopicPartition(self._topic, 0)
        async with self._consumer() as consumer:
            consumer.assign([partition])
            await consumer.seek_to_end(partition)
            last = await consumer.position(partition)
            await consumer.seek_to_beginning(partition)
            return f"{await consumer.position(partition)}, {last}"

    async def _beyond(self, reset: str = "earliest") -> str:
        partition = TopicPartition(self._topic, 0)
        async with self._consumer(auto_offset_reset=reset) as consumer:
            consumer.assign([partition])
            consumer.seek(partition, 1_000)
            return str((await consumer.getone()).offset)

    async def _pause(self) -> str:
        partition = TopicPartition(self._topic, 0)
        async with self._consumer() as consumer:
            consumer.assign([partition])
            consumer.pause(partition)
            paused = await consumer.getmany(timeout_ms=300)
            consumer.resume(partition)
            return f"{len(paused)}, then {(await consumer.getone()).offset}"


async def _in_time(ask: Callable[[], Awaitable[bool]]) -> str:
    """Ask until the answer is True: brokers learn of a change after the controller answered."""
    while not await ask():
        await asyncio.sleep(_PAUSE_S)
    return "yes"


if __name__ == "__main__":
    _Run(sys.argv[1], sys.argv[2]).all()
