"""Unmodified clients with their default settings write to topics whose configs limit records."""

import json
import time

import pytest

from api.clients.client import MetadataClient
from controller.decisions.topics.topics import CreateTopics, NewTopic
from tests.clients.processes import printed, require
from tests.stories.processes import World

pytestmark = pytest.mark.asyncio(loop_scope="session")

HOUR_MS = 3_600_000

CONFIGS = {
    "small": {"max.message.bytes": "1000"},
    "early": {"message.timestamp.before.max.ms": "60000"},
    "late": {},
    "keyed": {"cleanup.policy": "compact"},
    "stamped": {"message.timestamp.type": "LogAppendTime"},
}

# Topic, key, size of the value in bytes, time relative to now in ms; and the error, if any.
WRITES = (
    ("small", "k", 2_000, 0, "MESSAGE_TOO_LARGE"),
    ("small", "k", 10, 0, None),
    ("early", "k", 10, -HOUR_MS, "INVALID_TIMESTAMP"),
    ("early", "k", 10, 0, None),
    ("late", "k", 10, 2 * HOUR_MS, "INVALID_TIMESTAMP"),
    ("late", "k", 10, -HOUR_MS, None),
    ("keyed", None, 10, 0, "INVALID_RECORD"),
    ("keyed", "k", 10, 0, None),
    ("stamped", "k", 10, -HOUR_MS, None),
)

CLIENTS = {
    "librdkafka": (
        "librdkafka_record_configs.py",
        {"MESSAGE_TOO_LARGE": "MSG_SIZE_TOO_LARGE"},
    ),
    "kafka-python": (
        "kafka_python_record_configs.py",
        {
            "MESSAGE_TOO_LARGE": "MessageSizeTooLargeError",
            "INVALID_TIMESTAMP": "InvalidTimestampError",
            "INVALID_RECORD": "InvalidRecordError",
        },
    ),
    "kafkajs": ("kafkajs_record_configs.js", {}),
}
"""The program of each client, and its names of Kafka's errors where they differ."""


@pytest.mark.parametrize("client", CLIENTS)
async def test_client_is_told_what_a_topic_does_not_take(world: World, client: str) -> None:
    require(client)
    address = world.brokers[2].ready["listen"]
    program, names = CLIENTS[client]
    async with await MetadataClient.connect(f"kafka://{address}") as service:
        for kind, configs in CONFIGS.items():
            new = NewTopic(
                name=f"{kind}-{client}",
                partitions=1,
                replication_factor=1,
                configs=tuple(configs.items()),
            )
            await service.create_topics(CreateTopics(topics=(new,)))
    started_ms = time.time_ns() // 1_000_000
    writes = [(f"{kind}-{client}", *how) for kind, *how, _ in WRITES]
    found = await printed(program, address, json.dumps(writes))
    expected = [names.get(e, e) if e else "written" for *_, e in WRITES]
    assert found["outcomes"].split() == expected
    assert int(found["last_ms"]) >= started_ms  # the broker's time, not an hour ago
