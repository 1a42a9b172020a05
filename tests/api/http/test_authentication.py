"""Authentication by bearer token or certificate; the responses to unauthenticated requests."""

import hashlib
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest

from api.http.options import HttpOptions
from api.http.tokens import read_tokens
from api.security.options import SecurityOptions
from api.security.tls import ClientAuth, client_context
from records.errors import RequestError
from tests.api.conftest import Metalog
from tests.api.kafka.servers import Server, server
from tests.certificates import Authority

NOTE = {"at_offset": 0, "text": "seen"}
PATHS = ("/v1/topics/list", "/v1/events", "/metrics", "/v1/never")


def _file(directory: Path, *lines: str) -> Path:
    path = directory / "tokens"
    path.write_text("\n".join(lines))
    return path


def _line(name: str, token: str) -> str:
    return f"{name}:{hashlib.sha256(token.encode()).hexdigest()}"


@asynccontextmanager
async def _with_tokens(directory: Path) -> AsyncIterator[tuple[Server, httpx.AsyncClient]]:
    tokens = _file(directory, "# who", "", _line("ann", "old"), _line("ann", "new"))
    http = HttpOptions.parse("127.0.0.1:0", tokens)
    async with (
        server(directory, http=http) as at,
        httpx.AsyncClient(base_url=at.http_url, timeout=30) as client,
    ):
        yield at, client


async def test_every_token_of_a_name_is_its_principal(tmp_path: Path) -> None:
    async with _with_tokens(tmp_path) as (at, client):
        for token in ("old", "new"):
            headers = {"Authorization": f"Bearer {token}"}
            added = await client.post("/v1/notes/add", json=NOTE, headers=headers)
            assert added.json()["response"]["author"] == "User:ann"
        assert at.service.image.provenance.next_offset == added.json()["log_end"]


@pytest.mark.parametrize("given", [None, "Bearer other", "Bearer", "Basic YW5uOm5ldw==", "new"])
async def test_without_a_known_token_only_health_is_told(tmp_path: Path, given: str | None) -> None:
    headers = {} if given is None else {"Authorization": given}
    async with _with_tokens(tmp_path) as (at, client):
        end = at.service.image.provenance.next_offset
        for path in PATHS:
            response = await client.get(path, headers=headers)
            assert (response.status_code, response.headers["www-authenticate"]) == (401, "Bearer")
            assert "other" not in response.text
        added = await client.post("/v1/notes/add", json=NOTE, headers=headers)
        assert added.status_code == 401
        assert ("send the header" in added.json()["detail"]) == (given is None)
        assert (await client.get("/ready", headers=headers)).status_code == 200
        assert at.service.image.provenance.next_offset == end


async def test_a_token_that_is_not_known_is_not_passed_over(tmp_path: Path) -> None:
    async with (
        server(tmp_path, http=HttpOptions.parse("127.0.0.1:0")) as at,
        httpx.AsyncClient(base_url=at.http_url) as client,
    ):
        headers = {"Authorization": "Bearer x"}
        refused = await client.get("/v1/info", headers=headers)
        assert refused.status_code == 401
        assert "this service has no tokens (--http-tokens)" in refused.json()["detail"]


@pytest.mark.parametrize("line", ["ann", "ann:secret", ":" + "0" * 64, "ann:" + "0" * 63])
def test_a_malformed_line_is_named_and_not_shown(tmp_path: Path, line: str) -> None:
    with pytest.raises(RequestError, match="line 1") as caught:
        read_tokens(_file(tmp_path, line))
    assert "secret" not in str(caught.value)


def test_a_token_that_everybody_or_two_names_have_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="line 1: this is the hash of an empty token"):
        read_tokens(_file(tmp_path, _line("ann", "")))
    with pytest.raises(RequestError, match="line 2: an earlier line has the same token"):
        read_tokens(_file(tmp_path, _line("ann", "one"), _line("bob", "one")))


def test_a_file_without_tokens_is_refused(metalog: Metalog, tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="has no tokens"):
        read_tokens(_file(tmp_path, "# none"))
    with pytest.raises(RequestError, match="cannot be read"):
        read_tokens(tmp_path / "absent")


def test_a_byte_order_mark_is_named(tmp_path: Path) -> None:
    path = _file(tmp_path, "\ufeff" + _line("ann", "one"))
    with pytest.raises(RequestError, match="line 1: there is a byte order mark"):
        read_tokens(path)


def test_an_address_is_taken_as_a_browser_shows_it() -> None:
    assert HttpOptions.parse("http://127.0.0.1:80") == HttpOptions.parse("127.0.0.1:80")
    with pytest.raises(RequestError, match="'unix:' has no path"):
        HttpOptions.parse("unix:")


def test_with_tokens_other_machines_are_answered(tmp_path: Path) -> None:
    tokens = _file(tmp_path, _line("ann", "new"))
    assert HttpOptions.parse("0.0.0.0:0", tokens).host == "0.0.0.0"
    with pytest.raises(RequestError, match="no authentication"):
        HttpOptions.parse("https://0.0.0.0:0", None, SecurityOptions())
    required = SecurityOptions(client_auth=ClientAuth.REQUIRED)
    assert HttpOptions.parse("https://0.0.0.0:0", None, required).has_tls


async def test_a_certificate_is_a_principal(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    security = SecurityOptions(
        tls=authority.issue("server"),
        client_auth=ClientAuth.REQUIRED,
        principal_rules="RULE:^(?:.*,)?CN=([^,]+).*$/$1/",
    )
    http = HttpOptions.parse("https://127.0.0.1:0", None, security)
    async with server(tmp_path, http=http, security=security) as at:
        url = at.http_url
        known = client_context(authority.issue("bob"))
        async with httpx.AsyncClient(base_url=url, verify=known) as client:
            added = await client.post("/v1/notes/add", json=NOTE)
            assert added.json()["response"]["author"] == "User:bob"
            other = await client.get("/v1/info", headers={"Origin": "https://evil.example"})
            assert other.status_code == 403
        nobody = ssl.create_default_context(cafile=str(authority.path))
        async with httpx.AsyncClient(base_url=url, verify=nobody) as client:
            with pytest.raises(httpx.TransportError):
                await client.get("/v1/info")
