"""Observers of Kafka's metadata at several nodes: only the leader serves, in the same bytes."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from api.controller_server.listener import ControllerListener, ListenerSettings
from api.kafka import apis
from api.kafka.dispatch import Handler
from api.kafka.errors import CODES
from api.kafka.frames import RequestFrame
from api.kafka.messages.records_io import (
    FetchedPartition,
    FetchRequest,
    FetchResponse,
    LeaderIdAndEpoch,
)
from api.nodes.node_service import NodeService
from api.security.listeners import LOCAL
from controller.authorization.caller import CONTROLLER
from metadata_log.kraft_format.batch import parse_header
from tests.api.controller_server.test_observers import request
from tests.api.nodes.group import Group, Member
from tests.replay.kafka_form.test_segments import export

_WAIT_S = 20.0


@pytest.fixture
async def group(tmp_path: Path) -> AsyncIterator[Group]:
    found = Group(tmp_path)
    for member in found.members:
        member.addresses = {"kafka": f"node-{member.number}:9092"}
    found.start()
    yield found
    await found.stop()


async def handler(member: Member) -> Handler:
    """Return how a node answers a Fetch."""
    listener = ControllerListener(await member.serves(), ListenerSettings())
    return listener.dispatch_table(LOCAL).handlers[apis.FETCH]


async def ask(fetch: Handler, body: FetchRequest, version: int = 17) -> FetchResponse:
    frame = RequestFrame(api=apis.FETCH, version=version, correlation_id=1, client_id="", body=body)
    response = await fetch(frame, CONTROLLER)
    assert isinstance(response, FetchResponse)
    return response


def partition_of(response: FetchResponse) -> FetchedPartition:
    (topic,) = response.responses
    (found,) = topic.partitions
    return found


class Observer:
    """Reads from one node after another, as Kafka's raft client does."""

    def __init__(self) -> None:
        self.content = b""
        self.offset = self.last_epoch = self.epoch = 0

    async def read(self, fetch: Handler, version: int = 17) -> FetchedPartition:
        """Ask once, and keep what came."""
        body = request(self.offset, self.last_epoch, self.epoch, cluster_id="shared")
        found = partition_of(await ask(fetch, body, version))
        self.epoch = max(self.epoch, found.current_leader.leader_epoch)
        records, position = found.records or b"", 0
        while position < len(records):
            header = parse_header(records, position)
            assert header.base_offset == self.offset
            position += header.size
            self.offset, self.last_epoch = header.end_offset, header.leader_epoch
        self.content += records
        return found

    async def catch_up(self, fetch: Handler) -> None:
        """Read until the high watermark of a leader."""
        async with asyncio.timeout(_WAIT_S):
            while (found := await self.read(fetch)).high_watermark != self.offset:
                assert found.error_code in (0, CODES["FENCED_LEADER_EPOCH"])


async def test_an_observer_goes_on_at_the_next_leader(group: Group, tmp_path: Path) -> None:
    first, observer = await group.leader(), Observer()
    await first.create("a")
    await observer.catch_up(await handler(first))
    await first.create("b")
    await observer.catch_up(await handler(first))
    before = observer.epoch
    await first.stop()
    second = await group.leader(first)
    await second.create("c")
    await observer.catch_up(await handler(second))
    assert observer.epoch > before
    assert observer.content == export(second.directory, tmp_path / "exported")


async def test_standbys_name_the_leader_and_send_nothing(group: Group) -> None:
    leader = await group.leader()
    await leader.create("a")
    standby = next(member for member in group.members if member is not leader)
    fetch, observer = await handler(standby), Observer()
    assert leader.service is not None
    epoch = leader.service.controller_epoch
    named = LeaderIdAndEpoch(leader_id=leader.number, leader_epoch=epoch)
    async with asyncio.timeout(_WAIT_S):
        while (await observer.read(fetch)).current_leader != named:
            await asyncio.sleep(0.02)
    for version in (16, 17):
        for asked, code in (
            (epoch - 1, "FENCED_LEADER_EPOCH"),
            (epoch, "NOT_LEADER_OR_FOLLOWER"),
            (epoch + 1, "UNKNOWN_LEADER_EPOCH"),
        ):
            response = await ask(fetch, request(0, 0, asked, cluster_id="shared"), version)
            found = partition_of(response)
            assert (found.error_code, found.high_watermark, found.records) == (CODES[code], -1, b"")
            assert found.current_leader == named
            assert [(e.node_id, e.host, e.port) for e in response.node_endpoints] == (
                [(leader.number, f"node-{leader.number}", 9092)] if version == 17 else []
            )


@pytest.mark.parametrize(("leads", "addresses"), [(None, {}), (77, {"kafka": "node-77:9092"})])
async def test_no_leader_is_named_whose_address_is_not_known(
    group: Group,
    monkeypatch: pytest.MonkeyPatch,
    leads: int | None,
    addresses: dict[str, str],
) -> None:
    leader = await group.leader()
    standby = next(member for member in group.members if member is not leader)
    fetch = await handler(standby)
    # The lease may name a node that has not written its epoch yet.
    named = leader.number if leads is None else leads
    monkeypatch.setattr(NodeService, "leader_id", property(lambda _: named))
    monkeypatch.setattr(NodeService, "leader_addresses", property(lambda _: addresses))
    response = await ask(fetch, request(0, 0, 0, cluster_id="shared"))
    assert partition_of(response).current_leader.leader_id == -1
    assert response.node_endpoints == ()
