"""The leader trims the shared log, and never what a node still needs."""

import asyncio
import logging
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from api.nodes import membership, standby
from api.nodes.membership import MemberContent, content_of
from api.nodes.state import kept_from
from metadata_log.files.names import NODE_FILE
from metadata_log.reader.log_reader import LogReader
from records.errors import UnknownHistoryError
from tests.api.nodes.group import KEPT_OFFSETS, TRIM_EVERY_S, Group, Member


@pytest.fixture
async def group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Group]:
    monkeypatch.setattr(membership, "REGISTER_EVERY_S", 0.05)
    monkeypatch.setattr(standby, "_SYNC_EVERY_S", 0.05)
    found = Group(tmp_path)
    found.start()
    for member in found.members:
        await member.serves()
    yield found
    await found.stop()


async def _create(leader: Member, count: int) -> int:
    """Make changes, each a group of its own; return the end offset."""
    end_offset = 0
    for _ in range(count):
        assert leader.service is not None
        name = f"n{leader.service.image.provenance.next_offset}"
        end_offset = (await leader.create(name)).end_offset
    return end_offset


async def _begins_before(group: Group, offset: int) -> None:
    """Wait until the first group that is kept is the last one that ends before an offset."""
    async with asyncio.timeout(20):
        while True:
            first, second = group.store.groups[:2]
            if group.store.start and first.end_offset < offset <= second.end_offset:
                return
            await asyncio.sleep(0.01)


async def _told(leader: Member, member: Member) -> MemberContent:
    """Return what a node has told the store."""
    found = await leader.log.members()
    (content,) = [content_of(each) for each in found if each.node_id == member.number]
    return content


async def _nothing_more_is_trimmed(group: Group) -> None:
    start = group.store.start
    await asyncio.sleep(10 * TRIM_EVERY_S)
    assert group.store.start == start


async def test_what_all_have_goes_but_for_the_newest_records(group: Group) -> None:
    leader = await group.leader()
    end = await _create(leader, 40)
    await _nothing_more_is_trimmed(group)  # there is no archive
    assert group.store.start == 0
    assert await kept_from(leader.log) == 0
    for member in group.members:
        member.archived_end = 15
    await _begins_before(group, 15)
    # A folder that ends there goes on with the next group.
    assert await kept_from(leader.log) == group.store.groups[0].end_offset
    for member in group.members:
        member.archived_end = end
    await _begins_before(group, end - KEPT_OFFSETS)
    await _nothing_more_is_trimmed(group)
    # Another leader goes on, and each node finds its place again.
    await leader.stop()
    second = await group.leader(leader)
    await _create(second, 5)
    leader.start()
    await leader.serves()


@pytest.mark.parametrize("stopped", [False, True])
async def test_what_a_registered_node_lacks_stays(group: Group, *, stopped: bool) -> None:
    leader = await group.leader()
    late = next(member for member in group.members if member is not leader)
    had = await _create(leader, 20)
    async with asyncio.timeout(20):
        while (await _told(leader, late)).durable_end < had:
            await asyncio.sleep(0.01)
    for member in group.members:
        member.archived_end = 2**62
    if stopped:
        await late.stop()
    else:
        late.log.is_cut = True
    await _create(leader, 40)
    await _begins_before(group, (await _told(leader, late)).durable_end)
    await _nothing_more_is_trimmed(group)
    if stopped:
        late.start()
    else:
        late.log.is_cut = False
    assert leader.service is not None
    await _begins_before(group, leader.service.image.provenance.next_offset - KEPT_OFFSETS)


async def test_only_what_is_on_a_nodes_disk_counts(
    group: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A machine that loses its power finds the rest in the shared log."""
    leader = await group.leader()
    monkeypatch.setattr(standby, "_SYNC_EVERY_S", 1e9)
    await asyncio.sleep(0.2)
    synced = min(content_of(each).durable_end for each in await leader.log.members())
    for member in group.members:
        member.archived_end = 2**62
    end = await _create(leader, 40)
    async with asyncio.timeout(20):
        while min(content_of(each).log_end for each in await leader.log.members()) < end:
            await asyncio.sleep(0.01)
    await asyncio.sleep(10 * TRIM_EVERY_S)
    assert group.store.groups[0].end_offset <= synced


async def test_a_node_that_needs_what_was_trimmed_says_what_to_do(
    group: Group, tmp_path: Path
) -> None:
    leader = await group.leader()
    late = next(member for member in group.members if member is not leader)
    await late.stop()
    await leader.log.unregister(late.number)
    for member in group.members:
        member.archived_end = 2**62
    end = await _create(leader, 40)
    await _begins_before(group, end - KEPT_OFFSETS)
    new = Member(tmp_path / "new", group.store, 7)
    for member in (late, new):
        member.start()
        with pytest.raises(UnknownHistoryError, match="metalog restore") as caught:
            await member.ended()
        assert f"remove {member.directory}" in str(caught.value)
        # It is registered nowhere, so it keeps nothing from being trimmed.
        assert member.number not in {each.node_id for each in await leader.log.members()}
    # From a copy of another node, it takes part.
    for member in (late, new):
        shutil.rmtree(member.directory)
        await _copied(group, member.directory)
        member.start()
        await member.serves()
    group.members.append(new)


async def _copied(group: Group, directory: Path) -> None:
    """Copy the folder of a node that stands by and was stopped, as a backup does."""
    leader = await group.leader()
    source = next(m for m in group.members if m is not leader and m.service is not None)
    await source.stop()
    shutil.copytree(source.directory, directory)
    (directory / NODE_FILE).unlink()
    source.start()
    await source.serves()
    with LogReader.open(directory) as reader:
        assert reader.end_offset > 0


async def test_a_store_that_fails_is_trimmed_later(
    group: Group, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    from records.errors import UnavailableError

    caplog.set_level(logging.WARNING)
    leader = await group.leader()
    with monkeypatch.context() as patch:

        async def trim(number: int) -> None:
            raise UnavailableError("away")

        patch.setattr(leader.log, "trim", trim)
        for member in group.members:
            member.archived_end = 2**62
        end = await _create(leader, 40)
        async with asyncio.timeout(20):
            while "was not trimmed: away" not in caplog.text:
                await asyncio.sleep(0.01)
    await _begins_before(group, end - KEPT_OFFSETS)
    assert leader.leads
