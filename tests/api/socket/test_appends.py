"""Appends over a socket: an answer means committed, in order; a refusal contains the reason."""

import asyncio
from pathlib import Path

import pytest

from api.socket import limits
from api.socket.client import SocketClient
from api.socket.server import LOOPBACK, SocketServer, serve_socket
from benchmarks.log_sessions import sessions_on
from metadata_log.files.fs import File, OsFs
from metadata_log.format.batch import AppendResult, NewBatch
from metadata_log.writer.log import MetadataLog
from records.control import NoteRecord
from records.envelope import Origin
from records.errors import FencedError, RequestError, UnavailableError
from tests.api.socket.conftest import CLUSTER_ID, SlowLog, rows
from tests.metadata_log.conftest import topics


def note(text: str) -> NewBatch:
    return NewBatch(records=(NoteRecord(at_offset=0, author="test", text=text),))


def notes(directory: Path) -> list[str]:
    found = [row.payload for row in rows(directory)]
    return [record.text for record in found if isinstance(record, NoteRecord)]


async def connect(server: SocketServer) -> SocketClient:
    return await SocketClient.connect(LOOPBACK, server.port, cluster_id=CLUSTER_ID)


async def test_batch_is_committed_as_it_was_sent(server: SocketServer, directory: Path) -> None:
    batch = NewBatch(
        records=topics(0, 3).records,
        origin=Origin(principal="User:alice", reason="a test"),
        record_versions=(0, 0, 0),
        timestamp=2_000_000_000_000,
    )
    async with await connect(server) as client:
        assert client.cluster_id == CLUSTER_ID
        result = await client.append(batch, expected_end_offset=1)
    assert result == AppendResult(
        base_offset=1, end_offset=4, leader_epoch=1, timestamp=2_000_000_000_000
    )
    found = rows(directory)
    assert tuple(row.payload for row in found) == batch.records
    assert {row.origin for row in found} == {batch.origin}
    assert {row.timestamp for row in found} == {2_000_000_000_000}


async def test_64_callers_share_a_connection_and_each_gets_its_own_offsets(
    server: SocketServer, directory: Path
) -> None:
    answers: dict[str, AppendResult] = {}

    async def caller(client: SocketClient, number: int) -> None:
        for n in range(20):
            text = f"{number}-{n}"
            answers[text] = await client.append(note(text))

    async with await connect(server) as client:
        await asyncio.gather(*[caller(client, number) for number in range(64)])
    assert len(answers) == 64 * 20
    by_offset = {row.offset: row.payload for row in rows(directory)}
    for text, result in answers.items():
        assert by_offset[result.base_offset] == note(text).records[0]


async def test_64_connections_share_the_log(server: SocketServer, directory: Path) -> None:
    async def caller(number: int) -> None:
        async with await connect(server) as client:
            for n in range(5):
                await client.append(note(f"{number}-{n}"))

    await asyncio.gather(*[caller(number) for number in range(64)])
    assert sorted(notes(directory)) == sorted(f"{c}-{n}" for c in range(64) for n in range(5))


async def test_10000_requests_in_flight_commit_in_the_order_of_the_calls(
    server: SocketServer, directory: Path
) -> None:
    async with await connect(server) as client:
        results = await asyncio.gather(*[client.append(note(str(n))) for n in range(10_000)])
    assert [result.base_offset for result in results] == list(range(1, 10_001))
    assert notes(directory) == [str(n) for n in range(10_000)]


async def test_large_batches_come_through(server: SocketServer, directory: Path) -> None:
    text = "x" * 3_000_000
    async with await connect(server) as client:
        await asyncio.gather(*[client.append(note(text + str(n))) for n in range(8)])
    assert [found[-1] for found in notes(directory)] == list("01234567")


async def test_refused_batch_writes_nothing_and_the_connection_goes_on(
    server: SocketServer, directory: Path
) -> None:
    async with await connect(server) as client:
        with pytest.raises(RequestError, match="ends at 1, expected 7") as refused:
            await client.append(note("late"), expected_end_offset=7)
        assert refused.value.code == "INVALID_UPDATE_VERSION"
        with pytest.raises(RequestError, match="0 records"):
            await client.append(NewBatch(records=()))
        await client.append(note("next"))
    assert notes(directory) == ["next"]


class _FailingFs(OsFs):
    """A file system whose syncs fail once the test says so."""

    failing = False

    def open(self, path: Path, *, write: bool = False, create: bool = False) -> File:
        return _FailingFile(self, super().open(path, write=write, create=create))


class _FailingFile:
    def __init__(self, fs: _FailingFs, file: File) -> None:
        self._fs = fs
        self._file = file
        self.pread, self.pwrite = file.pread, file.pwrite
        self.truncate, self.size, self.close = file.truncate, file.size, file.close

    def sync(self) -> None:
        if self._fs.failing:
            raise OSError(5, "Input/output error")
        self._file.sync()


async def test_every_caller_gets_the_error_of_a_fenced_log(directory: Path) -> None:
    fs = _FailingFs()
    log = await MetadataLog.open(directory, fs=fs)
    server = await serve_socket(sessions_on(log), cluster_id=CLUSTER_ID)
    async with await connect(server) as client:
        await client.append(note("safe"))
        fs.failing = True
        answers = await asyncio.gather(
            *[client.append(note(str(n))) for n in range(10)], return_exceptions=True
        )
        assert [type(answer) for answer in answers] == [FencedError] * 10
        fs.failing = False
        with pytest.raises(FencedError, match="Input/output error"):
            await client.append(note("after"))
    await server.close()
    await log.close()
    assert notes(directory)[:1] == ["safe"]
    assert "after" not in notes(directory)


async def test_mistake_of_the_log_is_an_unknown_outcome_and_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class BrokenLog:
        async def append(
            self, batch: NewBatch, *, expected_end_offset: int | None = None
        ) -> AppendResult:
            raise ZeroDivisionError

    server = await serve_socket(sessions_on(BrokenLog()), cluster_id=CLUSTER_ID)
    async with await connect(server) as client:
        with pytest.raises(UnavailableError, match="outcome is unknown"):
            await client.append(note("lost"))
    await server.close()
    assert "ZeroDivisionError" in caplog.text


async def test_cancelled_caller_leaves_the_others_alone(
    server: SocketServer, directory: Path
) -> None:
    async with await connect(server) as client:
        tasks = [asyncio.create_task(client.append(note(str(n)))) for n in range(10)]
        await asyncio.sleep(0)
        tasks[3].cancel()
        answers = await asyncio.gather(*tasks, return_exceptions=True)
        assert [type(answer) for answer in answers].count(asyncio.CancelledError) == 1
        await client.append(note("next"))
    assert set(notes(directory)) >= {"0", "1", "2", "4", "5", "6", "7", "8", "9", "next"}


async def test_closing_the_client_waits_for_its_answers(
    server: SocketServer, directory: Path
) -> None:
    client = await connect(server)
    tasks = [asyncio.create_task(client.append(note(str(n)))) for n in range(100)]
    await asyncio.sleep(0)
    await client.close()
    assert len({result.base_offset for result in await asyncio.gather(*tasks)}) == 100
    with pytest.raises(UnavailableError, match="is closed"):
        await client.append(note("late"))
    assert notes(directory) == [str(n) for n in range(100)]


async def test_closing_the_server_answers_what_is_in_flight_and_leaves_the_log_open(
    log: MetadataLog, directory: Path
) -> None:
    slow = SlowLog(log)
    server = await serve_socket(sessions_on(slow), cluster_id=CLUSTER_ID)
    client = await connect(server)
    tasks = [asyncio.create_task(client.append(note(str(n)))) for n in range(50)]
    while slow.waiting < 50:
        await asyncio.sleep(0.01)
    closing = asyncio.create_task(server.close())
    await asyncio.sleep(0.05)
    assert not closing.done()
    slow.may_commit.set()
    await asyncio.gather(*tasks)
    await closing
    with pytest.raises(UnavailableError):
        await client.append(note("late"))
    await client.close()
    await log.append(note("in process"))
    assert notes(directory) == [*(str(n) for n in range(50)), "in process"]


async def test_closing_gives_up_on_a_log_that_never_commits(
    log: MetadataLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "CLOSE_TIMEOUT_S", 0.1)
    slow = SlowLog(log)
    server = await serve_socket(sessions_on(slow), cluster_id=CLUSTER_ID)
    client = await connect(server)
    waiting = asyncio.create_task(client.append(note("never")))
    while not slow.waiting:
        await asyncio.sleep(0.01)
    await server.close()
    with pytest.raises(UnavailableError, match="may have been committed"):
        await waiting
    await client.close()
    slow.may_commit.set()
    await asyncio.sleep(0)


async def test_wrong_cluster_is_refused(server: SocketServer) -> None:
    with pytest.raises(
        RequestError, match="is of cluster test-cluster, but the client expects other"
    ) as refused:
        await SocketClient.connect(LOOPBACK, server.port, cluster_id="other")
    assert refused.value.code == "INCONSISTENT_CLUSTER_ID"


async def test_refused_connection_is_one_line(server: SocketServer) -> None:
    await server.close()
    with pytest.raises(UnavailableError, match=f"{LOOPBACK}:{server.port} does not answer"):
        await connect(server)


async def test_address_in_use_is_one_line(server: SocketServer, log: MetadataLog) -> None:
    with pytest.raises(
        UnavailableError,
        match=rf"cannot listen on {LOOPBACK}:{server.port}: Address already in use$",
    ):
        await serve_socket(sessions_on(log), cluster_id=CLUSTER_ID, port=server.port)


async def test_connection_too_many_is_refused_while_the_others_are_busy(
    log: MetadataLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "CONNECTIONS_MAX", 2)
    slow = SlowLog(log)
    server = await serve_socket(sessions_on(slow), cluster_id=CLUSTER_ID)
    busy = [await connect(server), await connect(server)]
    appends = [asyncio.create_task(client.append(note("in flight"))) for client in busy]
    async with asyncio.timeout(10):
        while slow.waiting < 2:
            await asyncio.sleep(0.01)
    with pytest.raises(UnavailableError, match="all 2 connections are in use; try again later"):
        await connect(server)
    slow.may_commit.set()
    await asyncio.gather(*appends)
    third = await connect(server)
    await third.append(note("welcome"))
    for client in (*busy, third):
        await client.close()
    await server.close()


async def test_longest_idle_connection_makes_way_for_a_new_one(
    log: MetadataLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "CONNECTIONS_MAX", 2)
    server = await serve_socket(sessions_on(log), cluster_id=CLUSTER_ID)
    first, second = await connect(server), await connect(server)
    await first.append(note("active"))
    third = await connect(server)
    await third.append(note("welcome"))
    await first.append(note("still there"))
    with pytest.raises(UnavailableError, match="it was idle for longest; connect again"):
        await second.append(note("closed"))
    for client in (first, second, third):
        await client.close()
    await server.close()
