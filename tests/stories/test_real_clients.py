"""Unmodified Kafka clients use the service and its brokers."""

import asyncio
import json
import sys
from itertools import chain
from typing import Any

import pytest

from tests.stories.processes import World

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest.mark.parametrize("bootstrap", ["controller", "broker"])
@pytest.mark.parametrize("client", ["kafka_python_client", "librdkafka_client"])
async def test_unmodified_client_creates_writes_reads_and_deletes(
    world: World, client: str, bootstrap: str
) -> None:
    addresses = {
        "controller": f"127.0.0.1:{world.port}",
        "broker": world.brokers[2].ready["listen"],
    }
    assert await _printed(client, addresses[bootstrap]) == {
        "refused": True,
        "offsets": list(chain.from_iterable(zip(range(10), range(10), strict=True))),
        "read": list(range(20)),
        "at_time": 1,
        "listed": True,
        "deleted": True,
        # Clients place replicas on the nodes that they are told of, so only brokers are.
        "nodes": [1, 2, 3],
        "controller_is_a_broker": True,
    }


async def _printed(client: str, *arguments: str) -> Any:
    """Run a client in a separate process; return what it prints."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", f"tests.stories.{client}", *arguments),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(180):
            out, err = await process.communicate()
    except TimeoutError:
        process.kill()
        out, err = await process.communicate()
        pytest.fail(f"the client hangs: {err.decode()[-2_000:]}")
    assert process.returncode == 0, err.decode()[-2_000:]
    return json.loads(out)


_OWN = {"retention.ms": "1000", "flush.ms": "5"}
_REPLACED = {"retention.ms": "1000", "segment.ms": "7"}
_CONFIGS = {
    "default": {},
    "validated": "OK",
    "set": "OK",
    "own": _OWN,
    "legacy": "OK",
    "reset": {"retention.ms": "1000"},
    "sources": ["DYNAMIC_TOPIC_CONFIG", "DYNAMIC_TOPIC_CONFIG", "DEFAULT_CONFIG"],
    "broker": "DEFAULT_CONFIG",
}


@pytest.mark.parametrize(
    ("client", "more"),
    [
        (
            "kafka_python_configs",
            {
                "kept by the client": {**_OWN, **_REPLACED},
                "misspelt": "InvalidConfigurationError",
                "type": "LONG",
            },
        ),
        ("librdkafka_configs", {"replaced": _REPLACED, "misspelt": "INVALID_CONFIG"}),
    ],
)
async def test_unmodified_client_describes_and_changes_configs(
    world: World, client: str, more: dict[str, Any]
) -> None:
    broker = world.brokers[1].ready["listen"]
    assert await _printed(client, broker, f"configured-by-{client}") == {**_CONFIGS, **more}


async def test_unmodified_client_sees_log_directories(world: World) -> None:
    found = await _printed("kafka_python_log_dirs", world.brokers[1].ready["listen"])
    replicas = {each["partition_index"]: each for each in found}
    assert len(found) == 2
    assert replicas[0]["partition_size"] == 0 < replicas[1]["partition_size"]
    for each in found:
        assert each["directory"] in world.brokers[each["broker"]].ready["log_dirs"]
        assert not each["is_future_key"]
