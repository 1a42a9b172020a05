"""SASL and TLS on the service's Kafka listener, with our client and with raw frames."""

import asyncio
import base64
import contextlib
import logging
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from api.clients.client import MetadataClient
from api.http.options import HttpOptions
from api.kafka import apis, conversation, frames
from api.kafka.apis import Api
from api.kafka.fields import Request, Response
from api.kafka.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from api.kafka.messages.metadata import MetadataRequest, MetadataResponse
from api.kafka.messages.sasl import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)
from api.kafka.streams import read_frame
from api.security.client import ClientSecurity
from api.security.listeners import ListenerAddress, parse_listener
from api.security.options import SecurityOptions
from api.security.sasl import ClientExchange, ClientLogin
from api.security.tls import ClientAuth, TlsFiles
from api.server import ServeOptions, Serving, serving
from api.transport import limits
from controller.authorization.acls import AclAuthorizer
from controller.authorization.caller import CONTROLLER
from controller.decisions.context.context import Settings
from controller.decisions.notes import AddNote
from controller.decisions.security.scram import ScramMechanism, keys_of, salted_password
from controller.decisions.security.tokens import SECRET_KEY, CreateToken, ExpireToken
from controller.decisions.security.users import AlterUsers, ScramUpsertion
from metadata_log.writer.creation import create_log
from records.errors import RequestError, UnavailableError
from tests.api.kafka.servers import CLUSTER_ID
from tests.certificates import Authority

PASSWORDS = {"ann": "correct horse", "b=o,b": "päss, word="}
NOTE = AddNote(at_offset=0, text="hello")


def credential(name: str, password: str, mechanism: ScramMechanism) -> ScramUpsertion:
    salt = b"salt of " + name.encode()
    keys = keys_of(mechanism.hash_name, salted_password(mechanism.hash_name, password, salt, 4_096))
    return ScramUpsertion(
        user=name,
        mechanism=mechanism.value,
        iterations=4_096,
        salt=salt,
        stored_key=keys.stored_key,
        server_key=keys.server_key,
    )


@contextlib.asynccontextmanager
async def secured(
    directory: Path,
    *listeners: str,
    security: SecurityOptions | None = None,
    socket: ListenerAddress | Path | None = None,
    http: HttpOptions | None = None,
    super_users: str = "User:ann",
    **settings: object,
) -> AsyncIterator[Serving]:
    """Run a service whose users are PASSWORDS."""
    log = directory / "log"
    create_log(log, CLUSTER_ID)
    authorizer = AclAuthorizer.of({"super.users": super_users})
    options = ServeOptions(
        log=log,
        kafka=tuple([parse_listener(each) for each in listeners]),
        socket=socket,
        http=http,
        security=security or SecurityOptions(),
        settings=Settings(authorizer=authorizer, **settings),  # type: ignore[arg-type]
    )
    async with serving(options) as running:
        for mechanism in ScramMechanism:
            upsertions = tuple([credential(*user, mechanism) for user in PASSWORDS.items()])
            await running.service.run(
                "users alter", AlterUsers(upsertions=upsertions), caller=CONTROLLER
            )
        yield running


def as_user(name: str, mechanism: str, password: str | None = None, **fields: bool) -> ClientLogin:
    password = PASSWORDS[name] if password is None else password
    return ClientLogin(mechanism=mechanism, user=name, password=password, **fields)


async def connected(
    running: Serving, protocol: str, login: ClientLogin | None = None, tls: TlsFiles | None = None
) -> MetadataClient:
    security = ClientSecurity(login=login, tls=tls or TlsFiles())
    url = f"{protocol}://127.0.0.1:{running.kafka.port}"
    return await MetadataClient.connect(url, security=security)


@pytest.fixture(autouse=True)
def unlimited_log(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conversation, "log", logging.getLogger("unlimited"))


MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("name", PASSWORDS)
async def test_a_user_is_known_by_its_password(tmp_path: Path, mechanism: str, name: str) -> None:
    login = as_user(name, mechanism)
    async with (
        secured(tmp_path, "sasl_plaintext://127.0.0.1:0") as running,
        await connected(running, "sasl_plaintext", login) as client,
    ):
        if name == "ann":
            await client.run(NOTE)
        else:
            with pytest.raises(RequestError, match=f"User:{name} may not"):
                await client.run(NOTE)


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("login", [("ann", "Wrong1"), ("nobody", "Wrong2"), ("x" * 300, "Wrong3")])
async def test_a_failure_says_the_same_whether_or_not_the_user_exists(
    tmp_path: Path, mechanism: str, login: tuple[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    async with secured(tmp_path, "sasl_plaintext://127.0.0.1:0") as running:
        name, password = login
        with pytest.raises(RequestError) as caught:
            await connected(running, "sasl_plaintext", as_user(name, mechanism, password))
        assert caught.value.code == "SASL_AUTHENTICATION_FAILED"
        said = "Authentication failed: Invalid username or password"
        assert str(caught.value) == f"127.0.0.1:{running.kafka.port}: {said}"
        (authenticator,) = running.authenticators
        await until(lambda: "authentication has failed" in caplog.text)
        assert (authenticator.succeeded, authenticator.failed) == (0, 1)
        assert f"by {mechanism}: " in caplog.text
        assert password not in caplog.text


async def until(is_done: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not is_done():
            await asyncio.sleep(0.01)


class Raw:
    """A connection that sends single requests."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    async def ask(self, api: Api, version: int, body: Request) -> Response | None:
        self.writer.write(frames.encode_request(api, version, 7, body, "raw"))
        raw = await read_frame(self.reader)
        return None if raw is None else frames.decode_response(raw, api, version)

    async def choose(self, mechanism: str, version: int = 1) -> SaslHandshakeResponse:
        body = SaslHandshakeRequest(mechanism=mechanism)
        answer = await self.ask(apis.SASL_HANDSHAKE, version, body)
        assert isinstance(answer, SaslHandshakeResponse)
        return answer

    async def send(self, token: bytes) -> SaslAuthenticateResponse:
        body = SaslAuthenticateRequest(auth_bytes=token)
        answer = await self.ask(apis.SASL_AUTHENTICATE, 2, body)
        assert isinstance(answer, SaslAuthenticateResponse)
        return answer

    async def metadata(self) -> MetadataResponse | None:
        answer = await self.ask(apis.METADATA, 9, MetadataRequest(topics=()))
        assert answer is None or isinstance(answer, MetadataResponse)
        return answer


@contextlib.asynccontextmanager
async def raw_to(running: Serving) -> AsyncIterator[Raw]:
    reader, writer = await asyncio.open_connection("127.0.0.1", running.kafka.port)
    try:
        yield Raw(reader, writer)
    finally:
        writer.close()


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Serving]:
    async with secured(tmp_path, "sasl_plaintext://127.0.0.1:0") as service:
        yield service


async def test_before_authentication_only_versions_are_told(
    running: Serving, caplog: pytest.LogCaptureFixture
) -> None:
    async with raw_to(running) as raw:
        answer = await raw.ask(apis.API_VERSIONS, 3, ApiVersionsRequest())
        assert isinstance(answer, ApiVersionsResponse)
        assert {3, 17, 36} <= {version.api_key for version in answer.api_keys}
        assert await raw.metadata() is None
    await until(lambda: "Metadata came before authentication" in caplog.text)


async def test_an_unknown_user_gets_the_same_challenge_each_time(running: Serving) -> None:
    challenges = []
    for name in ("nobody", "nobody", "somebody", "ann"):
        async with raw_to(running) as raw:
            await raw.choose("SCRAM-SHA-256")
            answer = await raw.send(f"n,,n={name},r=abc".encode())
            challenges.append(answer.auth_bytes.partition(b",")[2])
    assert challenges[0] == challenges[1] != challenges[2]
    assert {challenge.rpartition(b",")[2] for challenge in challenges} == {b"i=4096"}


async def test_messages_of_the_first_handshake_have_no_headers(running: Serving) -> None:
    async with raw_to(running) as raw:
        await raw.choose("SCRAM-SHA-512", version=0)
        exchange = ClientExchange(as_user("ann", "SCRAM-SHA-512"))
        message: bytes | None = exchange.begin()
        while message is not None:
            raw.writer.write(frames.LENGTH.pack(len(message)) + message)
            answer = await read_frame(raw.reader)
            assert answer is not None
            message = exchange.go_on(answer)
        metadata = await raw.metadata()
        assert metadata is not None
        assert metadata.cluster_id == CLUSTER_ID


async def test_a_mechanism_that_is_not_offered_is_refused_with_those_that_are(
    tmp_path: Path,
) -> None:
    security = SecurityOptions(mechanisms=("SCRAM-SHA-512",))
    async with secured(tmp_path, "sasl_plaintext://127.0.0.1:0", security=security) as running:
        with pytest.raises(RequestError, match="PLAIN is not offered; use one of: SCRAM-SHA-512"):
            await connected(running, "sasl_plaintext", as_user("ann", "PLAIN"))


@pytest.mark.parametrize(
    "token",
    [b"", b"\0", b"\0ann\0correct horse\0", b"ann\0\xff\0", b"bob\0ann\0correct horse"],
)
async def test_a_malformed_plain_message_authenticates_nobody(
    running: Serving, token: bytes
) -> None:
    async with raw_to(running) as raw:
        await raw.choose("PLAIN")
        assert (await raw.send(token)).error_code == 58
        assert await raw.metadata() is None


@pytest.mark.parametrize(
    "token",
    [b"", b"p=tls,,n=ann,r=x", b"n,a=bob,n=ann,r=x", b"n,,n=a=b,r=x", b"n,,r=x", b"\xff"],
)
async def test_a_malformed_scram_message_authenticates_nobody(
    running: Serving, token: bytes
) -> None:
    async with raw_to(running) as raw:
        await raw.choose("SCRAM-SHA-256")
        assert (await raw.send(token)).error_code == 58
        assert await raw.metadata() is None


async def test_requests_out_of_order_are_refused(running: Serving) -> None:
    async with raw_to(running) as raw:
        assert (await raw.send(b"")).error_code == 34
    async with raw_to(running) as raw:
        await raw.choose("PLAIN")
        assert (await raw.choose("PLAIN")).error_code == 34
    async with raw_to(running) as raw:
        await raw.choose("PLAIN")
        assert (await raw.send(b"\0ann\0correct horse")).error_code == 0
        assert (await raw.choose("PLAIN")).error_code == 34
        assert await raw.metadata() is not None


async def test_a_large_frame_before_authentication_ends_the_connection(running: Serving) -> None:
    async with raw_to(running) as raw:
        raw.writer.write(frames.LENGTH.pack(limits.UNAUTHENTICATED_FRAME_BYTES_MAX + 1))
        assert await raw.reader.read() == b""


async def test_who_does_not_authenticate_in_time_is_disconnected(
    running: Serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "AUTHENTICATION_TIMEOUT_S", 0.05)
    async with raw_to(running) as raw:
        await raw.choose("PLAIN")
        assert await raw.reader.read() == b""


async def test_a_token_authenticates_its_owner_until_it_is_gone(tmp_path: Path) -> None:
    configs = {SECRET_KEY: "shared by the nodes"}
    async with secured(tmp_path, "sasl_plaintext://127.0.0.1:0", static_configs=configs) as running:
        async with await connected(
            running, "sasl_plaintext", as_user("ann", "SCRAM-SHA-256")
        ) as client:
            token = (await client.run(CreateToken())).response
        assert token.hmac is not None
        proof = base64.b64encode(token.hmac).decode()
        login = as_user(token.token_id, "SCRAM-SHA-512", proof, is_token=True)
        async with await connected(running, "sasl_plaintext", login) as client:
            await client.run(NOTE)
            with pytest.raises(RequestError, match="with a delegation token"):
                await client.run(CreateToken())
            await client.run(ExpireToken(token_id=token.token_id))
        wrong = as_user(token.token_id, "SCRAM-SHA-512", proof, is_token=False)
        for gone in (login, wrong):
            with pytest.raises(RequestError, match="Invalid username or password"):
                await connected(running, "sasl_plaintext", gone)


async def test_a_certificate_is_a_user_on_a_tls_listener(tmp_path: Path) -> None:
    ca = Authority(tmp_path)
    security = SecurityOptions(
        tls=ca.issue("server"),
        client_auth=ClientAuth.REQUIRED,
        principal_rules="RULE:^CN=([^,]+).*$/$1/",
    )
    async with secured(tmp_path, "ssl://127.0.0.1:0", security=security) as running:
        async with await connected(running, "ssl", tls=ca.issue("ann")) as client:
            await client.run(NOTE)
        async with await connected(running, "ssl", tls=ca.issue("bob")) as client:
            with pytest.raises(RequestError, match="User:bob may not"):
                await client.run(NOTE)
        with pytest.raises(UnavailableError, match="it requires a client certificate"):
            async with await connected(running, "ssl", tls=TlsFiles(ca=ca.path)) as client:
                await client.metadata(())


async def test_several_listeners_know_callers_in_their_own_way(tmp_path: Path) -> None:
    ca = Authority(tmp_path)
    listeners = ("sasl_ssl://127.0.0.1:0", "inside=plaintext://127.0.0.1:0")
    security = SecurityOptions(tls=ca.issue("server"))
    async with secured(tmp_path, *listeners, security=security) as running:
        tls, login = TlsFiles(ca=ca.path), as_user("ann", "SCRAM-SHA-512")
        async with await connected(running, "sasl_ssl", login, tls) as client:
            await client.run(NOTE)
        url = f"kafka://127.0.0.1:{running.listeners[1].port}"
        async with await MetadataClient.connect(url) as client:
            with pytest.raises(RequestError, match="User:ANONYMOUS may not"):
                await client.run(NOTE)
