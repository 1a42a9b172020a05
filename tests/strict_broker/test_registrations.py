"""Each version of registrations and heartbeats at our own controller, without the raft client."""

import itertools
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest

from tests.api.services import Served, serving
from tests.strict_broker.connection import Connection
from tests.strict_broker.messages import (
    Beaten,
    Endpoint,
    beat,
    read_beaten,
    read_registered,
    register,
)
from tests.strict_broker.releases import (
    BROKER_HEARTBEAT,
    BROKER_REGISTRATION,
    RELEASES,
    Release,
)
from tests.strict_broker.served import address_of, cluster_id_of, new_log

UNSUPPORTED_VERSION, BROKER_ID_NOT_REGISTERED = 35, 102
INCONSISTENT_CLUSTER_ID, INVALID_REGISTRATION, DUPLICATE_BROKER_REGISTRATION = 104, 119, 101
STALE_BROKER_EPOCH = 77
DIRECTORIES_SINCE = 2
"""The first version of a registration with log directories, which the log's level asks for."""

_ids = itertools.count(1_000)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A service for brokers of Kafka 3.9 and later."""
    with serving(new_log(tmp_path_factory.mktemp("registrations"))) as served:
        yield served


@dataclass
class Process:
    """A process of a broker, without a log of its own."""

    connection: Connection
    cluster_id: str
    release: Release
    node_id: int
    incarnation: bytes = b"\1" * 16
    epoch: int = -1

    async def register(self, version: int = 4, **fields: Any) -> int:
        """Register; return the error."""
        given: dict[str, Any] = {
            "node_id": self.node_id,
            "cluster_id": self.cluster_id,
            "incarnation": self.incarnation,
            "endpoints": [Endpoint("PLAINTEXT", "localhost", 9092)],
            "features": {
                "metadata.version": self.release.levels,
                **{name: (0, high) for name, high in self.release.features.items()},
            },
            "directories": [self.node_id.to_bytes(16, "big")],
            "previous_epoch": -1,
        }
        message = register(version, **{**given, **fields})
        answer = await self.connection.ask(BROKER_REGISTRATION, version, message)
        error, self.epoch = read_registered(answer)
        return error

    async def beat(self, offset: int, version: int = 1, **wants: Any) -> Beaten:
        message = beat(
            version, node_id=self.node_id, broker_epoch=self.epoch, offset=offset, **wants
        )
        return read_beaten(await self.connection.ask(BROKER_HEARTBEAT, version, message))


@pytest.fixture
async def process(service: Served) -> AsyncIterator[Process]:
    """A new broker of 3.9, not registered yet."""
    release = RELEASES["3.9"]
    connection = await Connection.open(address_of(service), release)
    yield Process(connection, cluster_id_of(service.log), release, next(_ids))
    connection.close()


@pytest.mark.parametrize("version", range(5))
async def test_each_version_of_a_registration_is_taken(version: int, process: Process) -> None:
    expected = 0 if version >= DIRECTORIES_SINCE else INVALID_REGISTRATION
    assert await process.register(version) == expected
    assert (process.epoch >= 0) == (expected == 0)


@pytest.mark.parametrize("version", range(3))
async def test_each_version_of_a_heartbeat_moves_the_broker(version: int, process: Process) -> None:
    assert await process.register() == 0
    epoch = process.epoch
    fenced = Beaten(0, is_caught_up=False, is_fenced=True, should_shut_down=False)
    assert await process.beat(epoch - 1, version, want_fence=True) == fenced
    assert await process.beat(epoch - 1, version) == fenced
    caught_up = replace(fenced, is_caught_up=True)
    assert await process.beat(epoch, version, want_fence=True) == caught_up
    assert await process.beat(epoch, version) == replace(caught_up, is_fenced=False)
    stopping = await process.beat(epoch, version, want_shutdown=True)
    assert stopping == replace(caught_up, should_shut_down=True)


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"cluster_id": "another"}, INCONSISTENT_CLUSTER_ID),
        ({"is_migrating": True}, BROKER_ID_NOT_REGISTERED),
        ({"features": {"metadata.version": (1, 20)}}, UNSUPPORTED_VERSION),
        ({"features": {}}, UNSUPPORTED_VERSION),
        ({"directories": []}, INVALID_REGISTRATION),
    ],
)
async def test_registration_is_refused(
    fields: dict[str, Any], error: int, process: Process
) -> None:
    assert await process.register(**fields) == error
    assert process.epoch == -1


async def test_epochs_rise_and_the_old_process_is_stale(process: Process) -> None:
    assert await process.register() == 0
    old = process.epoch
    assert not (await process.beat(old)).is_fenced
    process.incarnation = b"\2" * 16
    assert await process.register() == DUPLICATE_BROKER_REGISTRATION
    process.epoch = old
    assert (await process.beat(old, want_shutdown=True)).should_shut_down
    assert await process.register() == 0
    assert process.epoch > old
    process.epoch = old
    assert (await process.beat(old)).error == STALE_BROKER_EPOCH


async def test_directories_that_fail_or_are_cordoned_are_told(process: Process) -> None:
    directories = [bytes([n]) + process.node_id.to_bytes(15, "big") for n in (1, 2)]
    assert await process.register(directories=directories) == 0
    for fields in ({"offline": directories[:1]}, {"cordoned": directories}):
        assert not (await process.beat(process.epoch, 2, **fields)).error
    assert (await process.beat(process.epoch, 2, offline=directories)).is_fenced


async def test_same_process_that_asks_again_keeps_its_epoch(process: Process) -> None:
    assert await process.register() == 0
    epoch = process.epoch
    assert await process.register() == 0
    assert process.epoch == epoch
