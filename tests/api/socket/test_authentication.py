"""Authentication by password, token, certificate or the operating system; refusals of others."""

import asyncio
import base64
import contextlib
import logging
import os
import pwd
import stat
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from api.security.client import CLIENT_FILE, ClientSecurity, ConnectionSecurity
from api.security.listeners import ListenerSecurity, SecurityProtocol
from api.security.options import SecurityOptions
from api.security.sasl import ClientLogin
from api.security.tls import ClientAuth, TlsFiles, client_context, server_context
from api.server import Serving
from api.socket import authentication, limits
from api.socket.appends import Append, encode_append
from api.socket.authentication import encode_message
from api.socket.client import SocketClient
from api.socket.frames import LENGTH, Kind
from api.socket.handshake import encode_hello, hello_of_client
from api.socket.options import parse_socket
from api.socket.refusals import decode_refused
from api.socket.server import serve_socket
from benchmarks.log_sessions import sessions_on
from controller.decisions.notes import AddNote
from controller.decisions.security.tokens import SECRET_KEY, CreateToken
from metadata_log.format.batch import NewBatch
from metadata_log.writer.log import MetadataLog
from records.control import NoteRecord
from records.errors import RequestError, UnavailableError
from tests.api.conftest import Metalog
from tests.api.kafka.servers import CLUSTER_ID
from tests.api.kafka.test_sasl import MECHANISMS, as_user, secured, until
from tests.api.services import serving as serving_process
from tests.api.socket.conftest import OpenRaw, RawPeer, SlowLog
from tests.certificates import Authority

NOTE = NewBatch(records=(NoteRecord(at_offset=0, author="ann", text="x"),))
KAFKA = "plaintext://127.0.0.1:0"


@pytest.fixture(autouse=True)
def unlimited_log(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(authentication, "_logger", logging.getLogger("unlimited"))


@contextlib.asynccontextmanager
async def served(
    directory: Path, at: str, security: SecurityOptions | None = None, **settings: Any
) -> AsyncIterator[Serving]:
    security = security or SecurityOptions()
    socket = parse_socket(at, security)
    async with secured(directory, KAFKA, security=security, socket=socket, **settings) as running:
        yield running


async def connected(
    running: Serving, protocol: str, login: ClientLogin | None = None, tls: TlsFiles | None = None
) -> SocketClient:
    assert running.socket is not None
    security = ClientSecurity(login=login, tls=tls or TlsFiles())
    used = security.used_with(SecurityProtocol[protocol.upper()])
    return await SocketClient.connect("127.0.0.1", running.socket.port, security=used)


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Serving]:
    async with served(tmp_path, "sasl_plaintext://127.0.0.1:0") as service:
        yield service


def authors(running: Serving) -> dict[str, str]:
    return {note.text: note.author for note in running.service.image.notes()}


@pytest.mark.parametrize("mechanism", MECHANISMS)
async def test_a_user_is_known_by_its_password(running: Serving, mechanism: str) -> None:
    async with await connected(running, "sasl_plaintext", as_user("ann", mechanism)) as client:
        await client.append(NOTE)
        await client.run(AddNote(at_offset=0, text="hello"))
        assert authors(running) == {"x": "ann", "hello": "User:ann"}
    async with await connected(running, "sasl_plaintext", as_user("b=o,b", mechanism)) as client:
        for asked in (client.append(NOTE), client.run(AddNote(at_offset=0, text="hello"))):
            with pytest.raises(RequestError, match="User:b=o,b may not"):
                await asked
    (authenticator,) = running.authenticators
    assert (authenticator.listener, authenticator.succeeded) == ("SOCKET", 2)


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("login", [("ann", "Wrong1"), ("nobody", "Wrong2")])
async def test_a_failure_says_the_same_whether_or_not_the_user_exists(
    running: Serving, mechanism: str, login: tuple[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    name, password = login
    with pytest.raises(RequestError) as caught:
        await connected(running, "sasl_plaintext", as_user(name, mechanism, password))
    assert caught.value.code == "SASL_AUTHENTICATION_FAILED"
    assert str(caught.value).endswith("Authentication failed: Invalid username or password")
    assert f"authentication has failed: as {name!r} by {mechanism}: " in caplog.text
    assert password not in caplog.text
    (authenticator,) = running.authenticators
    assert (authenticator.succeeded, authenticator.failed) == (0, 1)


async def test_a_client_without_a_user_is_told_nothing_else(running: Serving) -> None:
    with pytest.raises(RequestError, match=r"requires a user; write socket\+sasl_ssl://") as caught:
        await connected(running, "plaintext")
    assert CLUSTER_ID not in str(caught.value)
    (authenticator,) = running.authenticators
    assert authenticator.failed == 1


async def test_a_mechanism_that_is_not_offered_is_refused_with_those_that_are(
    tmp_path: Path,
) -> None:
    security = SecurityOptions(mechanisms=("SCRAM-SHA-512",))
    async with served(tmp_path, "sasl_plaintext://127.0.0.1:0", security) as running:
        with pytest.raises(RequestError, match="'PLAIN' is not offered; use one of: SCRAM-SHA-512"):
            await connected(running, "sasl_plaintext", as_user("ann", "PLAIN"))


async def test_a_server_that_asks_for_no_user_is_not_trusted(tmp_path: Path) -> None:
    async with served(tmp_path, "127.0.0.1:0") as running:
        with pytest.raises(RequestError, match="asks for no user; leave sasl_ out"):
            await connected(running, "sasl_plaintext", as_user("ann", "SCRAM-SHA-256"))


def hello(mechanism: str | None = "PLAIN", cluster_id: str | None = None) -> bytes:
    return encode_hello(hello_of_client(cluster_id, None, mechanism))


PROOF = encode_message(Kind.AUTHENTICATE, b"\0ann\0correct horse")
APPEND = encode_append(Append(correlation_id=1, batch=NOTE, expected_end_offset=None))


async def _peer(running: Serving, raw: OpenRaw, sent: bytes) -> RawPeer:
    assert running.socket is not None
    return await raw(running.socket, hello=sent)


@pytest.mark.parametrize(
    "sent",
    [
        APPEND,
        hello() + APPEND,
        hello() + hello(),
        hello() + encode_message(Kind.AUTHENTICATE, b"\0ann\0wrong") + APPEND,
        hello("SCRAM-SHA-256") + encode_message(Kind.AUTHENTICATE, b"n,,n=ann,r=x") + APPEND,
        hello() + LENGTH.pack(limits.HELLO_SIZE_BYTES_MAX + 1),
        hello(None) + APPEND,
        hello("X" * 100) + PROOF,
    ],
)
async def test_before_the_login_nothing_is_answered_but_the_handshake(
    running: Serving, raw: OpenRaw, sent: bytes
) -> None:
    end = running.service.image.provenance.next_offset
    peer = await _peer(running, raw, sent)
    *challenges, refused = await peer.rest()
    assert {challenge[0] for challenge in challenges} <= {Kind.CHALLENGE}
    assert decode_refused(refused).error.outcome.value == "nothing"
    assert running.service.image.provenance.next_offset == end
    assert CLUSTER_ID.encode() not in b"".join([*challenges, refused])


async def test_another_cluster_is_told_after_the_login_only(running: Serving, raw: OpenRaw) -> None:
    challenge, refused = await (await _peer(running, raw, hello(cluster_id="other") + PROOF)).rest()
    assert challenge == bytes([Kind.CHALLENGE])
    assert f"this server is of cluster {CLUSTER_ID}" in str(decode_refused(refused).error)


async def test_requests_sent_with_the_login_wait_for_it(running: Serving, raw: OpenRaw) -> None:
    peer = await _peer(running, raw, hello() + PROOF + APPEND)
    peer.finish_sending()
    assert [frame[0] for frame in await peer.rest()] == [
        Kind.CHALLENGE,
        Kind.WELCOME,
        Kind.APPENDED,
    ]


async def test_who_does_not_authenticate_in_time_is_disconnected_and_counted(
    running: Serving,
    raw: OpenRaw,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(limits, "HANDSHAKE_TIMEOUT_S", 0.05)
    for sent in (b"", hello()):
        peer = await _peer(running, raw, sent)
        with contextlib.suppress(ConnectionResetError):
            assert await peer.rest() == []
    (authenticator,) = running.authenticators
    await until(lambda: authenticator.failed == 2)
    assert "did not authenticate within 0.05 s" in caplog.text


async def test_a_token_authenticates_its_owner(tmp_path: Path) -> None:
    configs = {SECRET_KEY: "shared by the nodes"}
    at = "sasl_plaintext://127.0.0.1:0"
    async with served(tmp_path, at, static_configs=configs) as running:
        login = as_user("ann", "SCRAM-SHA-256")
        async with await connected(running, "sasl_plaintext", login) as client:
            token = (await client.run(CreateToken())).response
        assert token.hmac is not None
        proof = base64.b64encode(token.hmac).decode()
        login = as_user(token.token_id, "SCRAM-SHA-512", proof, is_token=True)
        async with await connected(running, "sasl_plaintext", login) as client:
            await client.append(NOTE)
            with pytest.raises(RequestError, match="with a delegation token"):
                await client.run(CreateToken())


async def test_a_session_ends_with_a_reason_to_connect_again(tmp_path: Path) -> None:
    security = SecurityOptions(session_ms_max=100)
    async with (
        served(tmp_path, "sasl_plaintext://127.0.0.1:0", security) as running,
        await connected(running, "sasl_plaintext", as_user("ann", "PLAIN")) as client,
    ):
        with pytest.raises(UnavailableError, match="its session has ended; connect again"):
            await _append_for_ever(client)


async def _append_for_ever(client: SocketClient) -> None:
    while True:
        await client.append(NOTE)


# TLS


async def test_a_certificate_is_a_user(tmp_path: Path) -> None:
    ca = Authority(tmp_path)
    security = SecurityOptions(
        tls=ca.issue("server"),
        client_auth=ClientAuth.REQUIRED,
        principal_rules="RULE:^CN=(ann|bob),.*$/$1/",
    )
    async with served(tmp_path, "ssl://127.0.0.1:0", security) as running:
        async with await connected(running, "ssl", tls=ca.issue("ann")) as client:
            await client.append(NOTE)
        async with await connected(running, "ssl", tls=ca.issue("bob")) as client:
            with pytest.raises(RequestError, match="User:bob may not"):
                await client.append(NOTE)
        with pytest.raises(RequestError, match="no rule gives certificate 'CN=cat"):
            await connected(running, "ssl", tls=ca.issue("cat"))
        with pytest.raises(UnavailableError, match="it requires a client certificate"):
            await connected(running, "ssl", tls=TlsFiles(ca=ca.path))
        with pytest.raises(UnavailableError, match=r"write .* or socket\+ssl://127.0.0.1"):
            await connected(running, "plaintext")


async def test_over_tls_closing_waits_for_the_answers(tmp_path: Path) -> None:
    ca = Authority(tmp_path)
    security = SecurityOptions(tls=ca.issue("server"))
    async with served(tmp_path, "sasl_ssl://127.0.0.1:0", security) as running:
        client = await connected(running, "sasl_ssl", as_user("ann", "PLAIN"), TlsFiles(ca=ca.path))
        asked = [asyncio.create_task(client.append(NOTE)) for _ in range(50)]
        await asyncio.sleep(0)
        await client.close()
        offsets = [(await each).base_offset for each in asked]
        assert len(set(offsets)) == 50


async def test_over_tls_the_server_answers_what_is_in_flight_before_it_ends(
    tmp_path: Path, log: MetadataLog
) -> None:
    ca = Authority(tmp_path)
    slow = SlowLog(log)
    security = ListenerSecurity(tls=server_context(ca.issue("server")))
    server = await serve_socket(sessions_on(slow), cluster_id=CLUSTER_ID, security=security)
    used = ConnectionSecurity(tls=client_context(TlsFiles(ca=ca.path)))
    client = await SocketClient.connect("127.0.0.1", server.port, security=used)
    asked = [asyncio.create_task(client.append(NOTE)) for _ in range(50)]
    await until(lambda: slow.waiting == 50)
    closing = asyncio.create_task(server.close())
    await asyncio.sleep(0)
    slow.may_commit.set()
    assert len({(await each).base_offset for each in asked}) == 50
    await closing
    await client.close()


# Unix sockets


async def test_at_a_unix_socket_the_system_says_who_it_is(tmp_path: Path) -> None:
    path = tmp_path / "socket"
    user = pwd.getpwuid(os.getuid()).pw_name
    async with served(tmp_path, f"unix:{path}") as running:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        async with await SocketClient.connect_at(path) as client:
            with pytest.raises(RequestError, match=f"User:{user} may not"):
                await client.append(NOTE)
        assert running.socket is not None
    assert not path.exists()


# Addresses and the command line


@pytest.mark.parametrize("at", ["0.0.0.0:0", "ssl://0.0.0.0:0"])
def test_other_machines_are_answered_only_with_authentication(at: str) -> None:
    with pytest.raises(RequestError, match=r"no authentication; .* write sasl_ssl://"):
        parse_socket(at, SecurityOptions())
    parse_socket("sasl_ssl://0.0.0.0:0", SecurityOptions())
    parse_socket("ssl://0.0.0.0:0", SecurityOptions(client_auth=ClientAuth.REQUIRED))


def test_the_command_line_carries_the_user(
    metalog: Metalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, password, file = tmp_path / "log", tmp_path / "password", tmp_path / "notes"
    metalog("init", log)
    password.write_text("correct horse\n")
    metalog("users", "create", "ann", "--password-file", password, "--log", log)
    file.write_text('{"type": "NoteRecord", "data": {"at_offset": 0, "author": "x", "text": "x"}}')
    (tmp_path / "ann.toml").write_text('user = "ann"\npassword_file = "password"\n')
    options = ("--authorizer", "acl", "--super-user", "User:ann")
    with serving_process(log, *options, socket="sasl_plaintext://127.0.0.1:0") as at:
        url = at.socket
        monkeypatch.setenv(CLIENT_FILE, str(tmp_path / "ann.toml"))
        assert metalog("append", file, "--server", url).code == 0
        assert metalog("namespaces", "create", "a", "--server", url).code == 0
        assert "User:ann" in metalog("dump", "--server", url).out
        monkeypatch.delenv(CLIENT_FILE)
        refused = metalog("append", file, "--server", url)
        assert (refused.code, "needs a user" in refused.err) == (3, True)
