"""Connections to PostgreSQL whose errors tell the outcome of a statement.

A statement that got no answer in time is left running, because cancelling it could make a commit
succeed without its standbys.
"""

import asyncio
import contextlib
import logging
import os
import socket
from collections.abc import AsyncIterator
from functools import partial
from typing import Any

from metadata_log.shared.refusal import StoreRefusesError
from records.errors import MetadataLogError, Outcome, RequestError, UnavailableError

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
"""Seconds after which the outcome of a statement without an answer counts as unknown."""

CHANNEL = "metalog_shared_log"

_CONNECTION = {
    "application_name": "metalog",
    "client_encoding": "utf8",
    "connect_timeout": "5",
    "keepalives_idle": "5",
    "keepalives_interval": "2",
    "keepalives_count": "3",
    "tcp_user_timeout": "10000",
}
"""Default parameters of libpq; parameters in the URL take precedence."""

_PORT = "5432"

_PAUSE_S = 0.005
"""Pause after a notification."""

_NOTIFY = f"SELECT set_config('synchronous_commit', 'off', true), pg_notify('{CHANNEL}', %(text)s)"

_CANCELLED_WAIT = "01000"
"""SQLSTATE of the warning of a commit that no standby has confirmed."""


class Servers:
    """The servers of a URL, in the order in which connections try them: the last good one first.

    An attempt to connect to a machine that was cut off takes the whole timeout. After a fail-over,
    only one of a node's connections should wait for this timeout.
    """

    def __init__(self, url: str) -> None:
        self._parameters: dict[str, Any] = _CONNECTION | psycopg.conninfo.conninfo_to_dict(url)

    def parameters(self) -> str:
        """Return libpq's parameters for the next connection."""
        return psycopg.conninfo.make_conninfo(**self._parameters)

    def found(self, host: str, port: int) -> None:
        """From now on, try this server first: a connection to it was just made."""
        hosts = str(self._parameters.get("host", "")).split(",")
        ports = str(self._parameters.get("port", "")).split(",")
        places = list(zip(hosts, ports * len(hosts) if len(ports) == 1 else ports, strict=False))
        if len(places) == 1 or "hostaddr" in self._parameters:
            return
        places.sort(key=lambda place: place[0] != host or (place[1] or _PORT) != str(port))
        self._parameters["host"] = ",".join(place[0] for place in places)
        self._parameters["port"] = ",".join(place[1] for place in places)


class Connection:
    """A connection that is made when it is needed, and given up after any error; one statement at a
    time.
    """

    def __init__(self, servers: Servers) -> None:
        self._servers = servers
        self._turn = asyncio.Lock()
        self._connection: psycopg.AsyncConnection[Any] | None = None
        self._running: asyncio.Future[psycopg.AsyncCursor[Any]] | None = None
        self._warnings: list[str] = []

    async def run(self, statement: str, values: dict[str, Any] | None = None) -> list[Any]:
        """Run one statement as a transaction, and return its rows.

        Raises:
            UnavailableError: with outcome NOTHING if the connection could not be made, else
                UNKNOWN.
            StoreRefusesError: the server refuses this user or statement; nothing happened.
        """
        async with self._turn, self._ran(statement, values) as cursor:
            return [] if cursor.description is None else await cursor.fetchall()

    async def count(self, statement: str, values: dict[str, Any]) -> int:
        """Run one statement, and return how many rows it changed; raises as `run`."""
        async with self._turn, self._ran(statement, values) as cursor:
            return cursor.rowcount

    async def notified(self, timeout_s: float) -> list[str] | None:
        """Wait for a notification; return the text of it, and of those that came with it.

        Returns None at the end of the time, or at once if it begins to listen now: what was told
        before is lost. A connection that fails is replaced by a new one on the next use.
        """
        async with self._turn:
            try:
                if self._connection is None:
                    await self._connect()
                    await self._execute(f"LISTEN {CHANNEL}", None)
                    return None
                arriving = self._connection.notifies(timeout=timeout_s, stop_after=1)
                return [notification.payload async for notification in arriving] or None
            except (MetadataLogError, psycopg.Error):
                self._abandon()
                await asyncio.sleep(timeout_s)
                return None

    async def close_unused(self) -> None:
        """Close the connection, unless something runs on it; its next use connects anew."""
        if not self._turn.locked():
            await self.close()

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
        connecting = asyncio.ensure_future(_connected(self._servers))
        try:
            self._connection = await asyncio.shield(connecting)
        except psycopg.Error as error:
            raise _named(error).with_outcome(Outcome.NOTHING) from error
        except asyncio.CancelledError:
            # Cancelled half-way, the server would wait for the rest of the login for a minute.
            connecting.add_done_callback(_finish_unused)
            raise
        self._servers.found(self._connection.info.host, self._connection.info.port)
        self._connection.add_notice_handler(self._noticed)

    async def _execute(
        self, statement: str, values: dict[str, Any] | None
    ) -> "psycopg.AsyncCursor[Any]":
        """Run a statement for a limited time.

        On a timeout, psycopg would cancel the statement and wait for its answer: forever if the
        network is cut. Cancelling also ends a commit's wait for the standbys, and PostgreSQL then
        reports success without them. So the statement is left running.
        """
        assert self._connection is not None
        cursor = self._connection.cursor(binary=True)
        self._running = asyncio.ensure_future(cursor.execute(statement.encode(), values))
        done, _ = await asyncio.wait({self._running}, timeout=STATEMENT_TIMEOUT_S)
        if not done:
            raise psycopg.OperationalError(f"no answer within {STATEMENT_TIMEOUT_S:.0f} s")
        return await self._running

    def _abandon(self) -> None:
        """Cut the connection without asking the server; a running statement ends by itself."""
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


class Notifier:
    """Notifies the followers of new groups, some time after each append.

    It has a connection of its own: a notification in a commit that waits for standbys makes all
    other notifying commits of the server wait, too. It sends one notification at a time, for all
    appends since the previous one, and pauses after each, because every node reads whenever it is
    notified.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._due: str | None = None
        self._task: asyncio.Task[None] | None = None

    def soon(self, text: str) -> None:
        """Notify the followers, after the notification in progress if there is one; do not wait.

        Args:
            text: What the notification tells, unless a later call replaces it.
        """
        self._due = text
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run())

    async def close(self) -> None:
        """Stop, after the notification that is under way."""
        self._due = None
        if self._task is not None:
            await asyncio.gather(self._task, return_exceptions=True)
        await self._connection.close()

    async def _run(self) -> None:
        while self._due is not None:
            text, self._due = self._due, None
            try:
                await self._connection.run(_NOTIFY, {"text": text})
            except MetadataLogError as error:
                _LOG.debug("followers were not notified: %s", error)
            await asyncio.sleep(_PAUSE_S)


async def _connected(servers: Servers) -> "psycopg.AsyncConnection[Any]":
    return await psycopg.AsyncConnection.connect(
        servers.parameters(),
        autocommit=True,
        # A transaction pooler gives each statement another session.
        prepare_threshold=None,
    )


def _finish_unused(connecting: "asyncio.Future[psycopg.AsyncConnection[Any]]") -> None:
    if not connecting.cancelled() and connecting.exception() is None:
        connecting.result().pgconn.finish()


def _finish(connection: "psycopg.AsyncConnection[Any]", running: "asyncio.Future[Any]") -> None:
    """Close a connection whose answers are no longer awaited."""
    if not running.cancelled():
        running.exception()
    connection.pgconn.finish()


def _named(error: "psycopg.Error") -> MetadataLogError:
    """Convert an error of the server, or of the connection to it, into one of this project."""
    reason = str(error).partition("\n")[0]
    sqlstate = error.sqlstate or ""
    if sqlstate[:2] in ("28", "3D", "3F", "42", "22"):
        return StoreRefusesError(f"the PostgreSQL server refuses the request: {reason}")
    return UnavailableError(f"the shared log's server: {reason}", outcome=Outcome.UNKNOWN)
