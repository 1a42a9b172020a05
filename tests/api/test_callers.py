"""The log stores the caller and trace of each request; request ids are unique per caller."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from api.clients.client import MetadataClient
from api.kafka.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataTopic,
)
from api.kafka.messages.topics import DeleteTopicsRequest, DeleteTopicsResponse, DeleteTopicState
from api.requests.transactions import Step, Transact
from api.security.listeners import LOCAL
from api.server import ServeOptions, Serving, serving
from api.service.session import Session
from api.socket.client import SocketClient
from controller.authorization.authorizer import (
    CLUSTER,
    Operation,
    topic_resource,
    user_resource,
)
from controller.authorization.caller import ANONYMOUS, Caller
from controller.decisions.context.context import Settings
from controller.decisions.namespaces.namespaces import CreateNamespace
from controller.decisions.topics.topics import CreateTopics, DeleteTopics, NewTopic
from controller.descriptions.topics import DescribeTopics
from metadata_log.format.batch import NewBatch
from metadata_log.reader.log_reader import LogReader
from metadata_log.writer.creation import create_log
from records.base import Uuid
from records.control import NoteRecord
from records.envelope import Origin
from records.errors import RequestError
from records.text import uuid_text
from tests.api.conftest import Metalog
from tests.api.guarded import CLUSTER_REFUSED, TOPIC_REFUSED, Rights, guarded
from tests.api.kafka.servers import CLUSTER_ID, Server
from tests.api.services import serving as serving_process

TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
ANN, BOB = Caller(principal="User:ann"), Caller(principal="User:bob")


class At:
    """A service with all its listeners, and the content of its log."""

    def __init__(self, log: Path, running: Serving, rights: Rights) -> None:
        self.log, self.service, self.rights = log, running.service, rights
        self.kafka = f"kafka://127.0.0.1:{running.kafka.port}"
        assert running.socket is not None
        self.socket = running.socket.port

    def last_origin(self) -> Origin:
        return last_origin(self.log)

    async def connect(self, way: str) -> MetadataClient | SocketClient:
        """Return a client with the client id `script`."""
        if way == "kafka":
            return await MetadataClient.connect(self.kafka, client_id="script")
        return await SocketClient.connect("127.0.0.1", self.socket, client_id="script")


def last_origin(log: Path) -> Origin:
    """Return the origin of the last batch of a log."""
    with LogReader.open(log) as reader:
        origin = list(reader.batches())[-1].rows[0].origin
    assert origin is not None
    return origin


@pytest_asyncio.fixture
async def at(tmp_path: Path) -> AsyncIterator[At]:
    create_log(tmp_path / "log", CLUSTER_ID)
    rights = Rights()
    options = ServeOptions(
        log=tmp_path / "log",
        socket=LOCAL,
        settings=Settings(authorizer=rights),
    )
    async with serving(options) as running:
        yield At(options.directory, running, rights)


def note(text: str, origin: Origin | None = None) -> NewBatch:
    return NewBatch(records=(NoteRecord(at_offset=0, author="x", text=text),), origin=origin)


async def test_kafka_listener_tells_principal_trace_and_client(at: At) -> None:
    async with await MetadataClient.connect(at.kafka, client_id="script") as client:
        await client.run("namespaces create", CreateNamespace("n"), trace_parent=TRACE, reason="r")
    origin = at.last_origin()
    assert (origin.principal, origin.trace_parent, origin.reason) == (ANONYMOUS, TRACE, "r")
    assert origin.command == "namespaces create"
    assert origin.client is not None and origin.client.startswith("script at 127.0.0.1:")


async def test_socket_tells_principal_trace_and_client(at: At) -> None:
    async with await SocketClient.connect("127.0.0.1", at.socket) as client:
        await client.append(note("a"))
        plain = at.last_origin()
        origin = Origin(principal="User:ann", trace_parent=TRACE, client="script")
        await client.append(note("b", origin))
    assert (plain.principal, plain.command) == (ANONYMOUS, "append")
    assert plain.client is not None and plain.client.startswith("unnamed at 127.0.0.1:")
    found = at.last_origin()
    assert (found.principal, found.trace_parent) == ("User:ann", TRACE)
    # Who took the identity stands beside it.
    assert found.client is not None
    assert found.client.startswith(f"{ANONYMOUS} by script at 127.0.0.1:")


@pytest.mark.parametrize("way", ["kafka", "socket", "session"])
async def test_every_step_of_a_transaction_tells_principal_and_trace(at: At, way: str) -> None:
    steps = [Step.of("namespaces create", CreateNamespace(name)) for name in ("a", "b")]
    request = Transact(steps=tuple(steps))
    start = at.service.image.provenance.next_offset
    async with contextlib.AsyncExitStack() as closing:
        if way == "session":
            await Session(at.service, ANN).run(request, trace_parent=TRACE)
        else:
            client = await closing.enter_async_context(await at.connect(way))
            await client.run(request, trace_parent=TRACE, principal="User:ann")
    with LogReader.open(at.log) as reader:
        origins = [row.origin for batch in reader.batches(start) for row in batch.rows]
    assert len(origins) == 4  # Begin, two namespaces, End
    for origin in origins:
        assert origin is not None
        assert (origin.principal, origin.trace_parent) == ("User:ann", TRACE)
        assert origin.command == "transaction"
        if way != "session":
            assert str(origin.client).startswith(f"{ANONYMOUS} by script at 127.0.0.1:")


async def test_service_of_this_process_tells_principal_and_trace(at: At) -> None:
    session = Session(at.service, ANN)
    await session.run("namespaces create", CreateNamespace("n"), trace_parent=TRACE)
    origin = at.last_origin()
    assert (origin.principal, origin.trace_parent) == ("User:ann", TRACE)
    await session.append(note("a"))
    assert at.last_origin().principal == "User:ann"


@pytest.mark.parametrize("way", ["option", "environment"])
def test_command_line_tells_principal_and_trace(
    metalog: Metalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    log = tmp_path / "log"
    metalog("init", log)
    file = tmp_path / "notes"
    file.write_text('{"type": "NoteRecord", "data": {"at_offset": 0, "author": "x", "text": "x"}}')
    trace = ["--trace-parent", TRACE] if way == "option" else []
    if way == "environment":
        monkeypatch.setenv("TRACEPARENT", TRACE)
    create = ["namespaces", "create", *trace]
    append = ["append", file, *trace]
    assert metalog(*create, "a", "--log", log, "--as", "User:ann").code == 0
    origins = [last_origin(log)]
    assert metalog(*append, "--log", log, "--principal", "User:ann").code == 0
    origins.append(last_origin(log))
    assert [(o.principal, o.trace_parent) for o in origins] == [("User:ann", TRACE)] * 2
    with serving_process(log) as served:
        assert metalog(*create, "b", "--server", served.kafka).code == 0
        origins = [last_origin(log)]
        for server in (served.kafka, served.socket):
            assert metalog(*append, "--server", server).code == 0
            origins.append(last_origin(log))
    # The file was appended twice: ids of requests are known by principal.
    assert [(o.principal, o.trace_parent) for o in origins] == [(ANONYMOUS, TRACE)] * 3


def test_trace_parent_must_be_one(metalog: Metalog, tmp_path: Path) -> None:
    metalog("init", tmp_path)
    arguments = ("namespaces", "create", "a", "--log", tmp_path, "--trace-parent", "00-x")
    assert metalog(*arguments).code == 2


@pytest.mark.parametrize("way", ["kafka", "socket"])
async def test_an_identity_is_taken_for_a_command_only_with_the_right_to_it(
    at: At, way: str
) -> None:
    at.rights.but = {(Operation.CREATE_TOKENS, user_resource("User:ann"))}
    end = at.service.image.provenance.next_offset
    async with await at.connect(way) as client:
        with pytest.raises(RequestError) as caught:
            await client.run("namespaces create", CreateNamespace("n"), principal="User:ann")
        assert caught.value.code == CLUSTER_REFUSED
        assert at.service.image.provenance.next_offset == end
        await client.run("namespaces create", CreateNamespace("n"), principal="User:bob")
    assert at.last_origin().principal == "User:bob"


async def test_an_identity_is_taken_for_an_append_only_with_the_right_to_it(at: At) -> None:
    at.rights.but = {(Operation.CREATE_TOKENS, user_resource("User:ann"))}
    end = at.service.image.provenance.next_offset
    async with await SocketClient.connect("127.0.0.1", at.socket) as client:
        with pytest.raises(RequestError) as caught:
            await client.append(note("a", Origin(principal="User:ann")))
        assert caught.value.code == CLUSTER_REFUSED
        assert at.service.image.provenance.next_offset == end
        await client.append(note("a", Origin(principal="User:bob")))
    assert at.last_origin().principal == "User:bob"


async def test_socket_appends_need_the_right_to_cluster_actions(at: At) -> None:
    at.rights.but = {(Operation.CLUSTER_ACTION, CLUSTER)}
    end = at.service.image.provenance.next_offset
    async with await SocketClient.connect("127.0.0.1", at.socket) as client:
        with pytest.raises(RequestError) as caught:
            await client.append(note("a"))
    assert caught.value.code == CLUSTER_REFUSED
    assert at.service.image.provenance.next_offset == end


def test_the_command_line_takes_an_identity_beside_its_own(
    metalog: Metalog, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    metalog("init", log)
    create = ("namespaces", "create")
    options = ("--authorizer", "acl", "--super-user", ANONYMOUS, "--super-user", "User:ann")
    with serving_process(log, *options) as served:
        for server, name in ((served.kafka, "a"), (served.socket, "b")):
            assert metalog(*create, name, "--server", server, "--as", "User:ann").code == 0
            origin = last_origin(log)
            assert (origin.principal, origin.command) == ("User:ann", "namespaces create")
            assert str(origin.client).startswith(f"{ANONYMOUS} by metalog at 127.0.0.1:")
    with serving_process(log, "--authorizer", "acl") as served:
        refused = metalog(*create, "c", "--server", served.kafka, "--as", "User:ann")
        assert (refused.code, refused.err.split(":")[1]) == (3, " CLUSTER_AUTHORIZATION_FAILED")
        assert f"{ANONYMOUS} may not CREATE_TOKENS the user 'User:ann'" in refused.err


async def test_request_ids_are_known_by_principal(at: At) -> None:
    sessions = [Session(at.service, caller) for caller in (ANN, BOB)]
    asked = [
        session.run("namespaces create", CreateNamespace(name), request_id="r1")
        for session, name in zip(sessions, "ab", strict=True)
        for _ in range(2)
    ]
    answers = await asyncio.gather(*asked)
    assert [a.response.namespaces for a in answers] == [("a",), ("a",), ("b",), ("b",)]
    for session, name in zip(sessions, "ab", strict=True):
        again = await session.run("namespaces create", CreateNamespace(name), request_id="r1")
        assert again.response.namespaces == (name,)


async def test_repeated_request_gets_only_what_the_caller_may_see_now(tmp_path: Path) -> None:
    request = CreateTopics(topics=tuple([NewTopic(name=name) for name in "cd"]))
    async with guarded(tmp_path) as (at, rights):
        session = Session(at.service, ANN)
        first = await session.run("topics create", request, request_id="r1")
        rights.only = {(Operation.CREATE, topic_resource("c"))}
        again = await session.run("topics create", request, request_id="r1")
        assert again.response[0] == first.response[0]
        assert again.response[1].refusal.code == TOPIC_REFUSED
        assert again.response[1].topic_id is None
        rights.only = set()
        none = await session.run("topics create", request, request_id="r1")
        assert {r.refusal.code for r in none.response} == {TOPIC_REFUSED}
        rights.only = None
        assert await session.run("topics create", request, request_id="r1") == first


async def test_old_answer_of_a_request_that_needs_a_right_as_a_whole(at: At) -> None:
    session = Session(at.service, ANN)
    first = await session.run("namespaces create", CreateNamespace("n"), request_id="r1")
    at.rights.only = set()
    with pytest.raises(RequestError) as caught:
        await session.run("namespaces create", CreateNamespace("n"), request_id="r1")
    assert caught.value.code == TOPIC_REFUSED
    at.rights.only = None
    again = await session.run("namespaces create", CreateNamespace("n"), request_id="r1")
    assert again.response == first.response


# What is hidden


async def _metadata(at: Server, *topics: MetadataRequestTopic) -> tuple[MetadataTopic, ...]:
    request = MetadataRequest(topics=topics or None, include_topic_authorized_operations=True)
    return (await at.client.connection.request(request, MetadataResponse)).topics


async def test_metadata_does_not_tell_whether_a_hidden_topic_exists(tmp_path: Path) -> None:
    async with guarded(tmp_path) as (at, rights):
        hidden = at.service.image.topic_by_full_name("b")
        assert hidden is not None
        rights.only = {(Operation.DESCRIBE, topic_resource("a"))}
        assert [topic.name for topic in await _metadata(at)] == ["a"]
        (there, absent) = await _metadata(
            at, MetadataRequestTopic(name="b"), MetadataRequestTopic(name="nowhere")
        )
        assert (there.error_code, there.topic_id) == (absent.error_code, absent.topic_id)
        for topic_id in (hidden.topic_id, Uuid(b"nowhere" + bytes(9))):
            (by_id,) = await _metadata(at, MetadataRequestTopic(name=None, topic_id=topic_id))
            assert (by_id.error_code, by_id.name, by_id.partitions) == (100, None, ())
        (seen,) = await _metadata(at, MetadataRequestTopic(name="a"))
        assert seen.topic_authorized_operations == 1 << Operation.DESCRIBE.value


async def test_absent_and_hidden_topics_are_refused_alike(tmp_path: Path) -> None:
    async with guarded(tmp_path) as (at, rights):
        hidden = at.service.image.topic_by_full_name("b")
        assert hidden is not None
        rights.only = set()
        answer = await at.client.run(
            "topics delete",
            DeleteTopics(topics=("b", "nowhere", hidden.topic_id, Uuid(b"nowhere" + bytes(9)))),
        )
        *by_name, by_id, unknown = [result.refusal for result in answer.response]
        assert by_name[0].message.replace("'b'", "'nowhere'") == by_name[1].message
        assert by_id.code == unknown.code == "UNKNOWN_TOPIC_ID"
        texts = [uuid_text(i) for i in (hidden.topic_id, Uuid(b"nowhere" + bytes(9)))]
        assert by_id.message.replace(*texts) == unknown.message
        response = await at.client.connection.request(
            DeleteTopicsRequest(topics=(DeleteTopicState(name=None, topic_id=hidden.topic_id),)),
            DeleteTopicsResponse,
        )
        assert [(r.error_code, r.name) for r in response.responses] == [(100, None)]


async def test_description_says_what_the_caller_may_do(tmp_path: Path) -> None:
    async with guarded(tmp_path) as (at, rights):
        rights.only = {(o, topic_resource("a")) for o in (Operation.DESCRIBE, Operation.READ)}
        answer = await at.client.run("topics describe", DescribeTopics())
        (found,) = answer.response.topics
        assert found.description.authorized_operations == (Operation.READ, Operation.DESCRIBE)
        assert found.description.configs == ()
