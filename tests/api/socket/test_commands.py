"""Commands, transactions and expected versions behave over the socket like over Kafka's
protocol.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from api.clients.client import MetadataClient
from api.requests.commands import step_responses
from api.requests.transactions import Step, Transact
from api.requests.wire_requests import WireRequest
from api.server import serving
from api.service.service import Service
from api.socket import runs
from api.socket.appends import encode_rows
from api.socket.client import SocketClient
from controller.decisions.namespaces.namespaces import CreateNamespace
from controller.decisions.topics.topics import CreateTopics, DeleteTopics, NewTopic
from controller.decisions.versions import ExpectedVersion, VersionMismatchError, version_of
from controller.descriptions.namespaces import ListNamespaces
from controller.descriptions.topics import ListTopics
from controller.raw_appends.raw_append import AppendRows
from metadata_log.format.batch import NewBatch
from records.control import NoteRecord
from records.errors import Outcome, RequestError
from records.topics import NamespaceRecord
from tests.api.conftest import Metalog
from tests.api.kafka.servers import server
from tests.api.services import serving as serving_process
from tests.api.socket.conftest import rows
from tests.api.socket.test_served import options

NOTE = NewBatch(records=(NoteRecord(at_offset=0, author="ann", text="x"),))


@asynccontextmanager
async def _connected(directory: Path) -> AsyncIterator[tuple[Service, SocketClient]]:
    async with serving(options(directory)) as running:
        assert running.socket is not None
        port = running.socket.port
        async with await SocketClient.connect("127.0.0.1", port, client_id="script") as client:
            yield running.service, client


async def test_command_is_carried_out_and_answered_with_its_response(directory: Path) -> None:
    async with _connected(directory) as (service, client):
        answer = await client.run(CreateNamespace("org"), reason="why", trace_parent="00-1")
        assert answer.response.namespaces == ("org",)
        assert answer.wrote
        assert answer.end_offset == service.image.provenance.next_offset
        listed = await client.run("topics list", ListTopics())
        assert (listed.response, listed.wrote) == ((), False)
    origin = rows(directory)[-1].origin
    assert origin is not None
    assert (origin.command, origin.reason, origin.trace_parent) == (
        "namespaces create",
        "why",
        "00-1",
    )
    assert origin.client is not None
    assert origin.client.startswith("script at 127.0.0.1:")


async def test_appends_and_commands_reach_the_log_in_the_order_in_which_they_were_sent(
    directory: Path,
) -> None:
    async with _connected(directory) as (_, client):
        sent = [
            client.run(CreateNamespace(f"org{number}")) if number % 3 == 1 else client.append(NOTE)
            for number in range(30)
        ]
        await asyncio.gather(*sent)
    stored = [type(row.payload) for row in rows(directory)[-30:]]
    assert stored == [NamespaceRecord if n % 3 == 1 else NoteRecord for n in range(30)]


async def test_command_is_refused_with_its_code_and_the_connection_goes_on(
    directory: Path,
) -> None:
    async with _connected(directory) as (service, client):
        end = service.image.provenance.next_offset
        with pytest.raises(RequestError) as caught:
            await client.run(CreateNamespace("a:b:"))
        assert caught.value.outcome is Outcome.NOTHING
        for request, said in (
            (WireRequest(command="no such", request=b""), "no command 'no such'"),
            (WireRequest(command="topics list", request=b"\xc1"), "not MessagePack"),
        ):
            with pytest.raises(RequestError, match=said) as caught:
                await client.run_wire(request)
            assert caught.value.code == "INVALID_REQUEST"
        assert service.image.provenance.next_offset == end
        await client.run(CreateNamespace("a"))


async def test_repeated_command_is_carried_out_once(directory: Path) -> None:
    async with _connected(directory) as (service, client):
        request = CreateNamespace("org")
        first = await client.run(request, request_id="r1")
        end = service.image.provenance.next_offset
        assert await client.run(request, request_id="r1") == first
        with pytest.raises(RequestError, match="'r1' was used for another request"):
            await client.run(CreateNamespace("other"), request_id="r1")
        assert service.image.provenance.next_offset == end


async def test_transaction_is_one_request_of_which_all_steps_happen_or_none(
    directory: Path,
) -> None:
    async with _connected(directory) as (service, client):
        steps = [Step.of("namespaces create", CreateNamespace(name)) for name in "ab"]
        answer = await client.run(Transact(steps=tuple(steps)), request_id="t1")
        assert [r.namespaces for r in step_responses(answer.response)] == [("a",), ("b",)]
        end = service.image.provenance.next_offset
        missing = Step.of("topics delete", DeleteTopics(topics=("nowhere",)))
        more = Step.of("namespaces create", CreateNamespace("c"))
        with pytest.raises(RequestError, match="step 2 of 2"):
            await client.run(Transact(steps=(more, missing)))
        assert service.image.namespace_by_name("c") is None
        assert service.image.provenance.next_offset == end
        assert await client.run(Transact(steps=tuple(steps)), request_id="t1") == answer


async def test_questions_are_answered_page_by_page_as_over_kafka(directory: Path) -> None:
    async with serving(options(directory)) as running:
        assert running.socket is not None
        async with (
            await SocketClient.connect("127.0.0.1", running.socket.port) as client,
            await MetadataClient.connect(f"kafka://127.0.0.1:{running.kafka.port}") as kafka,
        ):
            await client.run(CreateNamespace("org:a"))
            for at in ("end", "start"):
                page = await client.page("namespaces list", ListNamespaces(), at=at)
                assert page == await kafka.page("namespaces list", ListNamespaces(), at=at)
                assert page.about is not None
            with pytest.raises(RequestError) as caught:
                await client.page("no such question", ListNamespaces())
            assert caught.value.outcome is Outcome.NOTHING


def test_command_line_asks_and_changes_over_the_socket(
    metalog: Metalog, directory: Path, tmp_path: Path
) -> None:
    step = {"command": "namespaces create", "request": {"name": "b"}}
    (tmp_path / "steps").write_text(json.dumps(step))
    with serving_process(directory) as served:
        where = ("--server", served.socket)
        assert metalog("namespaces", "create", "a", *where).code == 0
        assert metalog("transaction", tmp_path / "steps", *where).code == 0
        found = metalog("namespaces", "list", *where, "--json").json
        assert found == metalog("namespaces", "list", "--server", served.kafka, "--json").json
        assert [n["name"] for n in found["namespaces"]] == ["a", "b"]
        assert metalog("namespaces", "delete", "c", *where).code == 3


async def test_append_expects_versions_of_objects(directory: Path) -> None:
    async with _connected(directory) as (service, client):
        absent = ExpectedVersion("namespace:org", None)
        await client.append(NOTE, expected_versions=(absent,))
        await client.run(CreateNamespace("org"))
        version = version_of(service.image, "namespace:org")
        assert version is not None
        end = service.image.provenance.next_offset
        for expected in (absent, ExpectedVersion("namespace:org", version - 1)):
            with pytest.raises(VersionMismatchError) as caught:
                await client.append(NOTE, expected_versions=(expected,))
            assert (caught.value.expected, caught.value.current) == (expected, version)
            assert caught.value.outcome is Outcome.NOTHING
        assert service.image.provenance.next_offset == end
        exact = ExpectedVersion("namespace:org", version)
        await client.append(NOTE, expected_versions=(exact,), expected_end_offset=end)
        gone = ExpectedVersion("namespace:nowhere", 7)
        with pytest.raises(VersionMismatchError) as caught:
            await client.append(NOTE, expected_versions=(exact, gone))
        assert caught.value.current is None


async def test_kafka_client_gets_the_current_version_too(tmp_path: Path) -> None:
    async with server(tmp_path) as at:
        expected = ExpectedVersion("namespace:org", 7)
        rows = AppendRows(rows=encode_rows(NOTE), count=1, expected_versions=(expected,))
        with pytest.raises(VersionMismatchError) as caught:
            await at.client.run("records append", rows)
        assert (caught.value.expected, caught.value.current) == (expected, None)
        assert caught.value.outcome is Outcome.NOTHING


async def test_answer_that_is_too_large_says_so_and_the_connection_goes_on(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs, "ANSWER_SIZE_BYTES_MAX", 200)
    async with _connected(directory) as (_, client):
        topics = tuple([NewTopic(name=f"t{number}") for number in range(100)])
        with pytest.raises(RequestError, match="the answer has") as caught:
            await client.run(CreateTopics(topics=topics, validate_only=True))
        assert (caught.value.code, caught.value.outcome) == ("MESSAGE_TOO_LARGE", Outcome.NOTHING)
        await client.run(CreateNamespace("org"))
