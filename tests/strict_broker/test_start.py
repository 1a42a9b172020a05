"""Brokers of Kafka, as the strict client has them, start and stop beside our own controller."""

import asyncio
import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from api.cli.main import run
from tests.api.services import Served, serving
from tests.strict_broker.batches import Batch
from tests.strict_broker.broker import StrictBroker
from tests.strict_broker.raft import Disk, Identity
from tests.strict_broker.releases import RELEASES
from tests.strict_broker.served import NODE_ID, address_of, cluster_id_of, new_log
from tests.strict_broker.traps import BrokenError, Trap

_ids = itertools.count(1)

AS_VOTER = ("--controller-listener", "CONTROLLER")


def broker_at(
    service: Served,
    release: str = "4.3",
    disk: Disk | None = None,
    *,
    node_id: int | None = None,
    has_voters: bool = True,
    listener: str = "CONTROLLER",
) -> StrictBroker:
    """Return a broker that is configured for a service; a new one without `node_id`."""
    node_id = node_id or next(_ids)
    address = address_of(service)
    identity = Identity(
        node_id,
        cluster_id_of(service.log),
        RELEASES[release],
        voters={NODE_ID: address} if has_voters else {},
        bootstrap=(address,),
        controller_listener=listener,
        directory=b"dir" + node_id.to_bytes(13, "big"),
    )
    # Answers may take long on a busy machine.
    return StrictBroker(identity, disk, max_wait_ms=100, reply_s=10)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A service for brokers of Kafka 3.9 and later."""
    with serving(new_log(tmp_path_factory.mktemp("start"))) as served:
        yield served


@pytest.mark.parametrize("release", RELEASES)
async def test_broker_of_each_release_starts_and_stops(release: str, service: Served) -> None:
    async with broker_at(service, release) as broker:
        found = await broker.start()
        assert not (await broker.beat()).is_fenced
        await broker.shut_down()
        assert broker.raft.image.brokers[found.node_id].is_fenced


async def test_two_brokers_hold_the_same_bytes(service: Served) -> None:
    async with broker_at(service, "3.9") as one, broker_at(service, "4.3") as other:
        await one.start()
        await other.start()
        await one.reach(other.raft.image.applied_offset)
        count = len(other.disk.batches)
        assert one.disk.batches[:count] == other.disk.batches
        await one.shut_down()
        await other.shut_down()


async def test_leader_of_partitions_stops_once_the_others_know(service: Served) -> None:
    async with broker_at(service) as one, broker_at(service) as other:
        for broker in (one, other):
            await broker.start()
        ids = [one.identity.node_id, other.identity.node_id]
        await asyncio.to_thread(create_topic, service, ids)
        stopping = asyncio.create_task(one.shut_down())
        while not stopping.done():
            await other.beat()
            await asyncio.sleep(0.01)
        await stopping
        await other.reach(one.raft.image.applied_offset)
        assert other.raft.image.brokers[ids[0]].is_fenced
        await other.shut_down()


def create_topic(service: Served, replicas: list[int]) -> None:
    """Create a topic of one partition; the first replica leads it."""
    name, placed = "-".join(["t", *map(str, replicas)]), ":".join(map(str, replicas))
    words = ["topics", "create", name, "--assignment", placed, "--server", service.kafka]
    assert run(words) == 0


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A new log for one test."""
    return new_log(tmp_path)


async def test_restart_of_service_and_broker_goes_on_where_the_log_ended(log: Path) -> None:
    disk = Disk()
    with serving(log) as service:
        async with broker_at(service, disk=disk, node_id=1) as broker:
            first = await broker.start()
            await broker.shut_down()
    held = list(disk.batches)
    with serving(log) as service:
        async with broker_at(service, disk=disk, node_id=1) as broker:
            assert (await broker.start()).epoch > first.epoch
            async with broker_at(service) as other:
                await other.load()
                assert other.disk.batches[: len(held)] == held
            await broker.shut_down()
    assert disk.epoch > held[-1].epoch


async def test_history_that_was_cut_comes_as_a_snapshot(service: Served, tmp_path: Path) -> None:
    async with broker_at(service) as broker:
        await broker.start()
        await broker.shut_down()
    fork = tmp_path / "fork"
    assert run(["fork", str(service.log), str(fork), "--at", "end"]) == 0
    with serving(fork) as forked:
        async with broker_at(forked) as broker:
            await broker.start()
            assert broker.disk.snapshot is not None
            await broker.shut_down()


@pytest.fixture(scope="module")
def voter(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A service that is a voter in its log."""
    with serving(new_log(tmp_path_factory.mktemp("voter")), *AS_VOTER) as served:
        yield served


@pytest.mark.parametrize("has_voters", [False, True])
@pytest.mark.parametrize("release", RELEASES)
async def test_broker_finds_the_voter_in_the_log(
    release: str, has_voters: bool, voter: Served
) -> None:
    async with broker_at(voter, release, has_voters=has_voters) as broker:
        await broker.start()
        assert broker.raft.image.voter(NODE_ID, "CONTROLLER") == address_of(voter)
        await broker.shut_down()


async def test_log_gets_its_voter_once_for_all_brokers(log: Path) -> None:
    with serving(log, *AS_VOTER) as service:
        for _ in range(2):
            async with broker_at(service, has_voters=False) as broker:
                await broker.start()
                await broker.shut_down()
        assert len(control_batches(broker)) == 3  # of `init`, of the service, and the voters


async def test_log_that_brokers_hold_gets_its_voter_at_the_end(log: Path) -> None:
    disk = Disk()
    with serving(log) as service:
        async with broker_at(service, disk=disk, node_id=1) as broker:
            await broker.start()
            await broker.shut_down()
    held = list(disk.batches)
    # Later starts follow the address without the option; the listener's name is in the log.
    for options in (AS_VOTER, ()):
        with serving(log, *options) as service:
            async with broker_at(service, disk=disk, node_id=1) as broker:
                await broker.start()
                assert broker.raft.image.voter(NODE_ID, "CONTROLLER") == address_of(service)
                await broker.shut_down()
            async with broker_at(service, has_voters=False) as other:
                await other.start()
                assert other.disk.batches[: len(held)] == held
                assert other.disk.batches[: len(disk.batches)] == disk.batches
                await other.shut_down()
        held = list(disk.batches)


async def test_snapshot_of_a_cut_history_has_the_voters(log: Path, tmp_path: Path) -> None:
    with serving(log, *AS_VOTER) as service:
        async with broker_at(service, has_voters=False) as broker:
            await broker.start()
            await broker.shut_down()
    fork = tmp_path / "fork"
    assert run(["fork", str(log), str(fork), "--at", "end"]) == 0
    with serving(fork) as forked:
        async with broker_at(forked, has_voters=False) as broker:
            await broker.start()
            assert broker.disk.snapshot is not None
            await broker.shut_down()


async def test_listener_has_the_name_that_brokers_use(log: Path) -> None:
    with serving(log, "--controller-listener", "CONTROLPLANE-9090") as service:
        async with broker_at(service, has_voters=False, listener="CONTROLPLANE-9090") as broker:
            await broker.start()
            await broker.shut_down()


def control_batches(broker: StrictBroker) -> list[Batch]:
    """Return the batches of control records that a broker holds."""
    return [batch for batch in broker.disk.batches if batch.is_control]


async def test_broker_with_bootstrap_servers_alone_finds_no_voter(service: Served) -> None:
    async with broker_at(service, has_voters=False) as broker:
        with pytest.raises(BrokenError) as met:
            await broker.start()
    assert met.value.trap is Trap.LEADER_NO_VOTER


async def test_new_log_without_a_release_registers_no_broker_of_kafka(tmp_path: Path) -> None:
    assert run(["init", str(tmp_path / "log")]) == 0
    with serving(tmp_path / "log") as service:
        async with broker_at(service, "trunk") as broker:
            with pytest.raises(BrokenError) as met:
                await broker.start()
    assert met.value.trap is Trap.NOT_REGISTERED


async def test_broker_without_the_right_exits_with_its_first_fetch(log: Path) -> None:
    with serving(log, "--authorizer", "acl", "--super-user", "User:ann") as service:
        async with broker_at(service) as broker:
            with pytest.raises(BrokenError) as met:
                await broker.start()
    assert met.value.trap is Trap.UNAUTHORIZED
