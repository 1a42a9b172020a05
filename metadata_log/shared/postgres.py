"""A shared log in PostgreSQL.

One statement fences and appends: it inserts the row of a group if the row before it is the one the
writer knows, and has the writer's epoch. The primary key decides between several writers. No row is
ever updated by an append, so a snapshot that another application holds for hours leaves no old
versions of a row behind for each append to pass over.

Each operation is one statement, and sets itself what it needs, so a pooler may give the connection
away between two of them.

What a commit is worth is up to the server's settings (`Durability`), which each append returns.
PostgreSQL commits locally before it waits for its standbys. If that wait is cancelled, or the
server restarts, the commit is reported as a success with a warning, and everybody sees rows that no
standby has. Hence the warning, and every error after a statement was sent, make the outcome
unknown.
"""

import asyncio
import contextlib
import logging
import os
import socket
from collections.abc import AsyncIterator, Sequence
from functools import partial
from typing import Any

import msgspec

from metadata_log.shared.identity import Identity
from metadata_log.shared.shared_log import (
    EMPTY,
    GROUP_SIZE_BYTES_MAX,
    Entry,
    Group,
    Lease,
    Position,
    check_follows,
    no_shared_log,
    other_shared_log,
)
from records.errors import (
    FencedError,
    MetadataLogError,
    Outcome,
    RequestError,
    UnavailableError,
    UnknownHistoryError,
)

try:
    import psycopg
except ImportError as error:
    raise RequestError(
        "INVALID_REQUEST",
        "a shared log in PostgreSQL needs the extra `postgres`: "
        "pip install 'metadata-log[postgres]'",
    ) from error

_LOG = logging.getLogger(__name__)

STATEMENT_TIMEOUT_S = 10.0
"""Time until a statement without an answer has an unknown outcome."""

_POLL_S = 0.25
"""How often a follower looks whether there is more: a notification may be lost."""

_ROWS_MAX = 1_000
"""Groups read at once."""

_TRIMMED_AT_ONCE = 200
"""Rows of one deletion, so that none holds locks or fills the write-ahead log for long."""

_CHANNEL = "metalog_shared_log"

_CONNECTION = {
    "application_name": "metalog",
    "client_encoding": "utf8",
    "connect_timeout": "5",
    "keepalives_idle": "5",
    "keepalives_interval": "2",
    "keepalives_count": "3",
    "tcp_user_timeout": "10000",
}
"""As libpq's parameters; what the URL says comes first."""

_CANCELLED_WAIT = "01000"
"""SQLSTATE of the warning of a commit that no standby has confirmed."""

# A CTE is only run if something reads it.
_DURABLE = "durable AS MATERIALIZED (SELECT set_config('synchronous_commit', 'on', true))"

_SETTINGS = (
    "current_setting('fsync'), current_setting('full_page_writes'), "
    "current_setting('synchronous_standby_names')"
)

# The lock on the row before stops a trim that is under way from freeing the number.
_APPEND = f"""
WITH {_DURABLE}, previous AS MATERIALIZED (
  SELECT 1 FROM shared_group
  WHERE number = %(number)s - 1 AND epoch = %(after_epoch)s
    AND end_offset = %(after_end_offset)s AND crc32c = %(after_crc32c)s
  FOR KEY SHARE
)
INSERT INTO shared_group (number, epoch, nonce, end_offset, crc32c, entries)
SELECT %(number)s, %(epoch)s, %(nonce)s, %(end_offset)s, %(crc32c)s, %(entries)s
FROM durable
WHERE EXISTS (SELECT FROM previous)
   OR (%(number)s = 0 AND NOT EXISTS (SELECT FROM shared_group))
ON CONFLICT (number) DO NOTHING
RETURNING {_SETTINGS}
"""

_CREATE = """
INSERT INTO shared_log (id, cluster_id, log_id) VALUES (1, %(cluster_id)s, %(log_id)s)
ON CONFLICT (id) DO NOTHING RETURNING id
"""

_COLUMNS = "number, epoch, nonce, end_offset, crc32c, entries"

_END = "SELECT number, epoch, end_offset, crc32c FROM shared_group ORDER BY number DESC LIMIT 1"

# A message in the write-ahead log makes the commit wait for the standbys, and so for all that the
# statement sees, without a row that changes.
_CONFIRMED_END = f"""
WITH {_DURABLE}, sent AS MATERIALIZED (
  SELECT pg_logical_emit_message(true, '{_CHANNEL}', '') FROM durable
), last AS ({_END})
SELECT last.* FROM sent LEFT JOIN last ON true
"""

_COMMITTED_NONCE = f"""
WITH {_DURABLE}, sent AS MATERIALIZED (
  SELECT pg_logical_emit_message(true, '{_CHANNEL}', '') FROM durable
)
SELECT nonce FROM sent JOIN shared_group ON number = %(number)s
"""

_READ = f"""
SELECT {_COLUMNS} FROM (
  SELECT {_COLUMNS}, sum(octet_length(entries)) OVER (ORDER BY number) AS total,
    row_number() OVER (ORDER BY number) AS place
  FROM (
    SELECT {_COLUMNS} FROM shared_group WHERE number >= %(number)s
    ORDER BY number LIMIT {_ROWS_MAX}
  ) wanted
) counted
WHERE place = 1 OR total <= %(size)s
ORDER BY number
"""

_START = "SELECT number FROM shared_group ORDER BY number LIMIT 1"

_TRIM = f"""
DELETE FROM shared_group WHERE number IN (
  SELECT number FROM shared_group
  WHERE number < %(number)s AND number < (SELECT max(number) FROM shared_group)
  ORDER BY number LIMIT {_TRIMMED_AT_ONCE}
)
"""

_LEASE = "SELECT lease FROM shared_lease WHERE id = 1"

_FIRST_LEASE = """
INSERT INTO shared_lease (id, nonce, lease) VALUES (1, %(nonce)s, %(lease)s)
ON CONFLICT (id) DO NOTHING RETURNING id
"""

_RENEWED_LEASE = """
UPDATE shared_lease SET nonce = %(nonce)s, lease = %(lease)s
WHERE id = 1 AND nonce = %(before)s RETURNING id
"""


class Durability(msgspec.Struct, frozen=True):
    """What a commit of this server means.

    Attributes:
        fsync: Whether commits reach the server's disk.
        full_page_writes: Whether a crash cannot tear a page.
        standby_names: `synchronous_standby_names`: the standbys that confirm each commit; empty if
            there is one server only.
    """

    fsync: str
    full_page_writes: str
    standby_names: str

    def missing(self, agreed: "Durability | None" = None) -> str | None:
        """Return why an acknowledgement would be hollow; None if it is not.

        Args:
            agreed: What the server promised when it was opened.
        """
        if self.fsync != "on":
            return "fsync is off: a power loss takes acknowledged records"
        if self.full_page_writes != "on":
            return "full_page_writes is off: a power loss damages acknowledged records"
        if agreed is not None and agreed.standby_names and not self.standby_names:
            return (
                "synchronous_standby_names is empty now: no standby has what is acknowledged "
                "(with Patroni: set synchronous_mode_strict)"
            )
        return None


class PostgresSharedLog:
    """One node's connections to a shared log in PostgreSQL."""

    def __init__(self, url: str, *, accept_hollow: bool = False) -> None:
        """Prepare to connect.

        Args:
            url: `postgresql://USER@HOST/DB`, or libpq's parameters.
            accept_hollow: Trust a server whose settings promise no durable commits, because it is a
                managed one that makes them durable by other means.
        """
        self._accepts_hollow = accept_hollow
        self._agreed: Durability | None = None
        # One for writing, so that a long read delays no append.
        self._writing = _Connection(url)
        self._reading = _Connection(url)
        self._listening = _Connection(url)
        self._notifying = _Notifier(_Connection(url))

    async def open(self) -> Durability:
        """Connect, and check what a commit is worth.

        Raises:
            RequestError: INVALID_REQUEST, an acknowledgement would be hollow, or the database has
                no shared log.
            UnavailableError: the server cannot be reached.
        """
        (row,) = await self._reading.run(f"SELECT {_SETTINGS}, to_regclass('shared_group')::text")
        *settings, found = row
        if found is None:
            raise no_shared_log("the database")
        durability = Durability(*settings)
        missing = durability.missing()
        if missing is not None and not self._accepts_hollow:
            raise RequestError("INVALID_REQUEST", f"this server cannot hold a log: {missing}")
        self._agreed = durability
        return durability

    async def create(self, identity: Identity) -> None:
        """Make this database one of a shared log, as `SharedLog.create`."""
        values = {"cluster_id": identity.cluster_id, "log_id": identity.log_id}
        if not await self._reading.run(_CREATE, values) and await self.identity() != identity:
            raise other_shared_log("the database")

    async def identity(self) -> Identity:
        """Return which shared log this is, as `SharedLog.identity`."""
        rows = await self._reading.run("SELECT cluster_id, log_id FROM shared_log")
        if not rows:
            raise no_shared_log("the database")
        return Identity(cluster_id=rows[0][0], log_id=rows[0][1])

    async def end(self) -> Position:
        """Return the end that the server shows, as `SharedLog.end`."""
        return _position(await self._reading.run(_END))

    async def confirmed_end(self) -> Position:
        """Return an end that is committed now, as `SharedLog.confirmed_end`."""
        rows = await self._reading.run(_CONFIRMED_END)
        return _position([row for row in rows if row[0] is not None])

    async def append(self, group: Group, *, after: Position) -> None:
        """Commit a group or a claim, as `SharedLog.append`."""
        check_follows(group, after)
        entries = msgspec.msgpack.encode(group.entries) if group.entries else b""
        assert len(entries) <= GROUP_SIZE_BYTES_MAX
        rows = await self._writing.run(
            _APPEND,
            {
                "number": group.number,
                "epoch": group.epoch,
                "nonce": group.nonce,
                "end_offset": group.end_offset,
                "crc32c": group.crc32c,
                "entries": entries,
                "after_epoch": after.epoch,
                "after_end_offset": after.end_offset,
                "after_crc32c": after.crc32c,
            },
        )
        if rows:
            self._check_durable(Durability(*rows[0]))
        elif await self._writing.run(_COMMITTED_NONCE, {"number": group.number}) != [
            (group.nonce,)
        ]:
            raise FencedError(
                f"the shared log has another group {group.number}, or does not end before it: "
                "another node has taken over",
                outcome=Outcome.NOTHING,
            )
        self._notifying.soon()

    async def read(self, number: int, size_bytes_max: int) -> Sequence[Group]:
        """Return groups from a number on, as `SharedLog.read`."""
        rows = await self._reading.run(_READ, {"number": number, "size": size_bytes_max})
        groups = [_group(row) for row in rows]
        if (not groups or groups[0].number != number) and number < (start := await self.start()):
            raise UnknownHistoryError(
                f"group {number} is trimmed; the shared log begins with group {start}"
            )
        return groups

    async def wait(self, number: int, timeout_s: float) -> bool:
        """Wait until there may be a group of that number, as `SharedLog.wait`."""
        loop = asyncio.get_running_loop()
        until = loop.time() + timeout_s
        while (await self.end()).number <= number:
            if (left_s := until - loop.time()) <= 0:
                return False
            await self._listening.notified(min(left_s, _POLL_S))
        return True

    async def start(self) -> int:
        """Return the number of the first group, as `SharedLog.start`."""
        rows = await self._reading.run(_START)
        return int(rows[0][0]) if rows else 0

    async def trim(self, number: int) -> None:
        """Remove groups before a number, as `SharedLog.trim`: oldest first, in small deletions."""
        while await self._reading.count(_TRIM, {"number": number}) == _TRIMMED_AT_ONCE:
            pass

    async def lease(self) -> Lease | None:
        """Return the lease, as `SharedLog.lease`."""
        rows = await self._reading.run(_LEASE)
        return msgspec.msgpack.decode(rows[0][0], type=Lease) if rows else None

    async def renew(self, lease: Lease, *, instead_of: Lease | None) -> bool:
        """Replace the lease, as `SharedLog.renew`."""
        values = {"nonce": lease.nonce, "lease": msgspec.msgpack.encode(lease)}
        if instead_of is None:
            return bool(await self._reading.run(_FIRST_LEASE, values))
        return bool(await self._reading.run(_RENEWED_LEASE, values | {"before": instead_of.nonce}))

    async def close(self) -> None:
        """End all connections."""
        await self._notifying.close()
        for connection in (self._writing, self._reading, self._listening):
            await connection.close()

    def _check_durable(self, durability: Durability) -> None:
        missing = durability.missing(self._agreed)
        if missing is not None and not self._accepts_hollow:
            raise FencedError(
                f"the server's settings have changed: {missing}; this node no longer leads",
                outcome=Outcome.UNKNOWN,
            )


class _Connection:
    """A connection that is made when it is needed, and given up after any error; one statement at a
    time.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self._turn = asyncio.Lock()
        self._connection: psycopg.AsyncConnection[Any] | None = None
        self._running: asyncio.Future[psycopg.AsyncCursor[Any]] | None = None
        self._warnings: list[str] = []

    async def run(self, statement: str, values: dict[str, Any] | None = None) -> list[Any]:
        """Run one statement as a transaction, and return its rows.

        Raises:
            UnavailableError: NOTHING, if the connection could not be made; else UNKNOWN.
            RequestError: the server refuses this user or statement; nothing happened.
        """
        async with self._turn, self._ran(statement, values) as cursor:
            return [] if cursor.description is None else await cursor.fetchall()

    async def count(self, statement: str, values: dict[str, Any]) -> int:
        """Run one statement, and return how many rows it changed; raises as `run`."""
        async with self._turn, self._ran(statement, values) as cursor:
            return cursor.rowcount

    async def notified(self, timeout_s: float) -> None:
        """Wait for a notification; a connection that fails is made anew the next time."""
        async with self._turn:
            try:
                if self._connection is None:
                    await self._connect()
                    await self._execute(f"LISTEN {_CHANNEL}", None)
                assert self._connection is not None
                async for _ in self._connection.notifies(timeout=timeout_s, stop_after=1):
                    return
            except (MetadataLogError, psycopg.Error):
                self._abandon()
                await asyncio.sleep(timeout_s)

    async def close(self) -> None:
        """Close the connection."""
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()

    @contextlib.asynccontextmanager
    async def _ran(
        self, statement: str, values: dict[str, Any] | None
    ) -> AsyncIterator["psycopg.AsyncCursor[Any]"]:
        if self._connection is None:
            await self._connect()
        self._warnings.clear()
        try:
            cursor = await self._execute(statement, values)
        except psycopg.Error as error:
            self._abandon()
            raise _named(error) from error
        except BaseException:
            # Also when the caller is cancelled: the statement may still be under way.
            self._abandon()
            raise
        if self._warnings:
            warning = self._warnings[0]
            self._abandon()
            raise UnavailableError(
                f"the server committed without its standbys: {warning}", outcome=Outcome.UNKNOWN
            )
        async with cursor:
            yield cursor

    async def _connect(self) -> None:
        connecting = asyncio.ensure_future(_connected(self._url))
        try:
            self._connection = await asyncio.shield(connecting)
        except psycopg.Error as error:
            raise _named(error).with_outcome(Outcome.NOTHING) from error
        except asyncio.CancelledError:
            # Cancelled half-way, the server would wait for the rest of the login for a minute.
            connecting.add_done_callback(_finish_unused)
            raise
        self._connection.add_notice_handler(self._noticed)

    async def _execute(
        self, statement: str, values: dict[str, Any] | None
    ) -> "psycopg.AsyncCursor[Any]":
        """Run a statement for a limited time.

        psycopg would cancel a statement whose time is over and then wait for its answer, for ever
        if the network is cut, and a cancelled wait for standbys is a success without them. So the
        statement is left to itself.
        """
        assert self._connection is not None
        cursor = self._connection.cursor(binary=True)
        self._running = asyncio.ensure_future(cursor.execute(statement.encode(), values))
        done, _ = await asyncio.wait({self._running}, timeout=STATEMENT_TIMEOUT_S)
        if not done:
            raise psycopg.OperationalError(f"no answer within {STATEMENT_TIMEOUT_S:.0f} s")
        return await self._running

    def _abandon(self) -> None:
        """Hang up, without asking the server for anything; what still runs ends by itself."""
        connection, self._connection = self._connection, None
        running, self._running = self._running, None
        if connection is None or connection.closed:
            return
        with contextlib.suppress(OSError), socket.socket(fileno=os.dup(connection.fileno())) as end:
            end.shutdown(socket.SHUT_RDWR)
        if running is None or running.done():
            connection.pgconn.finish()
        else:
            running.add_done_callback(partial(_finish, connection))

    def _noticed(self, notice: "psycopg.errors.Diagnostic") -> None:
        if notice.sqlstate == _CANCELLED_WAIT:
            self._warnings.append(notice.message_primary or "a warning without text")


class _Notifier:
    """Tells the followers that there is more, some time after each append.

    On a connection of its own: a notification in a commit that waits for standbys makes all other
    notifying commits of the server wait, too. One at a time, for all appends since the last.
    """

    def __init__(self, connection: _Connection) -> None:
        self._connection = connection
        self._is_due = False
        self._task: asyncio.Task[None] | None = None

    def soon(self) -> None:
        """Let the followers know."""
        self._is_due = True
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run())

    async def close(self) -> None:
        """Stop, after the notification that is under way."""
        self._is_due = False
        if self._task is not None:
            await asyncio.gather(self._task, return_exceptions=True)
        await self._connection.close()

    async def _run(self) -> None:
        while self._is_due:
            self._is_due = False
            try:
                await self._connection.run(
                    "SELECT set_config('synchronous_commit', 'off', true), "
                    f"pg_notify('{_CHANNEL}', '')"
                )
            except MetadataLogError as error:
                _LOG.debug("followers were not notified: %s", error)


async def _connected(url: str) -> "psycopg.AsyncConnection[Any]":
    parameters: dict[str, Any] = _CONNECTION | psycopg.conninfo.conninfo_to_dict(url)
    return await psycopg.AsyncConnection.connect(
        psycopg.conninfo.make_conninfo(**parameters),
        autocommit=True,
        # A transaction pooler gives each statement another session.
        prepare_threshold=None,
    )


def _finish_unused(connecting: "asyncio.Future[psycopg.AsyncConnection[Any]]") -> None:
    if not connecting.cancelled() and connecting.exception() is None:
        connecting.result().pgconn.finish()


def _finish(connection: "psycopg.AsyncConnection[Any]", running: "asyncio.Future[Any]") -> None:
    """Close a connection on which nobody waits for an answer any more."""
    if not running.cancelled():
        running.exception()
    connection.pgconn.finish()


def _named(error: "psycopg.Error") -> MetadataLogError:
    """Return the error of this project for one of the server, or of the connection to it."""
    reason = str(error).partition("\n")[0]
    sqlstate = error.sqlstate or ""
    if sqlstate[:2] in ("28", "3D", "3F", "42", "22"):
        return RequestError("INVALID_REQUEST", f"the server refuses this: {reason}")
    return UnavailableError(f"the shared log's server: {reason}", outcome=Outcome.UNKNOWN)


def _position(rows: Sequence[Any]) -> Position:
    if not rows:
        return EMPTY
    number, epoch, end_offset, crc32c = rows[0]
    return Position(number=number + 1, epoch=epoch, end_offset=end_offset, crc32c=crc32c)


def _group(row: Any) -> Group:
    number, epoch, nonce, end_offset, crc32c, entries = row
    return Group(
        number=number,
        epoch=epoch,
        nonce=nonce,
        end_offset=end_offset,
        crc32c=crc32c,
        entries=msgspec.msgpack.decode(entries, type=tuple[Entry, ...]) if entries else (),
    )
