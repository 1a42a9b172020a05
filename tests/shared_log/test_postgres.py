"""What a commit of PostgreSQL is worth, and what happens when it gives no proper answer.

The server waits for a standby that does not exist where a test needs a commit without an end.
"""

import asyncio
import contextlib
import secrets
import socket
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from sqlalchemy import URL

from metadata_log.shared import postgres as module
from metadata_log.shared import postgres_connection as connection_module
from metadata_log.shared.postgres import PostgresSharedLog
from metadata_log.shared.refusal import StoreRefusesError
from metadata_log.shared.settlement import Settled, Settlement
from metadata_log.shared.shared_log import (
    EMPTY,
    NONCE_SIZE,
    Entry,
    EntryKind,
    Group,
    Lease,
    Position,
    claim_of,
)
from records.errors import FencedError, Outcome, RequestError, UnavailableError
from replay.snapshot.database import open_database
from replay.snapshot.schema import SHARED_LOG, upgrade
from tests.postgres import new_database, postgres_server, text_of

NO_SUCH_STANDBY = "FIRST 1 (nobody)"


@pytest.fixture(scope="module")
def server() -> Iterator[URL]:
    """A server of its own, whose settings the tests change."""
    with postgres_server() as url:
        yield url


@pytest.fixture
def database(server: URL) -> Iterator[URL]:
    with new_database(server) as url:
        engine = open_database(url)
        upgrade(engine, SHARED_LOG)
        engine.dispose()
        try:
            yield url
        finally:
            _set(server, "synchronous_standby_names", "")


@pytest.fixture
async def log(database: URL) -> AsyncIterator[PostgresSharedLog]:
    async with _opened(database) as found:
        yield found


@contextlib.asynccontextmanager
async def _opened(url: URL, *, accept_hollow: bool = True) -> AsyncIterator[PostgresSharedLog]:
    log = PostgresSharedLog(text_of(url), accept_hollow=accept_hollow)
    try:
        await log.open()
        yield log
    finally:
        await log.close()


def _execute(url: URL, statement: str) -> list[tuple[object, ...]]:
    with psycopg.connect(text_of(url), autocommit=True, connect_timeout=10) as connection:
        connection.execute("SET synchronous_commit = local")
        cursor = connection.execute(statement.encode())
        return cursor.fetchall() if cursor.description else []


def _set(url: URL, name: str, value: str) -> None:
    """Change a setting of the whole server, and wait until it is in effect."""
    _execute(url, f"ALTER SYSTEM SET {name} = '{value}'")
    _execute(url, "SELECT pg_reload_conf()")
    _until(lambda: _execute(url, f"SELECT current_setting('{name}')") == [(value,)])
    if name == "synchronous_standby_names":
        _until(lambda: _waits_for_standbys(url) is bool(value))


def _waits_for_standbys(url: URL) -> bool:
    """Whether a commit waits: PostgreSQL's checkpointer tells the other processes, in its time."""
    with (
        psycopg.connect(text_of(url), autocommit=True, connect_timeout=10) as connection,
        ThreadPoolExecutor(1) as pool,
    ):
        connection.execute("SET synchronous_commit = on")
        pid = connection.info.backend_pid
        commit = pool.submit(
            connection.execute, "SELECT pg_logical_emit_message(true, 'probe', '')"
        )
        event = f"SELECT wait_event FROM pg_stat_activity WHERE pid = {pid}"
        while not commit.done():
            if _execute(url, event) == [("SyncRep",)]:
                _execute(url, f"SELECT pg_cancel_backend({pid})")
                commit.result()
                return True
            time.sleep(0.01)
        commit.result()
    return False


def _until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def _group(at: Position) -> Group:
    return Group(
        number=at.number,
        epoch=at.epoch,
        nonce=secrets.token_bytes(NONCE_SIZE),
        end_offset=at.end_offset + 1,
        crc32c=1,
        entries=(Entry(EntryKind.BLOCK, b"x"),),
    )


async def _led(log: PostgresSharedLog) -> Position:
    claim = claim_of(EMPTY, 1, secrets.token_bytes(NONCE_SIZE))
    await log.append(claim, after=EMPTY)
    return claim.end


async def _unknown(writing: Awaitable[object]) -> str:
    with pytest.raises(UnavailableError) as caught:
        await writing
    assert caught.value.outcome is Outcome.UNKNOWN
    return str(caught.value)


async def _waits_for_standby(database: URL) -> None:
    """Wait until a commit waits for a standby."""
    query = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
    await asyncio.to_thread(_until, lambda: _execute(database, query) == [(1,)])


def _cancel_waiting(database: URL) -> None:
    _execute(
        database,
        "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'",
    )


async def test_a_cancelled_wait_for_standbys_is_no_success(
    log: PostgresSharedLog, database: URL, server: URL
) -> None:
    at = await _led(log)
    mine = _group(at)
    _set(server, "synchronous_standby_names", NO_SUCH_STANDBY)
    writing = asyncio.ensure_future(log.append(mine, after=at))
    await _waits_for_standby(database)
    await asyncio.to_thread(_cancel_waiting, database)
    assert "committed without its standbys" in await _unknown(writing)
    # Everybody sees it now, and yet it is not committed.
    assert await log.end() == mine.end
    settling = asyncio.ensure_future(Settlement(mine, after=at).attempt(log))
    await asyncio.sleep(0.3)
    assert not settling.done()
    _set(server, "synchronous_standby_names", "")
    assert await settling == Settled(True, mine.end)


async def test_what_was_read_while_a_wait_for_standbys_was_cancelled_is_not_committed(
    log: PostgresSharedLog, database: URL, server: URL
) -> None:
    at = await _led(log)
    _set(server, "synchronous_standby_names", NO_SUCH_STANDBY)
    reading = asyncio.ensure_future(log.read_committed(0, 1_000))
    await _waits_for_standby(database)
    await asyncio.to_thread(_cancel_waiting, database)
    assert "committed without its standbys" in await _unknown(reading)
    _set(server, "synchronous_standby_names", "")
    end, groups = await log.read_committed(0, 1_000)
    assert end == at
    assert [each.end for each in groups] == [at]


async def test_what_is_visible_is_confirmed_by_a_commit_of_its_own(
    log: PostgresSharedLog, database: URL, server: URL, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = await _led(log)
    _set(server, "synchronous_standby_names", NO_SUCH_STANDBY)
    monkeypatch.setattr(connection_module, "STATEMENT_TIMEOUT_S", 0.3)
    await _unknown(log.confirmed_end())
    monkeypatch.setattr(connection_module, "STATEMENT_TIMEOUT_S", 10.0)
    _set(server, "synchronous_standby_names", "")
    assert await log.confirmed_end() == at


async def test_commits_wait_although_the_role_is_set_not_to(
    log: PostgresSharedLog, database: URL, server: URL, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server of the tests has synchronous_commit off; the statement sets it for itself."""
    assert _execute(server, "SHOW synchronous_commit") != [("on",)]
    at = await _led(log)
    _set(server, "synchronous_standby_names", NO_SUCH_STANDBY)
    monkeypatch.setattr(connection_module, "STATEMENT_TIMEOUT_S", 0.5)
    assert "no answer within" in await _unknown(log.append(_group(at), after=at))


@pytest.mark.parametrize("is_first", [True, False])
async def test_renewals_of_the_lease_wait_although_the_role_is_set_not_to(
    log: PostgresSharedLog, server: URL, monkeypatch: pytest.MonkeyPatch, *, is_first: bool
) -> None:
    first, second = [
        Lease(node_id=1, process=b"1", nonce=nonce, duration_ms=1_000, proven=EMPTY)
        for nonce in (b"1" * NONCE_SIZE, b"2" * NONCE_SIZE)
    ]
    assert is_first or await log.renew(first, instead_of=None)
    _set(server, "synchronous_standby_names", NO_SUCH_STANDBY)
    monkeypatch.setattr(connection_module, "STATEMENT_TIMEOUT_S", 0.3)
    renewing = log.renew(second, instead_of=None if is_first else first)
    assert "no answer within" in await _unknown(renewing)


async def test_a_statement_without_an_answer_is_not_cancelled(
    log: PostgresSharedLog, database: URL, server: URL, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To cancel it would make it visible at once, without its standbys."""
    at = await _led(log)
    mine = _group(at)
    _set(server, "synchronous_standby_names", NO_SUCH_STANDBY)
    monkeypatch.setattr(connection_module, "STATEMENT_TIMEOUT_S", 0.3)
    await _unknown(log.append(mine, after=at))
    assert await log.end() == at
    await _waits_for_standby(database)
    monkeypatch.setattr(connection_module, "STATEMENT_TIMEOUT_S", 10.0)
    _set(server, "synchronous_standby_names", "")
    # It was late, and there is one history.
    found = await Settlement(mine, after=at).attempt(log)
    assert found == Settled(True, mine.end)


async def test_a_caller_that_is_cancelled_leaves_no_connection_behind(
    log: PostgresSharedLog, database: URL, server: URL
) -> None:
    at = await _led(log)
    _set(server, "synchronous_standby_names", NO_SUCH_STANDBY)
    writing = asyncio.ensure_future(log.append(_group(at), after=at))
    await _waits_for_standby(database)
    writing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await writing
    _set(server, "synchronous_standby_names", "")
    end = await log.confirmed_end()
    await log.append(_group(end), after=end)


async def test_a_server_whose_commits_are_hollow_is_refused(database: URL) -> None:
    log = PostgresSharedLog(text_of(database))
    with pytest.raises(RequestError, match="fsync is off: a power loss takes"):
        await log.open()
    await log.close()


async def test_a_leader_ends_when_its_commits_become_hollow(
    database: URL, server: URL, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As if fsync were on: what changes is the list of standbys.
    on = "'on'"
    for name in ("_APPEND", "_SETTINGS"):
        text = getattr(module, name)
        for setting in ("fsync", "full_page_writes"):
            text = text.replace(f"current_setting('{setting}')", on)
        monkeypatch.setattr(module, name, text)
    async with _opened(database, accept_hollow=False) as log:
        at = await _led(log)
        _set(server, "synchronous_standby_names", NO_SUCH_STANDBY)
        assert (await log.open()).standby_names == NO_SUCH_STANDBY
        _set(server, "synchronous_standby_names", "")
        with pytest.raises(FencedError, match="synchronous_standby_names is empty now") as caught:
            await log.append(_group(at), after=at)
        assert caught.value.outcome is Outcome.UNKNOWN


async def test_a_database_without_a_shared_log_is_refused(server: URL) -> None:
    with new_database(server) as url:
        log = PostgresSharedLog(text_of(url), accept_hollow=True)
        with pytest.raises(RequestError) as caught:
            await log.open()
        assert caught.value.code == "SHARED_LOG_NOT_FOUND"
        await log.close()


async def test_a_server_that_cannot_be_reached_did_nothing(database: URL) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        log = PostgresSharedLog(text_of(database.set(port=taken.getsockname()[1])))
        with pytest.raises(UnavailableError) as caught:
            await log.append(claim_of(EMPTY, 1, bytes(NONCE_SIZE)), after=EMPTY)
    assert caught.value.outcome is Outcome.NOTHING
    await log.close()


async def test_a_reader_may_read_and_no_more(log: PostgresSharedLog, database: URL) -> None:
    at = await _led(log)
    role = f"reader_{secrets.token_hex(4)}"
    _execute(database, f"CREATE ROLE {role} LOGIN PASSWORD 'pw'")
    try:
        for table in ("shared_log", "shared_group", "shared_lease", "shared_member"):
            _execute(database, f"GRANT SELECT ON {table} TO {role}")
        async with _opened(database.set(username=role, password="pw")) as reader:
            assert await reader.end() == await reader.confirmed_end() == at
            assert [each.is_claim for each in await reader.read(0, 1_000)] == [True]
            with pytest.raises(StoreRefusesError, match="permission denied") as caught:
                await reader.append(_group(at), after=at)
            assert caught.value.outcome is Outcome.NOTHING
    finally:
        _execute(database, f"DROP OWNED BY {role}; DROP ROLE {role}")


async def test_connections_that_the_server_ends_are_made_anew(
    log: PostgresSharedLog, database: URL
) -> None:
    at = await _led(log)
    _execute(
        database,
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE datname = current_database() AND pid <> pg_backend_pid()",
    )
    with pytest.raises(UnavailableError):
        await log.confirmed_end()
    assert await log.confirmed_end() == at
    mine = _group(at)
    await _unknown(log.append(mine, after=at))
    at = (await Settlement(mine, after=at).attempt(log)).end
    await log.append(_group(at), after=at)


async def test_a_held_snapshot_makes_no_append_slower(
    log: PostgresSharedLog, database: URL
) -> None:
    """An append reads as many pages after 2,000 others as after 200, while a snapshot is held."""
    at = await _led(log)
    read: list[int] = []
    with psycopg.connect(text_of(database)) as other:
        other.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        other.execute("SELECT count(*) FROM shared_group")
        for count in range(1, 2_001):
            mine = _group(at)
            await log.append(mine, after=at)
            at = mine.end
            if count in (200, 2_000):
                read.append(await _blocks_of_an_append(database, at))
    assert read[1] <= read[0] + 3  # the index may have grown by a level


async def _blocks_of_an_append(database: URL, at: Position) -> int:
    """Return how many pages the statement of an append touches; it is rolled back."""
    values = {
        "number": at.number,
        "epoch": at.epoch,
        "nonce": bytes(NONCE_SIZE),
        "end_offset": at.end_offset + 1,
        "crc32c": 1,
        "entries": b"x",
        "after_epoch": at.epoch,
        "after_end_offset": at.end_offset,
        "after_crc32c": at.crc32c,
    }
    explain = f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {module._APPEND}"
    async with await psycopg.AsyncConnection.connect(text_of(database)) as connection:
        cursor = await connection.execute(explain.encode(), values)
        ((plan,),) = await cursor.fetchall()
        await connection.rollback()
    found = plan[0]["Plan"]
    return int(found["Shared Hit Blocks"] + found["Shared Read Blocks"])


async def test_a_network_that_is_cut_leaves_the_outcome_unknown(
    database: URL, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection_module, "STATEMENT_TIMEOUT_S", 1.0)
    with _Cable(str(database.host), database.port or 0) as cable:
        async with _opened(database.set(port=cable.port)) as log:
            at = await _led(log)
            cable.cut()
            started = time.monotonic()
            await _unknown(log.append(_group(at), after=at))
            assert time.monotonic() - started < 5
            cable.mend()
            assert await log.confirmed_end() == at


class _Cable:
    """A port through which bytes go to another, until it is cut: then they go nowhere."""

    def __init__(self, host: str, port: int) -> None:
        self._target = (host, port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._is_whole = threading.Event()
        self._is_whole.set()
        self._sockets: list[socket.socket] = []

    def __enter__(self) -> "_Cable":
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_whole.set()
        for each in (self._listener, *self._sockets):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def cut(self) -> None:
        self._is_whole.clear()

    def mend(self) -> None:
        self._is_whole.set()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                far = socket.create_connection(self._target)
                self._sockets += [near, far]
                for pair in ((near, far), (far, near)):
                    threading.Thread(target=self._pump, args=pair, daemon=True).start()

    def _pump(self, source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65_536):
                if self._is_whole.is_set():
                    target.sendall(data)
        with contextlib.suppress(OSError):
            target.shutdown(socket.SHUT_RDWR)
