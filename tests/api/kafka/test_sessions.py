"""Sessions that end unless the client authenticates again on the open connection (KIP-368)."""

import asyncio
import base64
import contextlib
import logging
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient

from api.clients.client import MetadataClient
from api.kafka import conversation
from api.kafka.messages.sasl import SaslAuthenticateResponse
from api.security.listeners import SecurityProtocol
from api.security.options import SecurityOptions
from api.security.sasl import ClientExchange, ClientLogin
from api.server import Serving
from controller.authorization.caller import CONTROLLER
from controller.decisions.security.scram import ScramMechanism
from controller.decisions.security.tokens import SECRET_KEY, CreateToken
from controller.decisions.security.users import AlterUsers, ScramDeletion
from records.errors import RequestError
from tests.api.kafka.servers import Server
from tests.api.kafka.test_sasl import (
    NOTE,
    PASSWORDS,
    Raw,
    as_user,
    connected,
    raw_to,
    secured,
    until,
)

HOUR_MS = 3_600_000


@pytest.fixture(autouse=True)
def unlimited_log(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conversation, "log", logging.getLogger("unlimited"))


@contextlib.asynccontextmanager
async def limited(directory: Path, session_ms: int, **options: Any) -> AsyncIterator[Serving]:
    security = SecurityOptions(session_ms_max=session_ms)
    at = "sasl_plaintext://127.0.0.1:0"
    async with secured(directory, at, security=security, **options) as running:
        yield running


async def log_in(raw: Raw, login: ClientLogin) -> SaslAuthenticateResponse:
    """Authenticate; return the last response."""
    assert (await raw.choose(login.mechanism)).error_code == 0
    exchange = ClientExchange(login)
    message: bytes | None = exchange.begin()
    while message is not None:
        answer = await raw.send(message)
        if answer.error_code:
            return answer
        message = exchange.go_on(answer.auth_bytes)
    return answer


async def test_a_session_is_prolonged_on_the_same_connection(tmp_path: Path) -> None:
    login = as_user("ann", "SCRAM-SHA-256")
    async with limited(tmp_path, HOUR_MS) as running, raw_to(running) as raw:
        for _ in range(3):
            answer = await log_in(raw, login)
            assert (answer.error_code, answer.session_lifetime_ms) == (0, HOUR_MS)
            assert await raw.metadata() is not None
        (authenticator,) = running.authenticators
        assert (authenticator.succeeded, authenticator.failed) == (3, 0)


@pytest.mark.parametrize(
    "other",
    [
        as_user("b=o,b", "SCRAM-SHA-256"),
        as_user("ann", "SCRAM-SHA-512"),
        as_user("ann", "PLAIN", "wrong"),
    ],
)
async def test_another_user_mechanism_or_password_ends_the_connection(
    tmp_path: Path, other: ClientLogin
) -> None:
    async with limited(tmp_path, HOUR_MS) as running, raw_to(running) as raw:
        await log_in(raw, as_user("ann", "SCRAM-SHA-256"))
        assert (await log_in(raw, other)).error_code == 58
        assert await raw.metadata() is None
        (authenticator,) = running.authenticators
        assert (authenticator.succeeded, authenticator.failed) == (1, 1)


async def test_an_ended_session_can_only_be_renewed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    login = as_user("ann", "PLAIN")
    async with limited(tmp_path, 1) as running:
        async with raw_to(running) as raw:
            await log_in(raw, login)
            await asyncio.sleep(0.01)
            assert (await log_in(raw, login)).error_code == 0
        async with raw_to(running) as raw:
            await log_in(raw, login)
            await asyncio.sleep(0.01)
            assert await raw.metadata() is None
    assert "User:ann has ended, and the client did not authenticate again" in caplog.text


# A client renews its session when 5 to 15 % of it are left: enough for a busy machine.
async def test_our_client_renews_its_session_by_itself(tmp_path: Path) -> None:
    login = as_user("ann", "SCRAM-SHA-512")
    async with (
        limited(tmp_path, 1_000) as running,
        await connected(running, "sasl_plaintext", login) as client,
    ):
        (authenticator,) = running.authenticators
        asked = 0
        while authenticator.succeeded < 4:
            await asyncio.gather(*(client.metadata(()) for _ in range(5)))
            asked += 5
        assert client.connection.is_open
        assert authenticator.failed == 0


async def _ask_for_ever(client: MetadataClient) -> None:
    while True:
        await client.metadata(())


async def test_a_user_that_is_deleted_ends_with_its_session(tmp_path: Path) -> None:
    login = as_user("ann", "SCRAM-SHA-256")
    async with (
        limited(tmp_path, 1_000) as running,
        await connected(running, "sasl_plaintext", login) as client,
    ):
        gone = ScramDeletion(user="ann", mechanism=ScramMechanism.SCRAM_SHA_256.value)
        deletion = AlterUsers(deletions=(gone,))
        await running.service.run("users alter", deletion, caller=CONTROLLER)
        await client.metadata(())
        with pytest.raises(RequestError, match="Invalid username or password"):
            await _ask_for_ever(client)
        await until(lambda: not client.connection.is_open)


async def test_a_token_holds_no_longer_than_it_is_valid(tmp_path: Path) -> None:
    configs = {SECRET_KEY: "shared by the nodes"}
    async with limited(tmp_path, 0, static_configs=configs) as running:
        async with await connected(
            running, "sasl_plaintext", as_user("ann", "SCRAM-SHA-256")
        ) as client:
            token = (await client.run(CreateToken(max_lifetime_ms=60_000))).response
            await client.run(NOTE)
        assert token.hmac is not None
        proof = base64.b64encode(token.hmac).decode()
        login = as_user(token.token_id, "SCRAM-SHA-512", proof, is_token=True)
        async with raw_to(running) as raw:
            assert 0 < (await log_in(raw, login)).session_lifetime_ms <= 60_000
        async with raw_to(running) as raw:
            plain = await log_in(raw, as_user("ann", "PLAIN"))
            assert plain.session_lifetime_ms == 0


async def test_librdkafka_renews_its_session(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    ann = as_user("ann", "PLAIN")
    async with (
        limited(tmp_path, 2_000) as running,
        await connected(running, "sasl_plaintext", ann) as client,
    ):
        address, protocol = ("127.0.0.1", running.kafka.port), SecurityProtocol.SASL_PLAINTEXT
        await Server(running, client, None).register(1, address=address, protocol=protocol)
        admin = AdminClient(
            {
                "bootstrap.servers": f"127.0.0.1:{running.kafka.port}",
                "security.protocol": "SASL_PLAINTEXT",
                "sasl.mechanism": "SCRAM-SHA-256",
                "sasl.username": "ann",
                "sasl.password": PASSWORDS["ann"],
            }
        )
        (authenticator,) = running.authenticators
        async with asyncio.timeout(30):
            while authenticator.succeeded < 6:
                found = await asyncio.to_thread(admin.list_topics, timeout=10)
                assert found.topics == {}
        # Else it would have connected again.
        assert "has ended" not in caplog.text
        assert authenticator.failed == 0
