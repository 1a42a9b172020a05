"""A broker of Kafka, as the strict client has it, follows the next leader of several nodes."""

import asyncio
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.api.nodes.processes import Process, leader, metalog, until
from tests.ports import free_ports
from tests.strict_broker.broker import StrictBroker
from tests.strict_broker.raft import Identity
from tests.strict_broker.releases import RELEASES
from tests.strict_broker.served import cluster_id_of

HOST = "127.0.0.1"


@pytest.fixture
def nodes(tmp_path: Path, url: str) -> Iterator[dict[int, tuple[Process, int]]]:
    """Two nodes by their ids, each with its port, of a log for brokers of Kafka."""
    first = tmp_path / "node-1"
    metalog("init", str(first), "--release-version", "3.9")
    metalog("nodes", "create", url, "--from", str(first))
    found = {}
    for number, port in enumerate(free_ports(2), 1):
        options = ("--advertise", f"kafka={HOST}:{port}", "--controller-listener", "CONTROLLER")
        found[number] = Process(tmp_path / f"node-{number}", url, number, port, options), port
    try:
        yield found
    finally:
        for node, _ in found.values():
            node.end(signal.SIGTERM)


async def test_broker_goes_on_with_the_next_leader(nodes: dict[int, tuple[Process, int]]) -> None:
    processes = [node for node, _ in nodes.values()]
    first = await asyncio.to_thread(leader, *processes)
    (second,) = [node for node in processes if node is not first]
    await asyncio.to_thread(until, lambda: second.stands_by)
    servers = tuple([(HOST, port) for _, port in nodes.values()])
    identity = Identity(100, cluster_id_of(first.folder), RELEASES["4.0"], bootstrap=servers)
    async with StrictBroker(identity, max_wait_ms=100, reply_s=10) as broker:
        found = await broker.start()
        held, epoch = list(broker.disk.batches), broker.disk.epoch
        assert broker.raft.leader_id == first.number
        first.end(signal.SIGKILL)
        assert not (await broker.beat()).is_fenced
        assert broker.raft.leader_id == second.number
        for number, (_, port) in nodes.items():
            assert broker.raft.image.voter(number, "CONTROLLER") == (HOST, port)
        assert broker.disk.epoch > epoch
        await broker.shut_down()
        assert broker.disk.batches[: len(held)] == held
        assert broker.raft.image.brokers[100].epoch == found.epoch
