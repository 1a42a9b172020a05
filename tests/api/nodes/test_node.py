"""One node leads at a time; another takes over, and nothing that was acknowledged is lost."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from controller.pipeline.pending_answers import Answer
from metadata_log.reader.log_reader import LogReader
from records.errors import FencedError, MetadataLogError, Outcome, RequestError
from records.topics import NamespaceRecord
from tests.api.nodes.group import LEASE_MS, Group, Member


@pytest.fixture
async def group(tmp_path: Path) -> AsyncIterator[Group]:
    found = Group(tmp_path)
    found.start()
    yield found
    await found.stop()


def _names(member: Member) -> list[str]:
    """Return the namespaces in a node's folder, in the order of their records."""
    with LogReader.open(member.directory) as reader:
        rows = [row.payload for batch in reader.batches() for row in batch.rows]
    return [row.name for row in rows if isinstance(row, NamespaceRecord)]


async def _until_equal(group: Group) -> list[str]:
    """Wait until all folders have the same segments; return their namespaces."""
    async with asyncio.timeout(20):
        while True:
            contents = [
                {path.name: path.read_bytes() for path in member.directory.glob("*.avro")}
                for member in group.members
            ]
            if all(each == contents[0] for each in contents):
                return _names(group.members[0])
            await asyncio.sleep(0.05)


async def test_one_leads_and_the_others_have_its_records(group: Group) -> None:
    leader = await group.leader()
    for name in ("a", "b"):
        await leader.create(name)
    assert await _until_equal(group) == ["a", "b"]
    assert [member.service is not None for member in group.members].count(True) == 1


async def test_a_leader_that_stops_hands_over_at_once(group: Group) -> None:
    first = await group.leader()
    await first.create("a")
    loop = asyncio.get_running_loop()
    began = loop.time()
    await first.stop()
    second = await group.leader(first)
    assert loop.time() - began < LEASE_MS / 1_000
    await second.create("b")
    first.start()
    assert await _until_equal(group) == ["a", "b"]
    assert first.service is None


async def test_a_leader_that_is_cut_off_stops_and_another_takes_over(group: Group) -> None:
    first = await group.leader()
    await first.create("a")
    first.log.is_cut = True
    second = await group.leader(first)
    assert first.service is None  # before the other one led
    await second.create("b")
    first.log.is_cut = False
    assert await _until_equal(group) == ["a", "b"]
    assert first.roles[-1] == "standby"


async def test_a_leader_that_sleeps_is_fenced(
    group: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It does not know that its lease has run out, for its renewals go nowhere."""
    first = await group.leader()
    await first.create("a")
    # As of a process that is stopped: its lease stays as it was, and it believes that it leads.
    service = first.service
    assert service is not None

    async def renew(*_: object, **__: object) -> bool:
        return True

    monkeypatch.setattr(first.log, "renew", renew)
    second = await group.leader(first)
    await second.create("b")
    assert first.service is service
    with pytest.raises((FencedError, RequestError)):
        await first.create("c")
    async with asyncio.timeout(10):
        while first.service is not None:
            await asyncio.sleep(0.01)
    monkeypatch.undo()
    assert await _until_equal(group) == ["a", "b"]


@pytest.mark.parametrize("lost", ["request", "answer", "late"])
async def test_an_answer_that_is_lost_is_found_out(group: Group, lost: str) -> None:
    leader = await group.leader()
    await leader.create("a")
    leader.log.lose_next = lost
    outcome = await asyncio.gather(leader.create("b"), return_exceptions=True)
    leader.log.deliver()
    is_there = lost == "answer"
    (answer,) = outcome
    assert isinstance(answer, Answer if is_there else MetadataLogError)
    if isinstance(answer, MetadataLogError):
        assert answer.outcome is Outcome.NOTHING
    again = await group.leader()
    await again.create("c")
    expected = ["a", "b", "c"] if is_there else ["a", "c"]
    assert await _until_equal(group) == expected


async def test_leaders_come_and_go_and_every_acknowledged_change_stays(group: Group) -> None:
    acknowledged: list[str] = []
    for turn in range(6):
        leader = await group.leader()
        for number in range(3):
            name = f"n{turn}-{number}"
            await leader.create(name)
            acknowledged.append(name)
        if turn % 2:
            leader.log.is_cut = True
            await group.leader(leader)
            leader.log.is_cut = False
        else:
            await leader.stop()
            await group.leader(leader)
            leader.start()
    assert await _until_equal(group) == acknowledged
