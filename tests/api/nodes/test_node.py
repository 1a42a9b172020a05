"""One node leads at a time; another takes over, and nothing that was acknowledged is lost."""

import asyncio
from collections.abc import AsyncIterator
from functools import partial
from itertools import pairwise
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from api.nodes import membership
from api.nodes.membership import MemberContent, Membership
from api.nodes.operations import ask_to_hand_over
from api.nodes.state import held_by, node_of, state_of
from api.requests.commands import COMMANDS
from controller.authorization.caller import CONTROLLER
from controller.controller import Controller
from controller.decisions.context.cluster_index import ClusterIndex
from controller.decisions.namespaces.namespaces import CreateNamespace
from controller.descriptions.namespaces import ListNamespaces
from controller.descriptions.topics import ListTopics
from controller.results.answer import Answer
from controller.results.turns import Turns
from metadata_log.files.fs import OsFs
from metadata_log.files.lock import lock_directory
from metadata_log.format.batch import Batch
from metadata_log.reader.log_reader import LogReader
from metadata_log.shared.shared_log import Lease, Member, Position
from records.envelope import Origin
from records.errors import FencedError, MetadataLogError, Outcome, RequestError
from records.topics import NamespaceRecord
from replay.image.metadata import MetadataImage
from tests.api.nodes.group import LEASE_MS, Group, WrongClocks
from tests.api.nodes.group import Member as NodeMember
from tests.shared_log.memory import MemorySharedLog, MemoryStore


@pytest.fixture
async def group(tmp_path: Path) -> AsyncIterator[Group]:
    found = Group(tmp_path)
    found.start()
    yield found
    await found.stop()


def _names(member: NodeMember) -> list[str]:
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
    assert [member.leads for member in group.members].count(True) == 1


async def test_a_node_releases_its_folder_although_it_cannot_give_the_lease_away(
    group: Group,
) -> None:
    leader = await group.leader()
    service = await leader.serves()
    giving = asyncio.Event()

    async def give_away() -> None:
        giving.set()
        await asyncio.sleep(3_600)

    standing_by = asyncio.create_task(service.stand_by(give_away))
    await giving.wait()
    standing_by.cancel()
    with pytest.raises(asyncio.CancelledError):
        await standing_by
    lock_directory(OsFs(), leader.directory).release()


async def test_a_node_answers_before_its_index_is_made_and_leads_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go, in_turns = asyncio.Event(), ClusterIndex.in_turns

    def held(image: MetadataImage) -> Turns[ClusterIndex]:
        while not go.is_set():
            yield
        return (yield from in_turns(image))

    monkeypatch.setattr(ClusterIndex, "in_turns", held)
    group = Group(tmp_path)
    group.start()
    try:
        for member in group.members:
            service = await member.serves()
            answer = await service.run("topics list", ListTopics(), caller=CONTROLLER)
            assert answer.response == ()
        await asyncio.sleep(2 * LEASE_MS / 1_000)
        assert not any(member.leads or member.roles for member in group.members)
        # So nobody hands over to one of them.
        assert (await state_of(group.members[0].log)).nodes == ()
        go.set()
        await (await group.leader()).create("a")
        await _until_equal(group)
        assert len((await state_of(group.members[0].log)).nodes) == len(group.members)
    finally:
        go.set()
        await group.stop()


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
    assert not first.leads


async def test_a_leader_hands_over_to_the_node_that_an_operator_chose(group: Group) -> None:
    for _ in range(4):
        first = await group.leader()
        for chosen in [member for member in group.members if member is not first]:
            await chosen.serves()
            await ask_to_hand_over(chosen.log, chosen.number)
            assert await group.leader(first) is chosen
            await chosen.create(f"of-{chosen.number}-{len(chosen.roles)}")
            first = chosen
    await _until_equal(group)


async def test_another_leads_if_the_chosen_node_does_not(group: Group) -> None:
    first = await group.leader()
    for member in group.members:
        await member.serves()
    await ask_to_hand_over(first.log, 77)
    async with asyncio.timeout(10):
        while first.leads:
            await asyncio.sleep(0.01)
    began = asyncio.get_running_loop().time()
    second = await group.leader()
    assert asyncio.get_running_loop().time() - began > 1.5 * LEASE_MS / 1_000
    await second.create("a")
    assert await _until_equal(group) == ["a"]


@pytest.mark.parametrize("ahead_s", [300, -300])
async def test_a_node_whose_clock_is_wrong_leaves_leading_to_others(
    group: Group, monkeypatch: pytest.MonkeyPatch, ahead_s: int
) -> None:
    monkeypatch.setattr(membership, "REGISTER_EVERY_S", 0.05)
    first = await group.leader()
    for member in group.members:
        await member.serves()
    first.clocks.ahead_s = ahead_s
    second = await group.leader(first)
    # And by itself it leads: a wrong time is better than no answer.
    began = asyncio.get_running_loop().time()
    for member in sorted(group.members, key=lambda each: each is second):
        if member is not first:
            began = asyncio.get_running_loop().time()
            await member.stop()
    assert await group.leader(second) is first
    assert asyncio.get_running_loop().time() - began > 1.5 * LEASE_MS / 1_000
    await first.create("a")
    for member in group.members:
        if member is not first:
            member.start()
    assert await group.leader(first) is not first
    assert await _until_equal(group) == ["a"]


async def test_a_node_is_outranked_by_a_standby_with_a_right_clock_only() -> None:
    store = MemoryStore()
    log = MemorySharedLog(store)
    about = MemberContent(role="standby", version="1", log_end=0, clock_off_ms=0)
    for node_id, each in enumerate(
        (
            replace(about, clock_off_ms=90_000),
            replace(about, role="stopped"),
            about,  # this node
            about,  # gone
            about,
        )
    ):
        await log.register(node_id, msgspec.msgpack.encode(each))
    store.members[3] = (store.members[3][0] - membership.GONE_MS, store.members[3][1])
    here = Membership(log, 2, WrongClocks(), lambda off_ms: about)
    here.clock_off_ms = -membership.CLOCK_OFF_MS - 1
    assert await asyncio.wait_for(here.outranked(), 5) == 4


def test_a_node_that_says_nothing_is_gone() -> None:
    about = MemberContent(role="standby", version="1", log_end=5, clock_off_ms=0)
    end = Position(number=3, epoch=1, end_offset=9)

    def role(member_role: str, *, age_ms: int = 0, leader_id: int = 7) -> str:
        content = msgspec.msgpack.encode(replace(about, role=member_role))
        return node_of(Member(node_id=1, content=content, age_ms=age_ms), end, leader_id).role

    assert role("standby") == "standby"
    assert role("leader") == "standby"  # the lease says who leads
    assert role("standby", leader_id=1) == "leader"
    assert role("standby", leader_id=1, age_ms=membership.GONE_MS + 1) == "gone"
    assert role("stopped", age_ms=membership.GONE_MS + 1) == "stopped"


def test_a_node_that_does_not_run_holds_trimming_back_if_it_lacks_most() -> None:
    about = MemberContent(role="standby", version="1", log_end=9, clock_off_ms=0)
    end = Position(number=3, epoch=1, end_offset=9)

    def held(*durable_ends: int, stopped: int) -> int | None:
        members = [
            Member(
                node_id=number,
                content=msgspec.msgpack.encode(
                    replace(
                        about,
                        durable_end=durable_end,
                        role="stopped" if number == stopped else "standby",
                    )
                ),
                age_ms=0,
            )
            for number, durable_end in enumerate(durable_ends)
        ]
        return held_by(members, [node_of(member, end, 0) for member in members])

    assert held(9, 8, 4, stopped=2) == 2
    assert held(9, 3, 4, stopped=2) is None
    assert held(9, stopped=7) is None
    assert held(stopped=7) is None


def test_only_a_certain_difference_of_clocks_counts() -> None:
    assert membership.certain_ms(sent_off_ms=500, took_ms=9_000) == 500
    assert membership.certain_ms(sent_off_ms=-500, took_ms=9_000) == 0
    assert membership.certain_ms(sent_off_ms=-9_500, took_ms=9_000) == -500


async def test_a_leader_that_is_cut_off_stops_and_another_takes_over(group: Group) -> None:
    first = await group.leader()
    await first.create("a")
    first.log.is_cut = True
    second = await group.leader(first)
    assert not first.leads  # before the other one led
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
    assert first.leads

    async def renew(*_: object, **__: object) -> bool:
        return True

    monkeypatch.setattr(first.log, "renew", renew)
    second = await group.leader(first)
    await second.create("b")
    assert first.leads
    with pytest.raises((FencedError, RequestError)):
        await first.create("c")
    async with asyncio.timeout(10):
        while first.leads:
            await asyncio.sleep(0.01)
    monkeypatch.undo()
    assert await _until_equal(group) == ["a", "b"]


async def test_a_node_claims_nothing_by_a_lease_that_has_run_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another node could hold the lease by then, and answer by it."""
    alone = Group(tmp_path, count=1)
    (member,) = alone.members
    renew, claims = member.log.renew, list[int]()

    async def renew_slowly(lease: Lease, *, instead_of: Lease | None) -> bool:
        claims.append(len(alone.store.groups))
        is_renewed = await renew(lease, instead_of=instead_of)
        if len(claims) == 1:
            await asyncio.sleep(LEASE_MS / 1_000)
        return is_renewed

    monkeypatch.setattr(member.log, "renew", renew_slowly)
    alone.start()
    await alone.leader()
    await alone.stop()
    assert claims[:3] == [0, 0, 0]  # taken too late, released, and taken again


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


def _note(told: list[range], batch: Batch) -> None:
    told.append(range(batch.base_offset, batch.end_offset))


async def test_every_node_tells_of_each_batch_once_whoever_leads(group: Group) -> None:
    told: dict[int, list[range]] = {}
    for member in group.members:
        service = await member.serves()
        offsets = told.setdefault(member.number, [])
        service.on_commit.append(partial(_note, offsets))
    names = []
    leader = await group.leader()
    for turn in range(4):
        name = f"n{turn}"
        names.append(name)
        await leader.create(name)
        leader.log.is_cut = True
        following = await group.leader(leader)
        leader.log.is_cut = False
        leader = following
    assert await _until_equal(group) == names
    for member in group.members:
        service = await member.serves()
        async with asyncio.timeout(20):
            while {each.name for each in service.image.namespaces()} != set(names):
                await asyncio.sleep(0.02)
        ends = told[member.number]
        assert all(one.stop == next_.start for one, next_ in pairwise(ends))
        assert ends[-1].stop == service.image.provenance.next_offset


async def test_a_standby_refuses_changes_and_names_the_leader(group: Group) -> None:
    leader = await group.leader()
    await leader.create("a")
    await _until_equal(group)
    for member in group.members:
        if member is not leader:
            with pytest.raises(RequestError, match=f"node {leader.number} leads") as caught:
                await member.create("b")
            assert caught.value.code == "NOT_CONTROLLER"
            assert caught.value.outcome is Outcome.NOTHING
            service = await member.serves()
            assert service.leader_id == leader.number
            async with asyncio.timeout(20):  # the image follows the folder
                while not list(service.image.namespaces()):
                    await asyncio.sleep(0.01)
            answer = await service.run("namespaces list", ListNamespaces(), caller=CONTROLLER)
            assert [each.name for each in answer.response] == ["a"]
            assert not answer.wrote


async def _left_open(leader: NodeMember, group: Group) -> None:
    """Write a part of a transaction, and be cut off until another node leads."""
    assert leader.service is not None
    controller = leader.service._controller
    assert isinstance(controller, Controller)
    async with controller.transaction("left open") as transaction:
        bound = COMMANDS["namespaces create"].bound(CreateNamespace("never"), CONTROLLER)
        await transaction.submit(bound)
        leader.log.is_cut = True
        await group.leader(leader)


async def test_a_node_that_starts_while_a_transaction_is_open_has_its_records(
    tmp_path: Path,
) -> None:
    group = Group(tmp_path, count=2)
    leader, late = group.members
    leader.start()
    await group.leader()
    controller = (await leader.serves())._controller
    assert isinstance(controller, Controller)
    async with controller.transaction("open") as transaction:
        bound = COMMANDS["namespaces create"].bound(CreateNamespace("a"), CONTROLLER)
        await transaction.submit(bound)
        late.start()
        service = await late.serves()
        assert list(service.image.namespaces()) == []
    async with asyncio.timeout(20):
        while not list(service.image.namespaces()):
            await asyncio.sleep(0.01)
    await group.stop()


async def test_a_transaction_that_a_leader_left_open_is_aborted_everywhere(group: Group) -> None:
    leader = await group.leader()
    told: list[range] = []
    (await leader.serves()).on_commit.append(partial(_note, told))
    await leader.create("a")
    with pytest.raises(MetadataLogError):
        await _left_open(leader, group)
    leader.log.is_cut = False
    second = await group.leader()
    await second.create("b")
    assert await _until_equal(group) == ["a", "never", "b"]  # its record is there, without effect
    for member in group.members:
        service = await member.serves()
        async with asyncio.timeout(20):
            while {each.name for each in service.image.namespaces()} != {"a", "b"}:
                await asyncio.sleep(0.02)
    assert all(one.stop == following.start for one, following in pairwise(told))


async def test_a_leader_that_stops_takes_nothing_more(group: Group) -> None:
    """Callers that go on asking do not keep it from stopping."""
    leader = await group.leader()
    acknowledged: list[str] = []
    refused: set[Outcome] = set()

    async def ask(caller: int) -> None:
        number = 0
        while leader.service is not None:
            number += 1
            try:
                await leader.create(f"n{caller}-{number}")
            except MetadataLogError as error:
                refused.add(error.outcome)
                await asyncio.sleep(0)
            else:
                acknowledged.append(f"n{caller}-{number}")

    callers = [asyncio.create_task(ask(caller)) for caller in range(20)]
    await asyncio.sleep(0.2)
    await leader.stop()
    await asyncio.gather(*callers)
    assert refused == {Outcome.NOTHING}
    leader.start()
    assert sorted(await _until_equal(group)) == sorted(acknowledged)


async def test_requests_to_a_new_leader_are_decided_in_their_order(group: Group) -> None:
    """Also when the first one has an id, which is looked up in the log."""
    leader = await group.leader()
    service = await leader.serves()
    origin = Origin(principal="ada", command="namespaces create", request_id="first")
    first = asyncio.create_task(
        service.run("namespaces create", CreateNamespace("a"), caller=CONTROLLER, origin=origin)
    )
    second = asyncio.create_task(leader.create("b"))
    await asyncio.gather(first, second)
    assert _names(leader) == ["a", "b"]
