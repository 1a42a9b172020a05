"""What PostgreSQL's notifications tell a follower; anybody in the database may send one."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Iterator

import psycopg
import pytest
from sqlalchemy import URL

from metadata_log.shared import postgres as module
from metadata_log.shared.identity import Identity
from metadata_log.shared.postgres import PostgresSharedLog
from metadata_log.shared.postgres_connection import CHANNEL
from metadata_log.shared.postgres_rows import notification_of
from metadata_log.shared.shared_log import EMPTY, NONCE_SIZE, Position, claim_of
from replay.snapshot.database import open_database
from replay.snapshot.schema import SHARED_LOG, upgrade
from tests.contracts.test_shared_log import group
from tests.postgres import new_database, text_of

MINE = Identity(cluster_id="c", log_id="mine")
NEVER_S = 30


@pytest.fixture
def database(postgres: URL) -> Iterator[URL]:
    with new_database(postgres) as url:
        engine = open_database(url)
        upgrade(engine, SHARED_LOG)
        engine.dispose()
        yield url


@pytest.fixture
async def log(database: URL) -> AsyncIterator[PostgresSharedLog]:
    async with _opened(database) as found:
        yield found


@pytest.fixture
def no_polls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_POLL_S", NEVER_S)


@contextlib.asynccontextmanager
async def _opened(url: URL) -> AsyncIterator[PostgresSharedLog]:
    log = PostgresSharedLog(text_of(url), accept_hollow=True)
    try:
        await log.open()
        await log.create(MINE)
        yield log
    finally:
        await log.close()


def _execute(url: URL, statement: str, values: list[str] | None = None) -> list[tuple[object, ...]]:
    with psycopg.connect(text_of(url), autocommit=True, connect_timeout=10) as connection:
        return connection.execute(statement.encode(), values).fetchall()


def _notify(database: URL, *texts: str) -> None:
    """Send notifications in one transaction, as anybody may."""
    calls = ", ".join(f"pg_notify('{CHANNEL}', %s)" for _ in texts)
    _execute(database, f"SELECT {calls}", list(texts))


async def _until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 20
    while not await asyncio.to_thread(condition):
        assert time.monotonic() < end
        await asyncio.sleep(0.02)


def _listeners(database: URL) -> int:
    """Return how many connections listen in a database; nothing else runs on them."""
    query = (
        "SELECT pid FROM pg_stat_activity "
        "WHERE datname = current_database() AND query LIKE 'LISTEN%'"
    )
    return len(_execute(database, query))


async def _waiting(log: PostgresSharedLog, database: URL, number: int) -> "asyncio.Task[Position]":
    """Begin to wait for a group; return when notifications arrive, and the store was asked."""
    await log.wait(number, 0.01)
    waiting = asyncio.create_task(log.wait(number, NEVER_S))
    await _until(lambda: _listeners(database) == 1)
    return waiting


async def _append(log: PostgresSharedLog, at: Position) -> Position:
    added = claim_of(at, 1, bytes(NONCE_SIZE)) if at == EMPTY else group(at)
    await log.append(added, after=at)
    return added.end


async def _append_silently(url: URL, at: Position) -> Position:
    """Append without a notification, as if it were lost."""
    async with _opened(url) as other:
        end = await _append(other, at)
        other._notifying._due = None
        return end


@pytest.mark.usefixtures("no_polls")
async def test_who_appends_does_not_listen(log: PostgresSharedLog, database: URL) -> None:
    """The server keeps notifications for all databases until each listener has read them."""
    await log.wait(0, 0.01)
    assert _listeners(database) == 1
    at = await _append(log, EMPTY)
    for _ in range(3):
        at = await _append(log, at)
    await _until(lambda: _listeners(database) == 0)
    # It is told again once it follows.
    waiting = await _waiting(log, database, at.number)
    async with _opened(database) as other:
        after = await _append(other, at)
        assert await waiting == after


@pytest.mark.usefixtures("no_polls")
async def test_the_highest_end_that_is_told_together_is_believed(
    log: PostgresSharedLog, database: URL
) -> None:
    waiting = await _waiting(log, database, 3)
    told = [notification_of("mine", Position(number=number)) for number in (7, 9, 8)]
    _notify(database, *told, notification_of("another", Position(number=99)), "{")
    async with asyncio.timeout(10):
        assert await waiting == Position(number=9)


@pytest.mark.parametrize(
    "text",
    [
        notification_of("mine", Position(number=1)),
        notification_of("another", Position(number=9)),
        notification_of("", Position(number=9)),
        "{",
        "none",
        '{"number": 9}',
        '{"log_id": "mine", "end": {"number": "9"}}',
    ],
    ids=["late", "another log's", "no log's", "cut", "no JSON", "no end", "no number"],
)
@pytest.mark.usefixtures("no_polls")
async def test_a_notification_that_tells_nothing_new_is_passed_over(
    log: PostgresSharedLog, database: URL, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    at = await _append(log, EMPTY)
    waiting = await _waiting(log, database, at.number)
    asked: list[Position] = []

    async def end() -> Position:
        asked.append(await PostgresSharedLog.end(log))
        return asked[-1]

    monkeypatch.setattr(log, "end", end)
    _notify(database, text)
    await asyncio.sleep(0.2)
    assert not waiting.done()
    async with _opened(database) as other:
        after = await _append(other, at)
        async with asyncio.timeout(10):
            assert await waiting == after
    assert asked == []


@pytest.mark.usefixtures("no_polls")
async def test_an_empty_notification_of_an_older_release_lets_a_follower_ask(
    log: PostgresSharedLog, database: URL
) -> None:
    at = await _append(log, EMPTY)
    waiting = await _waiting(log, database, at.number)
    after = await _append_silently(database, at)
    _notify(database, "")
    async with asyncio.timeout(10):
        assert await waiting == after


async def test_the_store_is_asked_in_time_whatever_is_told(
    log: PostgresSharedLog, database: URL
) -> None:
    at = await _append(log, EMPTY)
    waiting = await _waiting(log, database, at.number)

    async def go_on_telling() -> None:
        while True:
            await asyncio.to_thread(_notify, database, notification_of("mine", at))
            await asyncio.sleep(0.02)

    telling = asyncio.create_task(go_on_telling())
    await asyncio.sleep(0.2)
    after = await _append_silently(database, at)
    try:
        async with asyncio.timeout(10):
            assert await waiting == after
    finally:
        telling.cancel()
        await asyncio.wait([telling])
