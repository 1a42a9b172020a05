"""Subscriptions: committed batches from an offset on, over both protocols."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from pathlib import Path

import pytest
from msgspec.structs import replace

from api.clients.client import MetadataClient
from api.clients.service_url import connect
from api.questions.rows import TAIL_BYTES, FollowRows
from api.security.listeners import LOCAL
from api.server import ServeOptions, serving
from api.service.answers import FOLLOWERS_MAX
from api.service.service import Service
from api.service.session import Session
from api.socket.client import SocketClient
from api.socket.limits import SERVER_REQUESTS_MAX
from controller.authorization.caller import CONTROLLER, Caller
from controller.decisions.notes import AddNote
from metadata_log.format.batch import Batch, NewBatch
from metadata_log.reader.log_reader import LogReader
from metadata_log.writer.creation import create_log
from records.base import Record
from records.control import NoteRecord
from records.errors import RequestError, UnavailableError, UnknownHistoryError
from records.security import UserScramCredentialRecord
from replay.care.retain import retain

Client = MetadataClient | SocketClient | Session


@pytest.fixture
def log(tmp_path: Path) -> Path:
    create_log(tmp_path / "log", "test-cluster")
    return tmp_path / "log"


@pytest.fixture(params=["process", "kafka", "socket"])
async def client(request: pytest.FixtureRequest, log: Path) -> AsyncIterator[Client]:
    async with serving(ServeOptions(log=log, socket=LOCAL)) as running:
        if request.param == "process":
            yield Session(running.service, Caller(principal="User:ann"))
            return
        assert running.socket is not None
        port = running.kafka.port if request.param == "kafka" else running.socket.port
        async with await connect(f"{request.param}://127.0.0.1:{port}") as client:
            yield client


async def _taken(batches: AsyncGenerator[Batch, None], end: int) -> list[Batch]:
    """Return the batches of a subscription up to an offset."""
    found: list[Batch] = []
    async with asyncio.timeout(60), aclosing(batches):
        async for batch in batches:
            found.append(batch)
            if batch.end_offset >= end:
                break
    return found


def _in_log(log: Path, first: int = 0) -> list[Batch]:
    """Return the committed batches of a log in the form that subscribers get."""
    with LogReader.open(log) as reader:
        return [
            Batch.of(
                [
                    replace(
                        row,
                        durable_end=None,
                        previous_crc32c=None,
                        asked=None,
                        origin=row.origin and replace(row.origin, request_hash=None),
                    )
                    for row in batch.rows
                ]
            )
            for batch in reader.batches(first)
        ]


async def _note(client: Client, text: str) -> int:
    return (await client.run(AddNote(at_offset=0, text=text))).end_offset


async def test_batches_come_from_an_offset_on_and_as_they_commit(client: Client, log: Path) -> None:
    end = await _note(client, "before")
    async with aclosing(client.subscribe(0)) as batches:
        found = [await anext(batches)]
        while found[-1].end_offset < end:
            found.append(await anext(batches))
        for text in ("one", "two"):
            await _note(client, text)
            found.append(await anext(batches))
    assert found == _in_log(log)
    notes = [row.payload for batch in found[-2:] for row in batch.rows]
    assert [note.text for note in notes if isinstance(note, NoteRecord)] == ["one", "two"]


async def test_an_offset_past_the_end_is_waited_for(client: Client) -> None:
    end = await _note(client, "before")
    first = asyncio.ensure_future(anext(client.subscribe(end + 1)))
    # Other requests of the connection are not delayed.
    assert await _note(client, "skipped") == end + 1
    assert await _note(client, "wanted") == end + 2
    assert (await first).base_offset == end + 1


async def test_an_offset_within_a_batch_begins_with_that_record(client: Client, log: Path) -> None:
    batch = next(batch for batch in _in_log(log) if len(batch.rows) > 1)
    (first, *_) = await _taken(client.subscribe(batch.base_offset + 1), batch.end_offset)
    assert first == Batch.of(batch.rows[1:])
    assert first.base_offset == batch.base_offset


def _credential() -> UserScramCredentialRecord:
    return UserScramCredentialRecord(
        name="ann",
        mechanism=1,
        salt=b"salt",
        stored_key=b"1" * 32,
        server_key=b"2" * 32,
        iterations=4096,
    )


@pytest.fixture
async def with_secrets(log: Path) -> None:
    service = await Service.open(log, with_timers=False)
    records: tuple[Record, ...] = (_credential(),)
    await service.append(NewBatch(records=records), caller=CONTROLLER)
    await service.close()


@pytest.mark.usefixtures("with_secrets")
async def test_secrets_come_only_when_they_are_asked_for(log: Path, client: Client) -> None:
    end = _in_log(log)[-1].end_offset
    shown = await _taken(client.subscribe(0, show_secrets=True), end)
    assert shown == _in_log(log)
    hidden = await _taken(client.subscribe(0), end)
    credentials = [
        row.payload
        for batch in hidden
        for row in batch.rows
        if isinstance(row.payload, UserScramCredentialRecord)
    ]
    assert credentials == [replace(_credential(), salt=b"", stored_key=b"", server_key=b"")]


async def test_an_offset_before_the_kept_history_names_its_start(log: Path) -> None:
    service = await Service.open(log, with_timers=False)
    end = service.image.provenance.next_offset
    await service.close()
    async with serving(ServeOptions(log=log)) as running:
        retain(log, end, check_dropped=lambda _: None)
        async with await connect(f"kafka://127.0.0.1:{running.kafka.port}") as client:
            with pytest.raises(UnknownHistoryError, match="then subscribe from") as caught:
                await anext(client.subscribe(0))
            start = caught.value.history_start
            assert start is not None
            assert 0 < start <= end
            assert (await anext(client.subscribe(start))).base_offset == start


async def test_batches_larger_than_one_answer_stay_whole(log: Path) -> None:
    text = "x" * 1_000
    async with serving(ServeOptions(log=log, socket=LOCAL)) as running:
        assert running.socket is not None
        async with await SocketClient.connect("127.0.0.1", running.socket.port) as client:
            start = running.service.image.provenance.next_offset
            notes = (NoteRecord(at_offset=0, author="ann", text=text),) * 700
            for _ in range(3):
                result = await client.append(NewBatch(records=notes))
            answer = (await client.page("tail", FollowRows(first=str(start)))).response
            assert len(answer.rows) == 2 * len(notes)
            assert len(notes) * len(text) < TAIL_BYTES < 2 * len(notes) * len(text)
            found = await _taken(client.subscribe(start), result.end_offset)
    assert [len(batch.rows) for batch in found] == [len(notes)] * 3
    assert found == _in_log(log, start)


async def test_a_record_of_a_later_release_is_refused_by_name(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    await _note(client, "before")
    monkeypatch.setattr("records.registry.BY_NAME", {})
    with pytest.raises(RequestError, match=r"offset 0: .* upgrade the client") as caught:
        await anext(client.subscribe(0))
    assert caught.value.code == "UNSUPPORTED_VERSION"


async def test_subscribers_at_the_end_are_answered_from_memory(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One commit reaches all of them, and no process reads the log for it."""
    async with serving(ServeOptions(log=log, socket=LOCAL)) as running:
        assert running.socket is not None

        async def unread(*_: object) -> None:
            pytest.fail("the log is read")

        monkeypatch.setattr(running.service.answers, "_workers", unread)
        end = running.service.image.provenance.next_offset
        async with await SocketClient.connect("127.0.0.1", running.socket.port) as client:
            subscribers = [client.subscribe(end) for _ in range(50)]
            first = [asyncio.ensure_future(anext(each)) for each in subscribers]
            await asyncio.sleep(0)  # They are sent: a question sent after the note waits for it.
            await _note(client, "one")
            batches = await asyncio.gather(*first)
            monkeypatch.undo()
        assert batches == _in_log(log, end) * 50


async def test_subscribers_that_wait_are_bounded(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("api.service.answers.FOLLOWERS_MAX", 1)
    async with serving(ServeOptions(log=log, socket=LOCAL)) as running:
        assert running.socket is not None
        end = running.service.image.provenance.next_offset
        async with await SocketClient.connect("127.0.0.1", running.socket.port) as client:
            first = asyncio.ensure_future(anext(client.subscribe(end)))
            await asyncio.sleep(0)  # it is sent
            with pytest.raises(UnavailableError, match="1 subscriptions are waiting"):
                await anext(client.subscribe(end))
            await _note(client, "one")
            assert (await first).base_offset == end
            found = client.subscribe(end)
            assert (await anext(found)).base_offset == end


def test_subscribers_that_wait_leave_room_for_appends() -> None:
    assert 2 * FOLLOWERS_MAX < SERVER_REQUESTS_MAX
