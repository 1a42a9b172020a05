"""tokens create, renew, expire, describe; HMACs and keys do not appear in any output or file."""

import base64
import hashlib
import hmac
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest

from api.http.options import HttpOptions
from api.security.listeners import LOCAL
from api.service.session import Session
from controller.authorization.caller import Authentication, Caller
from controller.decisions.context.context import Settings
from controller.decisions.security.tokens import SECRET_KEY, CreateToken, ExpireToken, RenewToken
from metadata_log.reader.log_reader import LogReader
from records.errors import RequestError
from replay.timeline import Timeline
from tests.api.admin.test_users import _octets
from tests.api.conftest import Metalog
from tests.api.kafka.servers import Server, server

_KEY = "the key of the controllers"

_LISTENERS: dict[str, Any] = {"socket": LOCAL, "http": HttpOptions(host="127.0.0.1", port=0)}


@pytest.fixture
def key(tmp_path: Path) -> Path:
    path = tmp_path / "key"
    path.write_text(f"{_KEY}\n")
    return path


def _create(metalog: Metalog, log: Path, key: Path, *more: str) -> dict[str, Any]:
    given = ("--as", "User:ann", "--secret-key-file", key, "--log", log, "--json")
    answer = metalog("tokens", "create", *more, *given)
    assert answer.code == 0, answer
    (created,) = answer.json["results"]
    return dict(created)


def test_token_is_created_renewed_described_and_expired(
    metalog: Metalog, log: Path, key: Path, tmp_path: Path
) -> None:
    created = _create(metalog, log, key, "--renewer", "User:bob", "--max-lifetime-ms", "7200000")
    expected = hmac.new(_KEY.encode(), created["token_id"].encode(), hashlib.sha512).digest()
    assert base64.b64decode(created["hmac"]) == expected
    assert created["max_timestamp"] - created["issue_timestamp"] == 7_200_000
    (tmp_path / "hmac").write_text(created["hmac"])
    given = ("--secret-key-file", key, "--log", log)
    by_hmac = ("--hmac-file", tmp_path / "hmac", *given)
    renewed = metalog("tokens", "renew", *by_hmac, "--as", "User:bob", "--period-ms", "60000")
    assert renewed.out.startswith("the token expires at ")
    found = metalog("tokens", "describe", "--owner", "User:ann", "--log", log, "--json").json
    (token,) = found["tokens"]
    assert token["token_id"] == "(redacted)"
    assert (token["owner"], token["renewers"]) == ("User:ann", ["User:bob"])
    assert token["expiration_timestamp"] < created["expiration_timestamp"]
    nobody = metalog("tokens", "describe", "--owner", "User:eve", "--log", log, "--json").json
    assert nobody["tokens"] == []
    refused = metalog("tokens", "expire", *by_hmac, "--as", "User:eve")
    assert (refused.code, "DELEGATION_TOKEN_OWNER_MISMATCH" in refused.err) == (3, True)
    ended = metalog(
        "tokens", "expire", "--token-id", created["token_id"], *given, "--as", "User:ann"
    )
    assert ended.code == 0
    assert metalog("tokens", "describe", "--log", log, "--json").json["tokens"] == []
    refused = metalog("tokens", "renew", *by_hmac, "--as", "User:ann")
    assert "DELEGATION_TOKEN_NOT_FOUND" in refused.err


def test_wrong_use_is_told(metalog: Metalog, log: Path, key: Path, tmp_path: Path) -> None:
    disabled = metalog("tokens", "create", "--log", log)
    assert (disabled.code, "DELEGATION_TOKEN_AUTH_DISABLED" in disabled.err) == (3, True)
    (tmp_path / "hmac").write_text("no base64!")
    answer = metalog("tokens", "renew", "--hmac-file", tmp_path / "hmac", "--log", log)
    assert (answer.code, "the HMAC is not base64" in answer.err) == (2, True)
    elsewhere = ("--server", "kafka://127.0.0.1:1", "--secret-key-file", key)
    assert metalog("tokens", "create", *elsewhere).code == 2


def test_hmac_and_key_are_written_nowhere_and_the_id_is_redacted(
    metalog: Metalog, log: Path, key: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    created = _create(metalog, log, key, "--request-id", "one")
    again = _create(metalog, log, key, "--request-id", "one")
    assert again == created
    (tmp_path / "hmac").write_text(created["hmac"])
    by_hmac = ("--hmac-file", tmp_path / "hmac", "--secret-key-file", key, "--log", log)
    printed = [
        metalog("tokens", "renew", *by_hmac, "--as", "User:ann", "--request-id", "two"),
        metalog("tokens", "renew", *by_hmac, "--as", "User:ann", "--request-id", "two"),
        metalog("dump", log, "--asked", "--json"),
        metalog("image", log, "--part", "tokens"),
        metalog("history", log, f"token:{created['token_id']}", "--json"),
        metalog("snapshot", "create", log),
    ]
    with LogReader.open(log) as reader:
        rows = [row for batch in reader.batches() for row in batch.rows]
        (token,) = Timeline.of(reader).image(reader.end_offset - 1).delegation_tokens()
    assert token.token_id == created["token_id"]
    held = b"".join(_octets(row) for row in rows) + repr(rows).encode()
    files = b"".join(path.read_bytes() for path in log.rglob("*") if path.is_file())
    text = "".join(answer.out + answer.err for answer in printed)
    raw = base64.b64decode(created["hmac"])
    for secret in (raw, created["hmac"].encode(), _KEY.encode()):
        assert secret not in held
        assert secret not in files
        assert secret.decode("latin-1") not in text
        assert secret.decode("latin-1") not in caplog.text
    document, _ = text.split('"type":"DelegationTokenRecord"', 1)
    assert created["token_id"] not in document
    # Nor what the id was drawn from.
    (made,) = [r for r in printed[2].lines if r.get("asked", {}).get("command") == "tokens create"]
    assert "seed" not in made["asked"]
    assert [row.asked.response for row in rows if row.asked and row.asked.response]


@pytest.mark.parametrize("way", ["kafka", "socket", "http"])
async def test_a_repeated_creation_gets_its_first_answer_also_after_a_restart(
    tmp_path: Path, way: str
) -> None:
    settings = Settings(static_configs={SECRET_KEY: _KEY})

    async def create(at: Server) -> Any:
        if way == "http":
            async with httpx.AsyncClient(base_url=at.http_url) as http:
                key = {"Idempotency-Key": '"k"'}
                asked = {"owner": "User:ann"}
                answer = await http.post("/v1/tokens/create", json=asked, headers=key)
            return answer.json().get("response") or answer.json()
        client = at.client if way == "kafka" else at.socket_client
        request = CreateToken(owner="User:ann")
        try:
            return msgspec.to_builtins(
                (await client.run("tokens create", request, request_id="k")).response
            )
        except RequestError as error:
            return {"code": error.code, "detail": str(error)}

    async with server(tmp_path, settings=settings, **_LISTENERS) as at:
        first = await create(at)
        octets = hmac.digest(_KEY.encode(), first["token_id"].encode(), "sha512")
        assert first["hmac"] == base64.b64encode(octets).decode(), "the password of its login"
        assert await create(at) == first
    async with server(tmp_path, settings=settings, **_LISTENERS) as at:
        assert await create(at) == first
        assert len(list(at.service.image.delegation_tokens())) == 1
    for configs, why in (
        ({}, "give that config"),
        ({SECRET_KEY: "other"}, "not the one with which"),
    ):
        async with server(tmp_path, settings=Settings(static_configs=configs), **_LISTENERS) as at:
            refused = await create(at)
            assert refused["code"] == "DUPLICATE_REQUEST"
            assert SECRET_KEY in refused["detail"]
            assert why in refused["detail"]


def test_a_repeated_creation_with_another_key_says_so(
    metalog: Metalog, log: Path, key: Path, tmp_path: Path
) -> None:
    _create(metalog, log, key, "--request-id", "one")
    (tmp_path / "other").write_text("another key")
    given = ("tokens", "create", "--request-id", "one", "--as", "User:ann", "--log", log)
    for more, why in (
        ((), "give that config"),
        (("--secret-key-file", tmp_path / "other"), "not the one"),
    ):
        answer = metalog(*given, *more)
        assert answer.code != 0
        assert "DUPLICATE_REQUEST" in answer.err
        assert f"{SECRET_KEY}" in answer.err
        assert why in answer.err


async def test_a_caller_with_a_token_gets_no_other_one_by_its_request_id(tmp_path: Path) -> None:
    settings = Settings(static_configs={SECRET_KEY: _KEY})
    async with server(tmp_path, settings=settings) as at:
        await Session(at.service, Caller(principal="User:ann")).run(CreateToken(), request_id="k")
        by_token = Caller(principal="User:ann", authentication=Authentication.TOKEN)
        with pytest.raises(RequestError, match="cannot create another one"):
            await Session(at.service, by_token).run(CreateToken(), request_id="k")


async def test_a_repeated_request_about_another_token_is_another_request(tmp_path: Path) -> None:
    settings = Settings(static_configs={SECRET_KEY: _KEY})
    async with server(tmp_path, settings=settings) as at:
        session = Session(at.service, Caller(principal="User:ann"))
        one, other = [(await session.run(CreateToken())).response for _ in range(2)]
        first = await session.run(RenewToken(hmac=one.hmac), request_id="r")
        assert (await session.run(RenewToken(hmac=one.hmac), request_id="r")) == first
        with pytest.raises(RequestError, match="another request"):
            await session.run(RenewToken(hmac=other.hmac), request_id="r")
        await session.run(ExpireToken(token_id=one.token_id))
        (left,) = at.service.image.delegation_tokens()
        assert left.token_id == other.token_id
