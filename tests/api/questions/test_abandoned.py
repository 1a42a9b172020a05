"""Questions whose client has disconnected, and worker processes stopped by a signal."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from api.cli.main import run
from api.clients.client import MetadataClient
from api.clients.service_url import connect
from api.questions import workers
from api.questions.objects import ShowDigest
from api.questions.rows import ShowRows
from api.questions.worker import LENGTH
from api.requests.wire_requests import AnswerPage
from api.security.listeners import LOCAL
from api.socket.client import SocketClient
from records.errors import Outcome, UnavailableError
from tests.api.broker.test_clean_end import broker_of
from tests.api.kafka.servers import server
from tests.api.services import Served, serving

Client = MetadataClient | SocketClient


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Served]:
    assert run(["init", str(tmp_path / "log")]) == 0
    with serving(tmp_path / "log") as served:
        yield served


def worker_processes(of: int) -> list[int]:
    """Return the worker processes that answer questions for the process `of`."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent = stat.read_text().rpartition(")")[2].split()[:2]
            words = (stat.parent / "cmdline").read_bytes()
            has_session = os.getsid(int(stat.parent.name)) == int(stat.parent.name)
        except OSError:  # it ended
            continue
        is_started, is_forked = b"api.questions.worker" in words, b"forked_commands" in words
        is_worker = has_session and (is_started or is_forked)
        if is_worker and int(parent) == of and state != "Z":
            found.append(int(stat.parent.name))
    return found


async def digest(client: Client) -> AnswerPage:
    return await client.page("digest", ShowDigest())


async def stuck_workers(service: int, client: Client) -> list[int]:
    """Start both worker processes of a service, and stop them with a signal."""
    pids: list[int] = []
    while len(pids) < workers.WORKERS_MAX:
        await asyncio.gather(*[digest(client) for _ in range(workers.WORKERS_MAX)])
        pids = worker_processes(service)
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    return pids


@pytest.mark.parametrize("way", ["kafka", "socket", "broker"])
async def test_question_of_a_client_that_has_gone_gives_its_worker_back(
    tmp_path: Path, way: str
) -> None:
    async with (
        server(tmp_path, socket=LOCAL) as at,
        broker_of(at.port, tmp_path) as broker,
    ):
        urls = {
            "kafka": f"kafka://127.0.0.1:{at.port}",
            "socket": at.socket_url,
            "broker": f"kafka://{broker.listen}",
        }
        url = urls[way]
        stuck = await stuck_workers(os.getpid(), at.client)
        leaving = [await connect(url) for _ in stuck]
        asked = [asyncio.create_task(digest(client)) for client in leaving]
        while not all(worker.is_taken for worker in at.service.answers._workers._workers):
            await asyncio.sleep(0)
        waiting = asyncio.create_task(digest(at.client))
        for client, task in zip(leaving, asked, strict=True):
            task.cancel()
            await client.close()
        assert (await waiting).response.digest
        while set(stuck) & set(worker_processes(os.getpid())):
            await asyncio.sleep(0.01)


async def test_service_with_stuck_workers_answers_all_questions_and_ends(service: Served) -> None:
    clients = [await connect(url) for url in (service.socket, service.kafka)]
    stuck = await stuck_workers(service.process.pid, clients[0])
    asked = [asyncio.create_task(digest(client)) for client in clients for _ in stuck]
    await asyncio.sleep(0)
    service.process.terminate()
    for error in await asyncio.gather(*asked, return_exceptions=True):
        assert isinstance(error, UnavailableError)
        assert error.outcome is Outcome.NOTHING
    # The system's own limits for closing would take 30 s.
    assert await asyncio.to_thread(service.process.wait, 15) == 0
    for client in clients:
        await client.close()


async def test_silent_worker_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with server(tmp_path) as at:
        answer = await at.client.page("dump", ShowRows())
        (pid,) = worker_processes(os.getpid())
        os.kill(pid, signal.SIGSTOP)
        with monkeypatch.context() as patched:
            patched.setattr(workers, "SILENT_MAX_S", 0.1)
            with pytest.raises(UnavailableError, match="was stuck for"):
                await at.client.page("dump", ShowRows())
        assert pid not in worker_processes(os.getpid())
        assert (await at.client.page("dump", ShowRows())).response == answer.response


def test_worker_says_that_it_lives_and_ends_without_its_service(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "api.questions.worker", str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.read(LENGTH.size) == LENGTH.pack(0)
        # Its input stays open, as if another child of the service had inherited it.
        process.stdout.close()
        assert process.wait(timeout=60) == 0
