"""`metalog serve --http`: listening address, ready line, and shutdown."""

import asyncio
import itertools
import json
import os
import socket
import stat
import subprocess
import tempfile
from pathlib import Path

import httpx
import pytest

from api.http import connection, options
from api.http.options import HttpOptions
from api.http.server import HttpServer
from api.transport.connections import Connections
from metadata_log.reader.log_reader import LogReader
from metadata_log.writer.creation import create_log
from records.control import NoteRecord
from records.errors import RequestError, UnavailableError
from tests.api.conftest import Metalog
from tests.api.kafka.servers import CLUSTER_ID, server
from tests.api.services import serving


def test_a_unix_socket_is_for_its_owner_alone_and_goes_with_the_service(tmp_path: Path) -> None:
    create_log(tmp_path / "log", CLUSTER_ID)
    path = tmp_path / "http.sock"
    dead = socket.socket(socket.AF_UNIX)
    dead.bind(str(path))
    dead.close()
    with serving(tmp_path / "log", "--http", f"unix:{path}", "--http-connections", "1") as served:
        assert served.http == f"http://unix:{path}"
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        with httpx.Client(transport=httpx.HTTPTransport(uds=str(path))) as client:
            note = {"at_offset": 0, "text": "seen"}
            added = client.post("http://any.host/v1/notes/add", json=note)
            assert added.status_code == 200
            with client.stream("GET", "http://any.host/v1/events") as stream:
                lines = stream.iter_lines()
                next(lines)
                transport = httpx.HTTPTransport(uds=str(path))
                with httpx.Client(transport=transport) as other:
                    full = other.get("http://any.host/v1/topics/list")
                    assert (full.status_code, full.json()["code"]) == (503, "UNAVAILABLE")
                served.process.terminate()
                assert ": the service ends" in list(lines)
        assert served.ended() == 0
    assert not path.exists()


async def test_a_socket_in_use_and_a_file_are_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "http.sock"
    server = await HttpServer.listen(HttpOptions(path=path), Connections())
    with pytest.raises(UnavailableError, match="in use by another process; end that"):
        await HttpServer.listen(HttpOptions(path=path), Connections())
    await server.close()
    path.write_text("mine")
    with pytest.raises(UnavailableError, match="in use by something that is no socket; remove"):
        await HttpServer.listen(HttpOptions(path=path), Connections())
    assert path.read_text() == "mine"


async def test_a_link_to_a_dead_socket_is_no_socket(tmp_path: Path) -> None:
    path, behind = tmp_path / "http.sock", tmp_path / "dead.sock"
    dead = socket.socket(socket.AF_UNIX)
    dead.bind(str(behind))
    dead.close()
    path.symlink_to(behind)
    with pytest.raises(UnavailableError, match="in use by something that is no socket; remove"):
        await HttpServer.listen(HttpOptions(path=path), Connections())
    assert path.is_symlink()
    assert behind.is_socket()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")
def test_other_users_cannot_connect_to_the_unix_sockets(tmp_path: Path) -> None:
    create_log(tmp_path / "log", CLUSTER_ID)
    with tempfile.TemporaryDirectory() as name:  # all may enter it, unlike `tmp_path`
        folder = Path(name)
        folder.chmod(0o755)
        paths = [folder / "http", folder / "socket"]
        http, append = [f"unix:{path}" for path in paths]
        with serving(tmp_path / "log", "--http", http, socket=append):
            for path in paths:
                assert _connected_as(os.geteuid(), path) == ""
                assert "PermissionError" in _connected_as(_NOBODY, path)
                path.chmod(0o666)
                assert _connected_as(_NOBODY, path) == ""


_NOBODY = 65_534
_CONNECT = "import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])"


def _connected_as(user: int, path: Path) -> str:
    """Connect to a unix socket as a user; return the error, or nothing."""
    command = ["/usr/bin/env", "python3", "-c", _CONNECT, str(path)]
    ran = subprocess.run(command, user=user, cwd="/", capture_output=True, text=True, check=False)
    return ran.stderr


LINE = '{"type":"NoteRecord","data":{"at_offset":0,"author":"ann","text":"%%d %s"}}' % ("x" * 4_000)


async def test_a_client_that_takes_nothing_leaves_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "WRITE_STALL_S", 0.05)
    path = tmp_path / "http.sock"
    transport = httpx.AsyncHTTPTransport(uds=str(path))
    async with (
        server(tmp_path, http=HttpOptions(path=path)),
        httpx.AsyncClient(transport=transport, base_url="http://any") as client,
    ):
        appended = await client.post(
            "/v1/records/append",
            content="\n".join([LINE % number for number in range(200)]),
            headers={"Content-Type": "application/x-ndjson"},
        )
        assert appended.status_code == 200, appended.text
        with socket.socket(socket.AF_UNIX) as stalled:
            stalled.connect(str(path))
            stalled.sendall(b"GET /v1/notes/list HTTP/1.1\r\nHost: any\r\n\r\n")
            async with asyncio.timeout(60):
                while await _connections(client) < 2:
                    pass
                while await _connections(client) > 1:
                    await asyncio.sleep(0.01)


async def _connections(client: httpx.AsyncClient) -> int:
    lines = (await client.get("/metrics")).text.splitlines()
    name = 'metalog_connections{listener="HTTP"} '
    return next(int(float(line.removeprefix(name))) for line in lines if line.startswith(name))


async def test_before_the_log_is_loaded_only_health_is_answered() -> None:
    server = await HttpServer.listen(HttpOptions(host="127.0.0.1"), Connections())
    try:
        async with httpx.AsyncClient(base_url=f"http://{server.address}") as client:
            assert (await client.get("/health")).json() == {"status": "running"}
            for path in ("/ready", "/v1/topics/list", "/v1/events"):
                response = await client.get(path)
                assert response.status_code == 503
                assert int(response.headers["retry-after"]) >= 1
                assert response.json()["outcome"] == "nothing"
    finally:
        await server.close()


async def test_a_stop_under_load_answers_or_disconnects_and_loses_nothing(tmp_path: Path) -> None:
    create_log(tmp_path / "log", CLUSTER_ID)
    acknowledged: list[tuple[int, str]] = []
    with serving(tmp_path / "log", "--http", "127.0.0.1:0") as served:

        async def caller(name: str) -> None:
            async with httpx.AsyncClient(base_url=served.http, timeout=60) as client:
                for number in itertools.count():
                    text = f"{name} {number}"
                    note = {"at_offset": 0, "author": "ann", "text": text}
                    done = await client.post(
                        "/v1/records/append",
                        content=json.dumps({"type": "NoteRecord", "data": note}),
                        headers={"Content-Type": "application/x-ndjson"},
                    )
                    if done.status_code != 200:
                        return
                    acknowledged.append((done.json()["first_offset"], text))
                    if len(acknowledged) == 50:
                        served.process.terminate()

        ended = await asyncio.gather(*map(caller, "abcdefgh"), return_exceptions=True)
        assert all(end is None or isinstance(end, httpx.TransportError) for end in ended), ended
        assert await asyncio.to_thread(served.ended) == 0
    with LogReader.open(tmp_path / "log") as reader:
        rows = {row.offset: row.payload for batch in reader.batches() for row in batch.rows}
    texts = {at: row.text for at, row in rows.items() if isinstance(row, NoteRecord)}
    assert len(acknowledged) >= 50
    assert [(at, texts[at]) for at, _ in acknowledged] == acknowledged


def test_other_machines_are_not_answered_without_authentication(
    metalog: Metalog, tmp_path: Path
) -> None:
    create_log(tmp_path / "log", CLUSTER_ID)
    answer = metalog("serve", tmp_path / "log", "--http", "0.0.0.0:0", "--allow-remote")
    assert answer.code == 3
    assert "there is no authentication; listen on 127.0.0.1, or add --http-tokens" in answer.err


def test_tokens_without_http_are_refused(metalog: Metalog, tmp_path: Path) -> None:
    create_log(tmp_path / "log", CLUSTER_ID)
    answer = metalog("serve", tmp_path / "log", "--http-tokens", "tokens")
    assert answer.code == 2
    assert "--http-tokens" in answer.err
    assert "see `metalog serve --help`" in answer.err


def test_the_extra_is_named_when_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(options, "_LIBRARIES", ("litestar", "never_installed"))
    with pytest.raises(RequestError, match=r"never_installed.*metadata-log\[http\]"):
        HttpOptions.parse("127.0.0.1:0")
