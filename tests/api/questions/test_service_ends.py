"""Questions in flight when the service ends."""

import asyncio
import contextlib
import json
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from api.cli.main import run
from api.clients.client import MetadataClient
from api.clients.service_url import connect
from api.questions.rows import FollowRows
from api.requests.wire_requests import AnswerPage
from api.socket.client import SocketClient
from controller.descriptions.topics import ListTopics
from records.errors import Outcome, UnavailableError
from tests.api.conftest import Metalog
from tests.api.services import serving
from tests.forked_commands import METALOG


async def _waiting_tail(client: MetadataClient | SocketClient) -> "asyncio.Task[AnswerPage]":
    """Start a request for records that have not been written yet."""
    waiting = FollowRows(first="1000000", wait_ms=30_000)
    asked = asyncio.create_task(client.page("tail", waiting))
    await asyncio.sleep(0)  # it is sent
    return asked


async def test_service_that_ends_does_not_wait_for_records(tmp_path: Path) -> None:
    assert run(["init", str(tmp_path / "log")]) == 0
    with serving(tmp_path / "log") as service:
        async with await connect(service.socket) as client:
            await client.page("tail", FollowRows())  # starts the process that answers
            asked = await _waiting_tail(client)
            await client.page("topics list", ListTopics())  # read after it
            service.process.terminate()
            # If the service waited, it would drop the connection at last.
            assert (await asked).response.rows == ()
        assert await asyncio.to_thread(service.ended) == 0


async def test_question_of_a_killed_service_can_be_asked_again(tmp_path: Path) -> None:
    assert run(["init", str(tmp_path / "log")]) == 0
    with serving(tmp_path / "log") as service:
        clients = [await connect(url) for url in (service.kafka, service.socket)]
        asked = [await _waiting_tail(client) for client in clients]
        service.process.kill()
        for error in await asyncio.gather(*asked, return_exceptions=True):
            assert isinstance(error, UnavailableError)
            assert error.outcome is Outcome.NOTHING
            assert "unknown" not in str(error)
            assert str(error).endswith("; ask again")
        for client in clients:
            await client.close()


@contextlib.contextmanager
def _command(*arguments: str) -> Iterator["subprocess.Popen[str]"]:
    with subprocess.Popen(
        [*METALOG, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize("way", ["kafka", "socket"])
def test_tail_of_a_service_that_ends_says_where_to_go_on(tmp_path: Path, way: str) -> None:
    assert run(["init", str(tmp_path / "log")]) == 0
    with serving(tmp_path / "log") as service:
        url = getattr(service, way)
        with _command("tail", "--server", url, "--from", "0", "--type", "NoteRecord") as tail:
            note = {"at_offset": 0, "author": "ada", "text": "a"}
            (tmp_path / "note").write_text(json.dumps({"type": "NoteRecord", "data": note}))
            with _command("append", "--server", url, str(tmp_path / "note"), "--json") as append:
                end = json.loads(append.communicate()[0])["log_end"]
            assert tail.stdout is not None
            assert tail.stdout.readline()
            service.process.terminate()
            _, error = tail.communicate()
    assert tail.returncode == 4
    address = url.partition("://")[2]
    assert error == (
        f"error: UNAVAILABLE: the connection to {address} was lost; ask again; go on with "
        f"`metalog tail --server {url} --from {end} --type NoteRecord`\n"
    )


@pytest.mark.parametrize("way", ["kafka", "socket"])
def test_service_that_is_down_is_told_in_the_same_words(metalog: Metalog, way: str) -> None:
    for command in (["digest"], ["topics", "list"], ["topics", "create", "a"], ["tail"]):
        answer = metalog(*command, "--server", f"{way}://127.0.0.1:1")
        assert answer.code == 4
        assert answer.err == (
            "error: UNAVAILABLE: 127.0.0.1:1 does not answer (Connection refused); is the service "
            "running?\n"
        )


def test_question_that_is_interrupted_has_changed_nothing() -> None:
    with socket.create_server(("127.0.0.1", 0)) as asked:
        url = f"kafka://127.0.0.1:{asked.getsockname()[1]}"
        with _command("dump", "--server", url, "--json") as dump:
            connection, _ = asked.accept()
            assert connection.recv(1)
            dump.send_signal(signal.SIGINT)
            _, error = dump.communicate()
            connection.close()
    assert dump.returncode == 130
    assert json.loads(error) == {
        "code": "INTERRUPTED",
        "message": "stopped; nothing was changed",
        "outcome": "nothing",
        "done_to": None,
    }
