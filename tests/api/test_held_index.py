"""A service in a process of its own, from its first moment on, while its index is being made."""

import asyncio
import contextlib
import json
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from api.clients.client import MetadataClient
from api.kafka.connection import Connection
from api.kafka.messages.brokers import BrokerHeartbeatRequest, BrokerHeartbeatResponse
from api.socket.client import SocketClient
from controller.decisions.topics.topics import CreateTopics, NewTopic
from controller.descriptions.brokers import ListBrokers
from controller.descriptions.topics import DescribeTopics
from metadata_log.format.batch import NewBatch
from metadata_log.reader.log_reader import LogReader
from metadata_log.writer.creation import create_log
from metadata_log.writer.log import MetadataLog
from records.control import NoteRecord
from records.errors import Outcome, RequestError
from replay.image.metadata import MetadataImage
from replay.loader import load_image
from tests.api.services import Served, serving
from tests.controller.cluster import Cluster
from tests.forked_commands import METALOG

_SESSION_MS = 1_000
_TOPICS = 20
_NEW = CreateTopics(topics=(NewTopic(name="new", partitions=2, replication_factor=2),))


@pytest.fixture
async def log(tmp_path: Path) -> Path:
    """A log with a snapshot, two active brokers and a fenced one."""
    cluster = Cluster()
    cluster.add_brokers(1, 2, 3)
    for number in range(_TOPICS):
        cluster.create(f"t{number}", [1, 2], [2, 1])
    cluster.fence(3)
    directory = tmp_path / "log"
    create_log(directory, "test")
    log = await MetadataLog.open(directory)
    for batch, _ in cluster.steps:
        await log.append(NewBatch(records=tuple([row.payload for row in batch.rows])))
    await log.close()
    subprocess.run([*METALOG, "snapshot", "create", directory], check=True, capture_output=True)
    return directory


@pytest.fixture
def go(tmp_path: Path) -> Path:
    """The file that lets the index be made."""
    return tmp_path / "go"


@pytest.fixture
def served(log: Path, go: Path) -> Iterator[Served]:
    options = ["--http", "127.0.0.1:0", "--session-timeout-ms", _SESSION_MS]
    command = (sys.executable, "-m", "tests.api.held_index", str(go))
    with serving(log, *options, command=command) as served:
        yield served
        go.touch()


class _Clients:
    """Connections to the three listeners, and `asking`, another one to the socket."""

    def __init__(
        self,
        kafka: MetadataClient,
        broker: Connection,
        socket: SocketClient,
        asking: SocketClient,
        http: httpx.AsyncClient,
    ) -> None:
        self.kafka, self.broker, self.socket, self.http = kafka, broker, socket, http
        self.asking = asking

    async def beat(self, image: MetadataImage, broker_id: int) -> BrokerHeartbeatResponse:
        broker = image.broker(broker_id)
        assert broker is not None
        request = BrokerHeartbeatRequest(
            broker_id=broker_id,
            broker_epoch=broker.broker_epoch,
            current_metadata_offset=image.provenance.next_offset - 1,
        )
        return await self.broker.request(request, BrokerHeartbeatResponse, timeout_s=60)


@contextlib.asynccontextmanager
async def _connected(served: Served) -> AsyncIterator[_Clients]:
    async with AsyncExitStack() as stack:
        kafka = await stack.enter_async_context(await MetadataClient.connect(served.kafka))
        host, _, port = served.kafka.removeprefix("kafka://").rpartition(":")
        broker = await Connection.open(host, int(port))
        stack.push_async_callback(broker.close)
        socket, asking = [
            await stack.enter_async_context(await SocketClient.connect(*served.socket_address))
            for _ in range(2)
        ]
        http = await stack.enter_async_context(httpx.AsyncClient(base_url=served.http, timeout=60))
        yield _Clients(kafka, broker, socket, asking, http)


def _begun(clients: _Clients, image: MetadataImage) -> "dict[str, asyncio.Task[Any]]":
    """Send what has to wait for the index."""
    note = NewBatch(records=(NoteRecord(at_offset=0, author="test", text="first"),))
    waiting = {
        "topic created": clients.socket.run(_NEW),
        "note appended": clients.socket.append(note),
        "topic asked": _described(clients.socket, "new"),
        "brokers listed": clients.socket.run(ListBrokers()),
        "heartbeat": clients.beat(image, 1),
    }
    return {name: asyncio.ensure_future(each) for name, each in waiting.items()}


async def _described(client: SocketClient, *names: str) -> Any:
    """Ask a question, which sees the changes that were sent before it on its connection."""
    request = DescribeTopics(topics=names)
    page = await client.page("topics describe", request)
    return page.response.topics


async def _look(clients: _Clients) -> None:
    """Ask what is answered at once, through each listener."""
    found = (await clients.http.get("/v1/topics/describe", params={"topics": "t7"})).json()
    assert found["topics"][0]["name"] == "t7"
    found = await _described(clients.asking, "t8", "new")
    assert [each.description is None for each in found] == [False, True]
    metadata = await clients.kafka.metadata(("t9",))
    assert len(metadata.topics[0].partitions) == 2
    for path in ("/ready", "/health", "/metrics"):
        assert (await clients.http.get(path)).status_code == 200


def _image(log: Path) -> MetadataImage:
    with LogReader.open(log) as reader:
        return load_image(reader)


async def test_reads_are_answered_and_all_else_waits(log: Path, go: Path, served: Served) -> None:
    before = _image(log)
    async with _connected(served) as clients:
        waiting = _begun(clients, before)
        await _look(clients)
        # Longer than a session: the broker that waits for its answer must not be fenced.
        await asyncio.sleep(1.5 * _SESSION_MS / 1_000)
        late = asyncio.ensure_future(clients.beat(before, 2))
        await _look(clients)
        assert [name for name, each in waiting.items() if each.done()] == []
        assert not late.done() and _image(log) == before
        go.touch()
        answers = {name: await each for name, each in waiting.items()}
        assert not answers["heartbeat"].is_fenced and not (await late).is_fenced
        listed = answers["brokers listed"].response
        assert [each.replicas for each in listed] == [2 * _TOPICS + 2, 2 * _TOPICS + 2, 0]
        assert sum(each.leads for each in listed) == 2 * _TOPICS + 2
        (created,) = answers["topic created"].response
        assert answers["topic asked"][0].description is not None
        after = _image(log)
        assert len(after.partitions(created.topic_id)) == 2
        assert answers["note appended"].base_offset >= answers["topic created"].end_offset
        # Silence is noticed as ever.
        async with asyncio.timeout(30):
            while (found := _image(log).broker(2)) is None or not found.fenced:
                await asyncio.sleep(0.1)
                await clients.beat(before, 1)
        assert (broker := _image(log).broker(1)) is not None and not broker.fenced


async def test_a_service_that_is_killed_before_its_index_is_made_has_written_nothing(
    log: Path, served: Served
) -> None:
    before = _image(log)
    async with _connected(served) as clients:
        waiting = _begun(clients, before)
        await _look(clients)
        served.process.kill()
        answers = await asyncio.gather(*waiting.values(), return_exceptions=True)
    assert served.ended() == -signal.SIGKILL
    assert all(isinstance(each, Exception) for each in answers)
    assert _image(log) == before
    with serving(log) as again:
        async with await SocketClient.connect(*again.socket_address) as client:
            await client.run(_NEW)
    assert _image(log).topic_by_full_name("new") is not None


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_service_stops_without_an_index_for_which_nobody_waits(
    served: Served, number: signal.Signals
) -> None:
    served.process.send_signal(number)
    assert served.ended() == 0


async def test_a_service_that_stops_refuses_what_waits_for_its_index(
    log: Path, served: Served
) -> None:
    before = _image(log)
    async with _connected(served) as clients:
        waiting = _begun(clients, before)
        await _look(clients)
        served.process.terminate()
        async with asyncio.timeout(30):
            answers = await asyncio.gather(*waiting.values(), return_exceptions=True)
    assert served.ended() == 0 and _image(log) == before
    for name in ("topic created", "note appended", "brokers listed"):
        answer = answers[list(waiting).index(name)]
        assert isinstance(answer, RequestError), name
        assert (answer.code, answer.outcome) == ("NOT_CONTROLLER", Outcome.NOTHING)


def _run(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [*METALOG, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_a_snapshot_that_cannot_be_indexed_is_told_as_damage(log: Path) -> None:
    """As systemd needs it: the unit in docs/running.md does not start a damaged log again."""
    maker = [sys.executable, "-m", "tests.api.unreadable_snapshot", "t7", str(log)]
    # A snapshot of the same state is not made again.
    assert _run("snapshot", "prune", "--keep", "0", log).returncode == 0
    subprocess.run(maker, check=True, capture_output=True)
    served = _run("serve", log, "--kafka", "127.0.0.1:0", "--json")
    created = _run("topics", "create", "new", "--log", log, "--json")
    for ended in (served, created):
        assert ended.returncode == 5
        told = json.loads(ended.stderr)
        assert told["code"] == "CORRUPT" and told["outcome"] == "nothing"
        assert "topic 't7' of a snapshot was written by another release" in told["message"]
        assert "metalog snapshot prune --keep 0" in told["message"]
    assert _run("snapshot", "prune", "--keep", "0", log).returncode == 0
    assert _run("topics", "create", "new", "--log", log).returncode == 0
