"""Who may see a log that is only shown: tokens, certificates and the log's own ACLs."""

import hashlib
import signal
import ssl
from pathlib import Path

import httpx
import pytest

from tests.api.conftest import Metalog
from tests.api.viewer.conftest import View, Viewed, until_read
from tests.api.viewer.test_view import until
from tests.certificates import Authority
from tests.stories.processes import Process


def token_line(name: str, token: str) -> str:
    return f"{name}:{hashlib.sha256(token.encode()).hexdigest()}\n"


async def asked(view: View, path: str, token: str | None) -> httpx.Response:
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    return await view.http.get(path, headers=headers)


@pytest.fixture
def log(metalog: Metalog, tmp_path: Path) -> Path:
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


@pytest.mark.parametrize("is_one_of_two", [False, True])
async def test_tokens_and_the_logs_own_acls_decide(
    viewed: Viewed, log: Path, tmp_path: Path, is_one_of_two: bool
) -> None:
    tokens = tmp_path / "tokens"
    tokens.write_text(token_line("bob", "b") + token_line("root", "r"))
    logs = [log, log.parent] if is_one_of_two else [log]
    options = ["--authorizer", "acl", "--super-user", "User:root", "--http-tokens", tokens]
    view = await viewed(*logs, *options)
    at = "/logs/log" if is_one_of_two else ""
    assert (await asked(view, f"{at}/v1/topics/list", None)).status_code == 401
    assert (await asked(view, f"{at}/v1/topics/list", "x")).status_code == 401
    # The page itself tells nothing; its reader is asked for a token.
    assert (await asked(view, f"{at}/", None)).status_code == 200
    for token, names in (("b", ["mine"]), ("r", ["mine", "other"])):
        found = (await asked(view, f"{at}/v1/topics/list", token)).json()["topics"]
        assert [each["name"] for each in found] == names
    assert (await asked(view, f"{at}/v1/summary", "b")).status_code == 403
    columns = await asked(view, f"{at}/v1/report/columns", "b")
    assert columns.headers["Metalog-Log"] == "LOG"
    assert b"other" not in columns.content
    if is_one_of_two:
        assert (await asked(view, "/v1/logs", None)).status_code == 401
        for token, path in (("b", ""), ("r", str(log))):
            first = (await asked(view, "/v1/logs", token)).json()["logs"][0]
            assert (first["name"], first["log"]) == ("log", path)
            assert (first["summary"] is None) == (token == "b")
    tokens.write_text(token_line("root", "r"))
    view.process.send(signal.SIGHUP)
    paths = [f"{at}/v1/topics/list", *(["/v1/logs"] if is_one_of_two else [])]
    for path in paths:
        view.http.headers["Authorization"] = "Bearer b"
        await until(view, path, lambda answer: answer.status_code == 401)


async def test_a_certificate_is_asked_for(viewed: Viewed, log: Path, tmp_path: Path) -> None:
    ours = Authority(tmp_path)
    files = ours.issue("server", "localhost")
    options = [
        *("--http", "https://localhost:0", "--certificate-file", files.certificate),
        *("--key-file", files.key, "--ca-file", ours.path, "--client-auth", "required"),
    ]
    view = await viewed(log, *options)
    assert view.url.startswith("https://")
    client = ours.issue("client", "ann")
    assert client.certificate is not None
    context = ssl.create_default_context(cafile=ours.path)
    async with httpx.AsyncClient(verify=context) as stranger:
        with pytest.raises(httpx.TransportError):
            await stranger.get(f"{view.url}/v1/info")
    context = ssl.create_default_context(cafile=ours.path)
    context.load_cert_chain(client.certificate, client.key)
    async with httpx.AsyncClient(verify=context, base_url=view.url) as known:
        await until_read(known)
        assert (await known.get("/v1/info")).status_code == 200


async def test_other_machines_cannot_connect_without_authentication(
    started: list[Process], log: Path, tmp_path: Path
) -> None:
    process = await Process.start(tmp_path / "e.txt", "view", log, "--http", "0.0.0.0:0")
    started.append(process)
    assert await process.ended() == 3
    assert "there is no authentication" in process.errors
