"""A shared log in PostgreSQL.

One statement fences and appends: it inserts the row of a group if the row before it is the one the
writer knows, and has the writer's epoch. The primary key decides between several writers. An append
never updates a row. So even while another application holds a snapshot for hours, no old versions
of a row pile up that each append would have to skip.

Each operation is one statement that also makes its own settings, so a connection pooler may give
the connection to another client between two operations.

How durable a commit is depends on the server's settings (`Durability`), which each append returns.
PostgreSQL commits locally before it waits for its standbys. If that wait is cancelled, or the
server restarts, the commit is reported as a success with a warning, and everybody sees rows that no
standby has. Hence the warning, and every error after a statement was sent, make the outcome
unknown.
"""

import asyncio
from collections.abc import Sequence
from typing import Any

import msgspec

from metadata_log.shared.identity import Identity
from metadata_log.shared.postgres_connection import CHANNEL, Connection, Notifier, Servers
from metadata_log.shared.postgres_durability import Durability
from metadata_log.shared.postgres_rows import (
    group_of,
    notification_of,
    position_of,
    told_by,
    values_of,
)
from metadata_log.shared.shared_log import (
    CommittedGroups,
    Group,
    Lease,
    Member,
    OtherHeartbeatError,
    Position,
    check_follows,
    fenced_group,
    missing_group,
    no_shared_log,
    not_lost,
    other_shared_log,
    trimmed_group,
)
from records.errors import FencedError, Outcome, RequestError

_POLL_S = 0.25
"""Pause before a follower polls again for new groups, because a notification may be lost."""

_ROWS_MAX = 1_000
"""Maximum number of groups of batches that one query reads."""

_TRIMMED_AT_ONCE = 200
"""Maximum rows of one deletion; more would hold locks and fill the write-ahead log for long."""

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

_ENDS = 4
"""Columns of an end."""

_END = "SELECT number, epoch, end_offset, crc32c FROM shared_group ORDER BY number DESC LIMIT 1"

# A message in the write-ahead log makes the commit wait for the standbys, and so for all that the
# statement sees, without a row that changes.
_CONFIRMED_END = f"""
WITH {_DURABLE}, sent AS MATERIALIZED (
  SELECT pg_logical_emit_message(true, '{CHANNEL}', '') FROM durable
), last AS ({_END})
SELECT last.* FROM sent LEFT JOIN last ON true
"""

_COMMITTED_NONCE = f"""
WITH {_DURABLE}, sent AS MATERIALIZED (
  SELECT pg_logical_emit_message(true, '{CHANNEL}', '') FROM durable
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

# What the snapshot has was in the write-ahead log before the message is.
_READ_COMMITTED = f"""
WITH {_DURABLE}, sent AS MATERIALIZED (
  SELECT pg_logical_emit_message(true, '{CHANNEL}', '') FROM durable
), last AS ({_END}), found AS ({_READ})
SELECT last.number, last.epoch, last.end_offset, last.crc32c, found.*
FROM sent LEFT JOIN last ON true LEFT JOIN found ON true
ORDER BY found.number
"""

_START = "SELECT number FROM shared_group ORDER BY number LIMIT 1"

_SIZE = "SELECT pg_table_size('shared_group')"

_TRIM = f"""
DELETE FROM shared_group WHERE number IN (
  SELECT number FROM shared_group
  WHERE number < %(number)s AND number < (SELECT max(number) FROM shared_group)
  ORDER BY number LIMIT {_TRIMMED_AT_ONCE}
)
"""

_LOST = """
SELECT number + 1, following FROM (
  SELECT number, lead(number) OVER (ORDER BY number) AS following FROM shared_group
) pairs
WHERE following > number + 1 ORDER BY number
"""

# Without the group before it, it would be put below what is trimmed by now.
_PUT_BACK = f"""
WITH {_DURABLE}, previous AS MATERIALIZED (
  SELECT 1 FROM shared_group WHERE number = %(number)s - 1 FOR KEY SHARE
)
INSERT INTO shared_group (number, epoch, nonce, end_offset, crc32c, entries)
SELECT %(number)s, %(epoch)s, %(nonce)s, %(end_offset)s, %(crc32c)s, %(entries)s
FROM durable WHERE EXISTS (SELECT FROM previous)
ON CONFLICT (number) DO NOTHING
RETURNING {_SETTINGS}
"""

_LEASE = "SELECT lease FROM shared_lease WHERE id = 1"

# A fail-over must not take a lease back by which a leader answers.
_FIRST_LEASE = f"""
WITH {_DURABLE}
INSERT INTO shared_lease (id, nonce, lease) SELECT 1, %(nonce)s, %(lease)s FROM durable
ON CONFLICT (id) DO NOTHING RETURNING id
"""

_RENEWED_LEASE = f"""
WITH {_DURABLE}
UPDATE shared_lease SET nonce = %(nonce)s, lease = %(lease)s FROM durable
WHERE id = 1 AND nonce = %(before)s RETURNING id
"""

# What a node says of itself is worth no wait for standbys.
_REGISTER = """
WITH hurried AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true))
INSERT INTO shared_member (node_id, registered_at, content)
SELECT %(node_id)s, clock_timestamp(), %(content)s FROM hurried
ON CONFLICT (node_id) DO UPDATE
  SET registered_at = excluded.registered_at, content = excluded.content
  WHERE %(before)s::bytea IS NULL OR shared_member.content = %(before)s
RETURNING (extract(epoch FROM registered_at) * 1000)::bigint
"""

_HEARTBEAT = "SELECT content FROM shared_member WHERE node_id = %(node_id)s"

_MEMBERS = """
SELECT node_id, content,
  greatest(extract(epoch FROM clock_timestamp() - registered_at) * 1000, 0)::bigint
FROM shared_member ORDER BY node_id
"""

_UNREGISTER = "DELETE FROM shared_member WHERE node_id = %(node_id)s"


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
        self._log_id = ""
        # One for writing, so that a long read delays no append.
        servers = Servers(url)
        self._writing = Connection(servers)
        self._reading = Connection(servers)
        self._listening = Connection(servers)
        self._notifying = Notifier(Connection(servers))

    async def open(self) -> Durability:
        """Connect, and check how durable the server's commits are.

        Raises:
            RequestError: INVALID_REQUEST, the server's settings could lose acknowledged records; or
                the database has no shared log.
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
        """Initialize this database for a new shared log, as `SharedLog.create`."""
        values = {"cluster_id": identity.cluster_id, "log_id": identity.log_id}
        if not await self._reading.run(_CREATE, values) and await self.identity() != identity:
            raise other_shared_log("the database")
        self._log_id = identity.log_id

    async def identity(self) -> Identity:
        """Return which shared log this is, as `SharedLog.identity`."""
        rows = await self._reading.run("SELECT cluster_id, log_id FROM shared_log")
        if not rows:
            raise no_shared_log("the database")
        identity = Identity(cluster_id=rows[0][0], log_id=rows[0][1])
        self._log_id = identity.log_id
        return identity

    async def end(self) -> Position:
        """Return the end that the server shows, as `SharedLog.end`."""
        return position_of(await self._reading.run(_END))

    async def confirmed_end(self) -> Position:
        """Return an end that is committed now, as `SharedLog.confirmed_end`."""
        rows = await self._reading.run(_CONFIRMED_END)
        return position_of([row for row in rows if row[0] is not None])

    async def append(self, group: Group, *, after: Position) -> None:
        """Commit a group of batches or a claim, as `SharedLog.append`."""
        check_follows(group, after)
        rows = await self._writing.run(
            _APPEND,
            {
                **values_of(group),
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
            raise fenced_group(group.number)
        # Who appends reads no notifications, and PostgreSQL keeps those of all its databases until
        # each listener has read them.
        await self._listening.close_unused()
        self._notifying.soon(notification_of(self._log_id, group.end))

    async def read(self, number: int, size_bytes_max: int) -> Sequence[Group]:
        """Return groups of batches from a number on, as `SharedLog.read`."""
        rows = await self._reading.run(_READ, {"number": number, "size": size_bytes_max})
        return await self._whole(number, rows)

    async def read_committed(self, number: int, size_bytes_max: int) -> CommittedGroups:
        """Return an end and groups before it, as `SharedLog.read_committed`, by one statement."""
        values = {"number": number, "size": size_bytes_max}
        rows = await self._reading.run(_READ_COMMITTED, values)
        end = position_of([row[:_ENDS] for row in rows[:1] if row[0] is not None])
        found = [row[_ENDS:] for row in rows if row[_ENDS] is not None]
        return CommittedGroups(end, await self._whole(number, found) if found else [])

    async def _whole(self, number: int, rows: Sequence[Any]) -> list[Group]:
        """Return the groups of rows, up to a gap; errors as `SharedLog.read`."""
        groups = [group_of(row) for place, row in enumerate(rows) if row[0] == number + place]
        if not groups and number < (start := await self.start()):
            raise trimmed_group(number, start)
        if rows and not groups:
            raise missing_group(number, "the table shared_group")
        return groups

    async def wait(self, number: int, timeout_s: float) -> Position:
        """Wait for a group of this number, as `SharedLog.wait`."""
        loop = asyncio.get_running_loop()
        until = loop.time() + timeout_s
        while True:
            end = await self._told(number, min(until, loop.time() + _POLL_S))
            if end is None:
                end = await self.end()
            if end.number > number or loop.time() >= until:
                return end

    async def _told(self, number: int, until_s: float) -> Position | None:
        """Return the end of a log with this group that a notification tells; None: ask the store.

        Late notifications, and those of others, are passed over. An empty one tells no end: it is
        of release 0.1.0.
        """
        loop = asyncio.get_running_loop()
        while (left_s := until_s - loop.time()) > 0:
            told = await self._listening.notified(left_s)
            if told is None or "" in told:
                return None
            end = told_by(told, self._log_id)
            if end.number > number:
                return end
        return None

    async def start(self) -> int:
        """Return the number of the first kept group of batches, as `SharedLog.start`."""
        rows = await self._reading.run(_START)
        return int(rows[0][0]) if rows else 0

    async def size_bytes(self) -> int:
        """Return the size of the groups' table on the server's disk, as `SharedLog.size_bytes`."""
        return int((await self._reading.run(_SIZE))[0][0])

    async def trim(self, number: int) -> None:
        """Remove groups before a number, as `SharedLog.trim`: oldest first, in small deletions."""
        while await self._reading.count(_TRIM, {"number": number}) == _TRIMMED_AT_ONCE:
            pass

    async def last_trimmed(self) -> Group | None:
        """Return None: the kept groups begin with the first row, so that one cannot be lost."""
        return None

    async def lost(self) -> Sequence[range]:
        """Return the numbers of lost groups, as `SharedLog.lost`; reads all numbers."""
        return [range(*row) for row in await self._reading.run(_LOST)]

    async def put_back(self, group: Group) -> None:
        """Store a group that was lost, as `SharedLog.put_back`."""
        rows = await self._writing.run(_PUT_BACK, values_of(group))
        if not rows:
            raise not_lost(group.number)
        self._check_durable(Durability(*rows[0]))

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

    async def register(self, node_id: int, content: bytes, instead_of: bytes | None = None) -> int:
        """Store a node's heartbeat, as `SharedLog.register`."""
        values = {"node_id": node_id, "content": content, "before": instead_of}
        while not (rows := await self._reading.run(_REGISTER, values)):
            for found in await self._reading.run(_HEARTBEAT, values):
                raise OtherHeartbeatError(found[0])
        return int(rows[0][0])

    async def members(self) -> Sequence[Member]:
        """Return the nodes that have registered, as `SharedLog.members`."""
        rows = await self._reading.run(_MEMBERS)
        return [Member(node_id=row[0], content=row[1], age_ms=row[2]) for row in rows]

    async def unregister(self, node_id: int) -> None:
        """Remove a node from the members, as `SharedLog.unregister`."""
        await self._reading.run(_UNREGISTER, {"node_id": node_id})

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
