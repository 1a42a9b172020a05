"""What nodes answer: how far behind, and with `consistent` all that was acknowledged before."""

import asyncio
import contextlib
import secrets
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import httpx
import msgspec
import psycopg
import pytest
from sqlalchemy import make_url

from api.clients.reconnecting_client import ReconnectingClient
from api.clients.service_url import connect, next_first
from api.nodes.confirmations import Confirmations
from api.nodes.membership import MemberContent
from api.nodes.node_service import NodeService
from api.nodes.operations import look, remove_node
from api.nodes.stores import compare_with_store, create_shared_log, opened
from api.questions.nodes import ListNodes, SharedLogState
from api.requests.wire_requests import AnswerPage
from api.server import ServeOptions, serving
from api.service import answers
from controller.authorization.acls import AclAuthorizer
from controller.authorization.caller import CONTROLLER, Caller
from controller.decisions.context.context import Settings
from controller.decisions.namespaces.namespaces import CreateNamespace
from controller.descriptions.namespaces import ListNamespaces
from controller.wire import from_wire, to_wire
from metadata_log.files.fs import OsFs
from metadata_log.format.batch import NewBatch
from metadata_log.shared.shared_log import Position
from metadata_log.writer.creation import create_log
from metadata_log.writer.log import MetadataLog
from records.control import NoOpRecord
from records.errors import Outcome, RequestError, UnavailableError
from tests.api.nodes.group import LEASE_MS as GROUP_LEASE_MS
from tests.api.nodes.group import Group, Member
from tests.api.nodes.processes import LEASE_MS, metalog, refused, two_nodes
from tests.postgres import text_of

QUESTION = ("namespaces list", ListNamespaces())


class Listening(Member):
    """A node whose Kafka listener is open."""

    url = ""

    @contextlib.asynccontextmanager
    async def _serve(self, service: NodeService) -> AsyncIterator[None]:
        async with serving(ServeOptions(log=self.directory), service=service) as running:
            self.url = f"127.0.0.1:{running.kafka.port}"
            async with super()._serve(service):
                yield


@pytest.fixture
async def group(tmp_path: Path) -> AsyncIterator[Group]:
    """Three nodes that listen, of which one leads."""
    found = Group(tmp_path, member=Listening)
    found.start()
    for each in found.members:
        await each.serves()
    yield found
    await found.stop()


def _names(page: AnswerPage) -> list[str]:
    return [each.name for each in page.response]


async def _ask(member: Member, *, consistent: bool = False) -> AnswerPage:
    assert isinstance(member, Listening)
    async with await connect(f"kafka://{member.url}") as client:
        return await client.page(*QUESTION, consistent=consistent)


async def _standby(group: Group) -> tuple[Listening, Listening]:
    """Return the leader, and a standby that knows all so far."""
    leader = await group.leader()
    standby = next(member for member in group.members if member is not leader)
    assert isinstance(leader, Listening)
    assert isinstance(standby, Listening)
    return leader, standby


async def test_a_standby_says_how_far_behind_it_may_be(group: Group) -> None:
    leader, standby = await _standby(group)
    about = (await _ask(leader)).about
    assert about is not None
    assert (about.node, about.lag_ms) == (about.left_out, about.left_out)  # not set
    await _ask(standby, consistent=True)
    standby.log.is_cut = True
    await asyncio.sleep(0.5)
    about = (await _ask(standby)).about
    assert about is not None
    assert about.node == standby.number
    assert isinstance(about.lag_ms, int)
    assert 500 <= about.lag_ms < 60_000
    standby.log.is_cut = False


async def test_only_a_leader_has_time_left_and_none_when_it_has_overslept(
    group: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    leader, standby = await _standby(group)
    assert leader.service is not None
    assert standby.service is not None
    assert 0 < leader.service.lease_left_s < GROUP_LEASE_MS / 1_000
    assert standby.service.lease_left_s == 0
    monkeypatch.setattr(leader.clocks, "boot_ns", lambda: 2**62)
    assert leader.leads
    assert leader.service.lease_left_s == 0


async def test_a_consistent_answer_has_all_that_was_acknowledged_before(group: Group) -> None:
    leader, standby = await _standby(group)
    for number in range(20):
        await leader.create(f"n{number}")
        assert f"n{number}" in _names(await _ask(standby, consistent=True))
        assert f"n{number}" in _names(await _ask(leader, consistent=True))


async def test_a_node_that_is_cut_off_answers_but_not_consistently(group: Group) -> None:
    leader, standby = await _standby(group)
    await leader.create("a")
    assert _names(await _ask(standby, consistent=True)) == ["a"]
    standby.log.is_cut = True
    await leader.create("b")
    assert _names(await _ask(standby)) == ["a"]
    with pytest.raises(UnavailableError, match="cannot be confirmed") as caught:
        await _ask(standby, consistent=True)
    assert caught.value.outcome is Outcome.NOTHING
    standby.log.is_cut = False
    assert _names(await _ask(standby, consistent=True)) == ["a", "b"]


async def test_a_leader_that_was_overtaken_gives_no_old_answer(
    group: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It does not know yet: its renewals go nowhere."""
    first, _ = await _standby(group)
    await first.create("a")

    async def renew(*_: object, **__: object) -> bool:
        return True

    monkeypatch.setattr(first.log, "renew", renew)
    second = await group.leader(first)
    await second.create("b")
    assert first.leads
    assert _names(await _ask(first)) == ["a"]
    monkeypatch.setattr(answers, "MIN_OFFSET_WAIT_S", 0.05)
    with pytest.raises(RequestError) as caught:
        await _ask(first, consistent=True)
    assert caught.value.code == "OFFSET_NOT_AVAILABLE"
    monkeypatch.undo()


async def test_a_leader_that_was_overtaken_does_not_refuse_by_what_it_knows(
    group: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, _ = await _standby(group)
    await first.create("a")
    with pytest.raises(RequestError) as caught:
        await first.create("a")
    assert caught.value.code == "DUPLICATE_RESOURCE"

    async def renew(*_: object, **__: object) -> bool:
        return True

    monkeypatch.setattr(first.log, "renew", renew)
    await group.leader(first)
    assert first.leads
    service = await first.serves()
    notes = NewBatch(records=(NoOpRecord(),))
    for asking in (
        first.create("a"),
        service.run(
            "namespaces create", CreateNamespace("b", validate_only=True), caller=CONTROLLER
        ),
        service.append(notes, caller=CONTROLLER, expected_end_offset=0),
    ):
        with pytest.raises(RequestError) as caught:
            await asking
        assert (caught.value.code, caught.value.outcome) == ("NOT_CONTROLLER", Outcome.NOTHING)
    monkeypatch.undo()


async def test_the_next_node_gives_no_older_answer(
    group: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    leader, standby = await _standby(group)
    await _ask(standby, consistent=True)
    url = f"kafka://{leader.url},{standby.url}"
    async with ReconnectingClient(url) as client:
        standby.log.is_cut = True
        await leader.create("a")
        assert _names(await client.page(*QUESTION)) == ["a"]
        client._disconnect()
        client._url = next_first(client._url)
        asking = asyncio.create_task(client.page(*QUESTION))
        await asyncio.sleep(0.3)
        assert not asking.done()
        standby.log.is_cut = False
        assert _names(await asking) == ["a"]
        # And if that one never comes to know it, another one is asked.
        await client.run("namespaces create", CreateNamespace("b"))
        standby.log.is_cut = True
        await leader.create("c")
        await client.page(*QUESTION)
        monkeypatch.setattr(answers, "MIN_OFFSET_WAIT_S", 0.05)
        while client._url != url:
            client._url = next_first(client._url)
        client._url = next_first(client._url)
        client._disconnect()
        assert _names(await client.page(*QUESTION)) == ["a", "b", "c"]
        standby.log.is_cut = False


async def test_questions_that_wait_share_a_confirmation() -> None:
    asked: list[asyncio.Future[Position]] = []

    async def confirmed_end() -> Position:
        future: asyncio.Future[Position] = asyncio.get_running_loop().create_future()
        asked.append(future)
        return await future

    confirmations = Confirmations(confirmed_end)
    first = [asyncio.create_task(confirmations.end()) for _ in range(3)]
    await asyncio.sleep(0.01)
    assert len(asked) == 1
    # It began before these: they need the next one, and share it.
    later = [asyncio.create_task(confirmations.end()) for _ in range(3)]
    await asyncio.sleep(0.01)
    assert len(asked) == 1
    asked[0].set_result(Position(end_offset=5))
    assert await asyncio.gather(*first) == [Position(end_offset=5)] * 3
    await asyncio.sleep(0.01)
    assert len(asked) == 2
    asked[1].set_exception(UnavailableError("no answer", outcome=Outcome.UNKNOWN))
    found = await asyncio.gather(*later, return_exceptions=True)
    assert all(isinstance(each, UnavailableError) for each in found)
    third = asyncio.create_task(confirmations.end())
    await asyncio.sleep(0.01)
    asked[2].set_result(Position(end_offset=7))
    assert await third == Position(end_offset=7)


async def test_a_question_that_gives_up_does_not_end_the_others() -> None:
    begun, end = asyncio.Event(), asyncio.Event()

    async def confirmed_end() -> Position:
        begun.set()
        await end.wait()
        return Position(end_offset=5)

    confirmations = Confirmations(confirmed_end)
    one, other = [asyncio.create_task(confirmations.end()) for _ in range(2)]
    await begun.wait()
    one.cancel()
    end.set()
    assert await other == Position(end_offset=5)


def test_each_node_lists_the_nodes_over_every_listener(tmp_path: Path, url: str) -> None:
    more = ("--http", "127.0.0.1:0", "--socket", "127.0.0.1:0")
    with two_nodes(tmp_path, url, more, more) as nodes:
        of_store = metalog("nodes", "list", url)
        for node in nodes:
            line = node.lines[-1]
            http = httpx.get(f"http://{line['http']}/v1/nodes/list").json()
            asked = [
                metalog("nodes", "list", "--server", f"{scheme}://{line[scheme]}")
                for scheme in ("kafka", "socket")
            ]
            for found in (http, *asked):
                assert found["log_id"] == of_store["log_id"]
                assert sorted(each["role"] for each in found["nodes"]) == ["leader", "standby"]
                assert found["as_of"] == of_store["log_end"] - 1
            assert refused("nodes", "list", url, "--server", f"kafka://{line['kafka']}")


async def test_only_who_may_describe_the_cluster_is_told_its_nodes(tmp_path: Path) -> None:
    group = Group(tmp_path, count=1)
    (member,) = group.members
    member.settings = Settings(authorizer=AclAuthorizer.of({}))
    group.start()
    await group.leader()
    service = await member.serves()
    ask = partial(service.answers.page, "nodes list", to_wire(ListNodes()))
    with pytest.raises(RequestError) as caught:
        await ask(caller=Caller(principal="User:ann"))
    assert caught.value.code == "CLUSTER_AUTHORIZATION_FAILED"
    found = from_wire((await ask(caller=CONTROLLER)).payload, SharedLogState)
    assert [each.role for each in found.nodes] == ["leader"]
    member.log.is_cut = True
    with pytest.raises(UnavailableError):
        await ask(caller=CONTROLLER)
    member.log.is_cut = False
    await group.stop()


def test_the_command_line_and_http_ask_consistently(tmp_path: Path, url: str) -> None:
    more = ("--http", "127.0.0.1:0")
    with two_nodes(tmp_path, url, more, more) as (first, standby):
        web = f"http://{standby.lines[-1]['http']}/v1/namespaces/list"
        for number in range(3):
            metalog("namespaces", "create", f"n{number}", "--server", first.leads_at or "")
            at = standby.listens_at or ""
            found = metalog("namespaces", "list", "--consistent", "--server", at)
            assert len(found["namespaces"]) == number + 1
            assert found["node"] == standby.number
            assert found["lag_ms"] < 10 * LEASE_MS
            answer = httpx.get(web, params={"consistent": "true"}, timeout=60).json()
            assert len(answer["namespaces"]) == number + 1
            assert answer["node"] == standby.number


def test_who_names_no_service_is_told(tmp_path: Path) -> None:
    metalog("init", str(tmp_path / "log"))
    said = refused("namespaces", "list", "--consistent", "--log", str(tmp_path / "log"))
    assert "--consistent needs --server" in said


async def test_a_role_that_only_reads_lists_and_compares(tmp_path: Path, url: str) -> None:
    folder = tmp_path / "log"
    create_log(folder, "shared")
    async with await MetadataLog.open(folder) as own:
        await own.append(NewBatch(records=(NoOpRecord(),)))
    await create_shared_log(url, folder)
    role = f"reader_{secrets.token_hex(4)}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE ROLE {role} LOGIN PASSWORD 'reads'".encode())
        connection.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA public TO {role}".encode())
    content = MemberContent(role="stopped", version="1", log_end=0, clock_off_ms=0)
    async with opened(url) as log:
        await log.register(7, msgspec.msgpack.encode(content))
    reading = text_of(make_url(url).set(username=role, password="reads"))
    assert [each.node for each in (await look(reading)).nodes] == [7]
    compared = await compare_with_store(reading, OsFs(), folder, lambda end: None)
    assert (compared.difference, compared.from_offset, compared.missing) == (None, 0, 0)
    assert compared.to_offset >= 1
    with pytest.raises(RequestError, match="permission denied for table shared_member"):
        await remove_node(reading, 7)
    assert [each.node for each in (await look(url)).nodes] == [7]
