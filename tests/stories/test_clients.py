"""Clients with their defaults against a service and three brokers: the table in docs/clients.md."""

import asyncio
import json
import os
import shutil
import sys
from pathlib import Path

import pytest

from api.client import MetadataClient
from controller.decisions.topics import CreateTopics, NewTopic
from tests.docs_console import ROOT
from tests.stories.processes import World

_MODULES = ROOT / "requirements" / "node_modules"
_CLIENTS = ROOT / "tests" / "clients"

COMMANDS: dict[str, tuple[str, ...]] = {
    "kafka-python": (sys.executable, "-m", "tests.clients.kafka_python_client"),
    "librdkafka": (sys.executable, "-m", "tests.clients.librdkafka_client"),
    "kafkajs": ("node", str(_CLIENTS / "kafkajs_client.js")),
    "platformatic": ("node", str(_CLIENTS / "platformatic_client.mjs")),
    "kcat": ("sh", str(_CLIENTS / "kcat.sh")),
}


pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest.mark.parametrize(
    "client",
    [each if each == "kcat" else pytest.param(each, marks=pytest.mark.heavy) for each in COMMANDS],
)
async def test_client_does_what_the_table_says(world: World, client: str) -> None:
    _require(client)
    address = world.brokers[2].ready["listen"]
    if client == "kcat":
        await _create(address, "of-kcat")
    assert await _found(client, address) == _documented()[client]


async def _create(address: str, topic: str) -> None:
    async with await MetadataClient.connect(f"kafka://{address}") as client:
        new = NewTopic(name=topic, partitions=1, replication_factor=1)
        await client.create_topics(CreateTopics(topics=(new,)))


async def test_table_has_every_client() -> None:
    assert list(_documented()) == list(COMMANDS)


def _require(client: str) -> None:
    """Skip a client that is not installed, but in CI."""
    needed = {
        "kafkajs": (_MODULES / "kafkajs").exists() and shutil.which("node"),
        "platformatic": (_MODULES / "@platformatic").exists() and shutil.which("node"),
        "kcat": shutil.which("kcat"),
    }
    if not needed.get(client, True):
        assert "METALOG_REQUIRE_CLIENTS" not in os.environ, f"{client} is not installed"
        pytest.skip(f"{client} is not installed")


def _documented() -> dict[str, dict[str, str]]:
    """Return the table: what becomes of each operation, by client."""
    lines = Path(ROOT / "docs" / "clients.md").read_text().splitlines()
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in lines
        if line.startswith("|")
    ]
    header, _, *body = rows[: 2 + len(COMMANDS)]
    return {row[0]: dict(zip(header[1:], row[1:], strict=True)) for row in body}


async def _found(client: str, address: str) -> dict[str, str]:
    process = await asyncio.create_subprocess_exec(
        *COMMANDS[client],
        address,
        f"of-{client}",
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        cwd=ROOT,
    )
    try:
        async with asyncio.timeout(120):
            out, err = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
    assert process.returncode == 0, err.decode()[-2_000:]
    found: dict[str, str] = json.loads(out)
    return found
