"""Nodes in one process whose store goes back: each stops, also one that never had what is lost."""

import asyncio
from pathlib import Path

import pytest

from api.nodes.lost_records import ToldToStopError
from api.nodes.membership import content_of
from metadata_log.writer.folder_copy import LostRecordsError
from tests.api.nodes.group import WAIT_S, Group, Member


async def _equal(*members: Member) -> None:
    """Wait until nodes have the same records."""
    async with asyncio.timeout(WAIT_S):
        while len({(await m.serves()).image.provenance.next_offset for m in members}) > 1:
            await asyncio.sleep(0.01)


async def _stopped(member: Member) -> LostRecordsError:
    with pytest.raises(LostRecordsError) as caught:
        await member.ended()
    return caught.value


async def test_nodes_stop_when_the_store_goes_back(tmp_path: Path) -> None:
    group = Group(tmp_path)
    group.start()
    leader = await group.leader()
    first = (await leader.create("a")).end_offset
    end = (await leader.create("b")).end_offset
    await _equal(*group.members)
    del group.store.groups[-1]
    for member in group.members:
        error = await _stopped(member)
        assert (error.from_offset, error.end_offset) == (first, end)
    lost = {m.node_id: content_of(m).lost_from for m in await leader.log.members()}
    assert lost == dict.fromkeys(range(3), first)


async def test_a_node_that_never_had_what_is_lost_neither_goes_on_nor_begins(
    tmp_path: Path,
) -> None:
    group = Group(tmp_path)
    behind, *others = group.members
    group.start()
    leader = await group.leader()
    await leader.create("a")
    await _equal(*group.members)
    await behind.stop()
    for member in others:
        if member is not leader:
            await group.leader(behind)
    leader = await group.leader(behind)
    kept = group.store.end
    await leader.create("b")
    await _equal(*others)
    for member in others:
        await member.stop()
    while group.store.end != kept:  # who stops last may have led for a moment
        group.store.groups.pop()
    behind.start()
    await group.leader()
    await behind.create("other")
    others[0].start()
    assert not isinstance(await _stopped(others[0]), ToldToStopError)
    assert isinstance(await _stopped(behind), ToldToStopError)
    end = group.store.end
    behind.start()
    assert isinstance(await _stopped(behind), ToldToStopError)
    others[1].start()
    assert not isinstance(await _stopped(others[1]), ToldToStopError)
    assert group.store.end == end


async def test_a_store_that_lost_a_claim_only_is_followed_again(tmp_path: Path) -> None:
    """What was acknowledged is all there, so nothing stops."""
    group = Group(tmp_path, count=2)
    group.start()
    leader = await group.leader()
    await leader.create("a")
    await _equal(*group.members)
    (other,) = [member for member in group.members if member is not leader]
    await other.stop()
    await leader.stop()
    while group.store.groups[-1].is_claim:
        group.store.groups.pop()
    group.start()
    again = await group.leader()
    await again.create("b")
    await _equal(*group.members)
    await group.stop()
