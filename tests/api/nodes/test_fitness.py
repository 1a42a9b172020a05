"""A node whose release or settings are not those of the leader does not lead in silence."""

import asyncio
import logging
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest
from immutables import Map
from msgspec.structs import replace

from api.nodes.fitness import Unfit, settings_digests, unfit
from api.nodes.lease import HeldLease
from api.nodes.membership import content_of as told_by
from api.nodes.operations import ask_to_hand_over
from api.nodes.options import LeaderContent, content_of, taking
from controller.authorization.acls import AclAuthorizer
from controller.decisions.context.context import Settings
from metadata_log.format.batch import NewBatch
from metadata_log.shared.shared_log import EMPTY, Lease, SharedLog
from metadata_log.writer.clock import MachineClocks
from records.configs import FeatureLevelRecord
from tests.api.nodes.group import LEASE_MS, Group, Member

OTHER = Settings(static_configs=Map({"num.partitions": "7"}))


@pytest.fixture
async def group(tmp_path: Path) -> AsyncIterator[Group]:
    found = Group(tmp_path)
    yield found
    await found.stop()


async def _nobody_leads(group: Group) -> None:
    """Watch for longer than two leases."""
    for _ in range(50):
        assert not any(member.leads for member in group.members)
        await asyncio.sleep(LEASE_MS / 1_000 / 20)


async def _told(group: Group, member: Member) -> Unfit:
    """Wait until the store knows why a node would not lead."""
    async with asyncio.timeout(20):
        while True:
            for each in await member.log.members():
                if each.node_id == member.number and told_by(each).unfit != Unfit():
                    return told_by(each).unfit
            await asyncio.sleep(0.02)


async def test_a_node_with_other_settings_leads_only_if_told(
    group: Group, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    first, other, same = group.members
    other.settings = OTHER
    first.start()
    assert await group.leader() is first
    other.start()
    assert await _told(group, other) == Unfit(other_settings=("num.partitions",))
    assert "node 1 leads only if told to" in caplog.text
    assert "differ from the leader's in num.partitions" in caplog.text
    await first.stop()
    await _nobody_leads(group)
    same.start()
    assert await group.leader() is same
    # An operator who names it has told it, and then its settings are the leader's.
    await ask_to_hand_over(same.log, other.number)
    assert await group.leader(same) is other
    assert await _told(group, same) == Unfit(other_settings=("num.partitions",))
    first.start()


async def test_a_node_leads_with_its_own_settings_if_it_was_started_so(group: Group) -> None:
    first, other, _ = group.members
    first.start()
    await group.leader()
    await first.stop()
    other.settings, other.own_settings = OTHER, True
    other.start()
    assert await group.leader() is other
    for member in group.members[::2]:
        member.start()


async def test_a_node_of_an_older_release_never_leads(group: Group) -> None:
    """Also if nobody else does, and whatever an operator says."""
    first, *others = group.members
    first.start()
    await group.leader()
    level = FeatureLevelRecord(name="metadata.version", feature_level=999)
    service = await first.serves()
    await service._log.append(NewBatch(records=(level,)))
    await first.stop()
    lease = group.store.lease
    assert lease is not None
    newer = replace(content_of(lease), version="99.0", next_leader=1)
    group.store.lease = replace(lease, content=msgspec.msgpack.encode(newer))
    for member in others:
        member.own_settings = True
        member.start()
    found = await _told(group, others[0])
    assert found == Unfit(not_understood=("metadata.version 999",))
    await _nobody_leads(group)
    # One of the release that wrote it leads.
    same = replace(newer, version=content_of(lease).version)
    group.store.lease = replace(lease, content=msgspec.msgpack.encode(same))
    await group.leader()
    first.start()


async def test_a_clock_that_is_off_is_no_reason_to_let_an_unfit_node_lead(
    group: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    from api.nodes import membership

    monkeypatch.setattr(membership, "REGISTER_EVERY_S", 0.05)
    first, other, same = group.members
    other.settings = OTHER
    first.start()
    await group.leader()
    other.start()
    await _told(group, other)
    first.clocks.ahead_s = 300
    await asyncio.sleep(1)
    assert first.leads
    same.start()
    assert await group.leader(first) is same


def test_what_counts_as_a_difference() -> None:
    here = LeaderContent(version="1", settings=settings_digests(Settings()))
    assert unfit(here, None) == Unfit()

    def differing(settings: Settings) -> tuple[str, ...]:
        return unfit(replace(here, settings=settings_digests(settings)), here).other_settings

    assert differing(Settings(node_id=7, cluster_id="x")) == ()
    assert differing(Settings(static_configs=Map({"num.partitions": "1"}))) == ()  # its default
    assert differing(Settings(session_timeout_ms=1)) == ("session_timeout_ms",)
    assert differing(Settings(authorizer=AclAuthorizer.of({}))) == ("authorizer",)
    assert differing(Settings(topic_policy=lambda topic: None)) == ("has_topic_policy",)
    secret = {"delegation.token.secret.key": "of all controllers"}
    assert differing(Settings(static_configs=Map(secret))) == ("delegation.token.secret.key",)


def test_a_node_says_of_itself_what_the_last_leader_said_until_it_leads() -> None:
    """Perhaps it finds a record that it does not understand, or dies before."""
    before = LeaderContent(version="2", not_understood=("group.version 1",), requests_from=7)
    lease = Lease(
        node_id=1,
        process=b"",
        nonce=b"",
        duration_ms=0,
        proven=EMPTY,
        content=msgspec.msgpack.encode(before),
    )
    own = LeaderContent(version="1", addresses={"kafka": "b:1"})
    told = content_of(replace(lease, content=taking(lease, own)))
    assert told == replace(before, version="", addresses=own.addresses)
    with_more = replace(own, not_understood=("share.version 1",))
    assert unfit(with_more, told) == Unfit(not_understood=("share.version 1",))
    same = replace(own, version="2")
    assert content_of(replace(lease, content=taking(lease, same))).version == "2"
    assert taking(None, own) == msgspec.msgpack.encode(own)


def test_a_node_need_know_only_the_requests_that_the_last_leader_did() -> None:
    leader = LeaderContent(version="1")
    own = replace(leader, requests_from=7)
    found = unfit(own, leader)
    assert found == Unfit(requests_from=7)
    assert not found.may_lead(is_told=False)
    assert found.may_lead(is_told=True)
    assert "its folder begins at offset 7, so it does not know all recent requests" in found.text
    assert unfit(own, own) == unfit(leader, own) == unfit(own, None) == Unfit()


def test_a_release_need_understand_only_what_the_last_leader_did() -> None:
    leader = LeaderContent(version="2", not_understood=("group.version 1",))
    own = replace(leader, version="1", not_understood=("group.version 1", "share.version 1"))
    assert unfit(own, leader) == Unfit(not_understood=("share.version 1",))
    assert unfit(replace(own, version="2"), leader) == Unfit()
    told = unfit(own, leader)
    assert not told.may_lead(is_told=True)
    assert "does not understand share.version 1" in told.text


async def test_a_node_looks_again_at_what_came_while_it_took_the_lease(
    group: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The leader is of a newer release, and its process is suspended: nothing renews its lease."""
    first, other, _ = group.members
    first.start()
    await group.leader()
    service = await first.serves()
    other.start()
    await other.serves()
    take, has_come = HeldLease.take, asyncio.Event()

    async def take_late(
        log: SharedLog, wanted: Lease, found: Lease | None, clocks: MachineClocks
    ) -> HeldLease | None:
        held = await take(log, wanted, found, clocks)
        if held is not None and not has_come.is_set():
            level = FeatureLevelRecord(name="metadata.version", feature_level=999)
            await service._log.append(NewBatch(records=(level,)))
            has_come.set()
        return held

    async def renew(*_: object, **__: object) -> bool:
        return True

    monkeypatch.setattr(HeldLease, "take", take_late)
    monkeypatch.setattr(first.log, "renew", renew)
    lease = group.store.lease
    assert lease is not None
    newer = replace(content_of(lease), version="99.0")
    group.store.lease = replace(lease, content=msgspec.msgpack.encode(newer))
    async with asyncio.timeout(20):
        await has_come.wait()
    assert await _told(group, other) == Unfit(not_understood=("metadata.version 999",))
    for _ in range(50):
        assert not other.leads
        await asyncio.sleep(LEASE_MS / 1_000 / 20)
    assert "leader" not in other.roles
