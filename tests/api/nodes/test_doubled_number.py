"""Two processes that were started with the same number, each with a folder of its own."""

import signal
from pathlib import Path

import pytest

from api.nodes import membership
from records.errors import RequestError
from tests.api.nodes.group import Group, Member
from tests.api.nodes.processes import Process, leader, metalog, segments_of, two_nodes, until

_REFUSED = 3


@pytest.fixture
def twins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Group:
    """A node that has not started, and another process with its number."""
    monkeypatch.setattr(membership, "REGISTER_EVERY_S", 0.05)
    found = Group(tmp_path, count=1)
    found.members.append(Member(tmp_path / "doubled", found.store, found.members[0].number))
    return found


async def test_the_one_that_came_later_stops(twins: Group) -> None:
    first, second = twins.members
    first.start()
    await twins.leader()
    second.start()
    with pytest.raises(RequestError, match=r"another process is node 0 .* this process stops"):
        await second.ended()
    assert first.leads
    (about,) = [membership.content_of(each) for each in await first.log.members()]
    assert about.role == "leader"
    await first.create("a")
    await twins.stop()


async def test_the_one_that_came_later_stops_although_it_leads(twins: Group) -> None:
    """The first one could not reach the store for longer than its lease."""
    first, second = twins.members
    first.start()
    await twins.leader()
    await first.create("a")
    first.log.is_cut = True
    second.start()
    await twins.leader(first)
    await second.create("b")
    first.log.is_cut = False
    with pytest.raises(RequestError, match="another process is node 0"):
        await second.ended()
    assert await twins.leader() is first
    await first.create("c")
    service = await first.serves()
    assert {each.name for each in service.image.namespaces()} == {"a", "b", "c"}
    await twins.stop()
    one, other = [segments_of(member.directory) for member in twins.members]
    # The one that stopped lacks what came later.
    assert other
    assert all(one[name].startswith(content) for name, content in other.items())


async def test_a_node_that_was_killed_or_stopped_starts_again(twins: Group) -> None:
    first, second = twins.members
    first.start()
    await twins.leader()
    first.kill()
    second.start()
    assert await twins.leader() is second
    await second.create("a")
    await second.stop()
    first.start()
    assert await twins.leader() is first
    await first.create("b")
    await twins.stop()


def test_a_second_process_of_a_number_is_refused(tmp_path: Path, url: str) -> None:
    with two_nodes(tmp_path, url) as (first, second):
        doubled = Process(tmp_path / "doubled", url, second.number)
        try:
            assert until(lambda: doubled.code) == _REFUSED
        finally:
            doubled.end(signal.SIGKILL)
        said = doubled.said()
        assert f"another process is node {second.number} of this shared log, too, at " in said
        assert f", process {second.pid}, and registered before this one" in said
        assert leader(first, second) is first
        roles = {each["node"]: each["role"] for each in metalog("nodes", "list", url)["nodes"]}
        assert roles == {first.number: "leader", second.number: "standby"}
