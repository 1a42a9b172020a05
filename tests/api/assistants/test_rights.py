"""Who may ask what: tokens and the log's own ACLs, as for `view`."""

import asyncio
import signal
from pathlib import Path

import httpx
import pytest

from api.assistants.running import PATH
from tests.api.assistants.conftest import Serving, over_http, over_stdio, told
from tests.api.conftest import Metalog
from tests.api.viewer.test_rights import token_line
from tests.api.viewer.test_view import LONGEST_S
from tests.stories.processes import Process

ACL = ("--authorizer", "acl", "--super-user", "User:root")

ACCEPT = "application/json, text/event-stream"

MESSAGE = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}


@pytest.fixture
def guarded(metalog: Metalog, tmp_path: Path) -> Path:
    """A log with two topics, of which User:bob may describe one."""
    log = tmp_path / "log"
    metalog("init", log)
    for verb in ("register", "unfence"):
        assert metalog("brokers", verb, 1, "--log", log).code == 0
    for name in ("mine", "other"):
        assert metalog("topics", "create", name, "--assignment", "1", "--log", log).code == 0
    acl = ["--principal", "User:bob", "--operation", "describe", "--topic", "mine"]
    assert metalog("acls", "create", *acl, "--log", log).code == 0
    return log


async def test_over_http_tokens_and_acls_decide(
    serving: Serving, started: list[Process], guarded: Path, tmp_path: Path
) -> None:
    tokens = tmp_path / "tokens"
    tokens.write_text(token_line("bob", "b") + token_line("root", "r"))
    url = await serving(guarded, *ACL, "--http-tokens", tokens)
    async with httpx.AsyncClient(base_url=url) as http:
        for headers in ({}, {"Authorization": "Bearer x"}):
            answer = await http.post(PATH, json=MESSAGE, headers=headers)
            assert answer.status_code == 401
    for token, names in (("b", ["mine"]), ("r", ["mine", "other"])):
        async with over_http(url, token) as client:
            listed = (await told(client, "topics_list")).json["topics"]
            assert [each["name"] for each in listed] == names
            summary = await told(client, "summary")
            assert summary.is_error == (token == "b")
            if summary.is_error:
                assert summary.json["code"] == "CLUSTER_AUTHORIZATION_FAILED"
                assert "other" not in summary.data
    tokens.write_text(token_line("root", "r"))
    started[0].send(signal.SIGHUP)
    headers = {"Authorization": "Bearer b", "Accept": ACCEPT}
    async with httpx.AsyncClient(base_url=url, headers=headers) as http, asyncio.timeout(LONGEST_S):
        while (await http.post(PATH, json=MESSAGE)).status_code != 401:
            await asyncio.sleep(0.1)


async def test_over_standard_input_the_principal_is_given(guarded: Path) -> None:
    for principal, names in (("User:bob", ["mine"]), ("User:root", ["mine", "other"])):
        async with over_stdio(guarded, *ACL, "--as", principal) as client:
            listed = (await told(client, "topics_list")).json["topics"]
            assert [each["name"] for each in listed] == names


async def test_messages_are_bounded_and_foreign_pages_are_refused(
    serving: Serving, log: Path
) -> None:
    url = await serving(log)
    async with httpx.AsyncClient(base_url=url) as http:
        accept = {"Accept": ACCEPT}
        assert (await http.post(PATH, json=MESSAGE, headers=accept)).status_code == 200
        for method in ("GET", "DELETE"):
            other = await http.request(method, PATH, headers=accept)
            assert (other.status_code, other.headers["Allow"]) == (405, "POST")
        foreign = {**accept, "Origin": "https://evil.example"}
        refused = await http.post(PATH, json=MESSAGE, headers=foreign)
        assert (refused.status_code, refused.json()["code"]) == (403, "CROSS_ORIGIN")
        rebound = {**accept, "Host": "evil.example"}
        refused = await http.post(PATH, json=MESSAGE, headers=rebound)
        assert (refused.status_code, refused.json()["code"]) == (421, "MISDIRECTED_REQUEST")
        text = {**accept, "Content-Type": "text/plain"}
        refused = await http.post(PATH, content=b"{}", headers=text)
        assert refused.status_code == 415
        long = {**MESSAGE, "params": {"cursor": "x" * 200_000}}
        refused = await http.post(PATH, json=long, headers=accept)
        assert (refused.status_code, refused.json()["code"]) == (413, "MESSAGE_TOO_LARGE")


async def test_other_machines_cannot_connect_without_authentication(
    started: list[Process], log: Path, tmp_path: Path
) -> None:
    process = await Process.start(tmp_path / "e.txt", "mcp", log, "--http", "0.0.0.0:0")
    started.append(process)
    assert await process.ended() == 3
    assert "there is no authentication" in process.errors
