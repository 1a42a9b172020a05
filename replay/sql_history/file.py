"""Reads the SQL history file in a log's directory through the standard library's sqlite3.

Of an object, only the offsets of the records that changed it come from the tables; the records
themselves are read from the log. Only the beginnings of outages are found in the states in the
tables, because they may be anywhere in the log. Reading never writes, and waits
at most 100 ms for a lock. Tables that are locked, damaged, of another release or of another log are
ignored, with a warning.
"""

import logging
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from metadata_log.position import Position
from records.base import Uuid
from records.errors import CorruptLogError, RequestError
from records.text import parse_uuid, uuid_text
from replay.image.configs import TOPIC
from replay.image.metadata import NAMESPACE_SEPARATOR
from replay.image.rules import RULES_VERSION
from replay.loader import BatchSource
from replay.snapshot.revision import HISTORY_REVISION, HISTORY_VERSION_TABLE
from replay.sql_history.outage_beginnings import outage_beginnings
from replay.time_travel.change_index import FoundChanges, FoundStates
from replay.time_travel.escapes import unescaped
from replay.time_travel.labels import config_resource
from replay.time_travel.objects import ObjectName

_LOG = logging.getLogger(__name__)

_WAIT_S = 0.1

# Reading one record at a place costs as much as searching about so many.
_RECORDS_PER_SEEK = 2_000


class HistoryFile:
    """The SQL history of a log in a SQLite file, which may be missing."""

    def __init__(self, path: Path, source: BatchSource) -> None:
        self._path = path
        self._source = source
        # The last position that was compared with the log.
        self._proven: Position | None = None

    def end_offset(self) -> int | None:
        """Return the tables' end offset, exclusive; None, with a warning, if they are unusable."""
        try:
            with _reading(self._path) as connection:
                return self._check(connection)
        except (sqlite3.Error, OSError, RequestError, CorruptLogError) as error:
            self._pass_over(error)
            return None

    def changes_of(
        self, name: ObjectName, ids: Collection[Uuid], end_offset: int
    ) -> FoundChanges | None:
        """Return the offsets of the records that changed an object; None if tables are unusable.

        `ids` and `end_offset` are as for `ChangeIndex`.
        """
        find = _FINDERS.get(name.kind.name)
        if find is None or not self._path.exists():
            return None
        start = self._source.history_start
        try:
            with _reading(self._path) as connection:
                end = min(self._check(connection), end_offset)
                limit = max(end - start, 0) // _RECORDS_PER_SEEK
                tables = _Tables(connection, end, limit)
                find(tables, name, ids)
        except (sqlite3.Error, RequestError, CorruptLogError) as error:
            self._pass_over(error)
            return None
        except (ValueError, OverflowError):
            # No object can have this name; reading the log says so.
            return None
        offsets = sorted(each for each in tables.offsets if each >= start)
        if tables.is_unsure or len(offsets) > limit:
            return None
        return FoundChanges(offsets, max(end, start))

    def outage_beginnings(self, at: int, assumed_min_isr: int | None) -> FoundStates | None:
        """Return the states from which the outages in progress before offset `at` began.

        Returns None if the tables end before `at`, do not determine the states, or are unusable.
        """
        start = self._source.history_start
        try:
            with _reading(self._path) as connection:
                if self._check(connection) < at:
                    return None
                return outage_beginnings(connection.execute, start, at, assumed_min_isr)
        except (sqlite3.Error, OSError, RequestError, CorruptLogError, ValueError) as error:
            self._pass_over(error)
            return None

    def _pass_over(self, error: Exception) -> None:
        _LOG.warning("SQL history in %s passed over: %s", self._path, error)

    def _check(self, connection: sqlite3.Connection) -> int:
        """Check that the tables are usable and belong to this log; return their end offset.

        Raises:
            RequestError: the tables are of another release, of other replay rules, or of another
                log.
        """
        query = f"SELECT version_num FROM {HISTORY_VERSION_TABLE}"
        (revision,) = connection.execute(query).fetchone() or [""]
        if revision != HISTORY_REVISION:
            raise RequestError(
                "UNSUPPORTED_VERSION",
                f"the schema is at revision {revision or 'none'}, this release reads "
                f"{HISTORY_REVISION}",
            )
        query = (
            "SELECT rules, cluster_id, start_offset, end_offset, leader_epoch, last_crc32c "
            "FROM history_position"
        )
        rules, cluster_id, start, end, epoch, crc = connection.execute(query).fetchone() or [0] * 6
        if rules != RULES_VERSION:
            raise RequestError("UNSUPPORTED_VERSION", "made under other replay rules, or empty")
        stored = Position(
            cluster_id=cluster_id, end_offset=end, leader_epoch=epoch, last_crc32c=crc
        )
        if stored != self._proven:
            self._prove(start, stored)
        return int(end)

    def _prove(self, start: int, stored: Position) -> None:
        source = self._source
        if not start <= source.history_start <= stored.end_offset <= source.end_offset:
            raise RequestError("WRONG_LOG", "the log has other offsets")
        if source.position(stored.end_offset).contradicts(stored):
            raise RequestError("WRONG_LOG", "of another log")
        self._proven = stored


_Finder = Callable[["_Tables", ObjectName, Collection[Uuid]], None]


class _Tables:
    """Collects offsets of records from the tables.

    Attributes:
        is_unsure: True if there are too many offsets, or if the tables do not determine which
            record of a transaction changed the object.
    """

    def __init__(self, connection: sqlite3.Connection, end: int, limit: int) -> None:
        self._connection = connection
        self._end = end
        self._limit = limit
        self.offsets: set[int] = set()
        self.is_unsure = False

    def rows(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        """Return the rows of a query."""
        return self._connection.execute(query, values).fetchall()

    def add(self, table: str, where: str = "TRUE", *values: Any) -> None:
        """Add the offsets of the records that began or ended the selected states."""
        found = self.rows(
            "SELECT record_offset, valid_from_offset, valid_to_offset "
            f"FROM {table} WHERE {where} LIMIT {self._limit + 1}",
            *values,
        )
        ends = {end for _, _, end in found if end is not None}
        # Where a transaction ended, one object may have been removed and another one created.
        self.is_unsure |= len(found) > self._limit or any(
            begin != record and begin in ends for record, begin, _ in found
        )
        self._add_begins((record, begin) for record, begin, _ in found)
        self._add_ends(ends.difference(begin for _, begin, _ in found))

    def add_partitions(self, topic_id: str, partition_id: int | None) -> None:
        """Add the offsets of the records that created or removed partitions of a topic.

        Args:
            partition_id: For this partition, the offsets of all records are added. None: for none.
        """
        found = self.rows(
            """
            SELECT * FROM (
              SELECT partition_id = ? AS is_asked, record_offset, valid_from_offset,
                valid_to_offset, LAG(valid_to_offset) OVER states AS before,
                LEAD(valid_from_offset) OVER states AS after
              FROM partition_version WHERE topic_id = ?
              WINDOW states AS (PARTITION BY topic_id, partition_id ORDER BY record_offset)
            )
            WHERE is_asked OR before IS NOT valid_from_offset OR after IS NOT valid_to_offset
            """,
            partition_id,
            topic_id,
        )
        self._add_begins(
            (record, begin)
            for is_asked, record, begin, _, before, _ in found
            if is_asked or before != begin
        )
        self._add_ends({end for *_, end, _, after in found if end not in (None, after)})

    def _add_begins(self, found: Iterable[tuple[int, int]]) -> None:
        self.offsets.update(record for record, begin in found if begin < self._end)

    def _add_ends(self, ends: Iterable[int]) -> None:
        for offset in ends:
            if offset >= self._end:
                continue
            # At the end of a transaction, any of its records may have been the one.
            self.is_unsure |= not self.rows('SELECT 1 FROM change WHERE "offset" = ?', offset)
            self.offsets.add(offset)


def _add_topics(tables: _Tables, topic: str, ids: Collection[Uuid]) -> list[str]:
    """Add the offsets of the records of all topics a name can refer to, and of their namespaces.

    Returns:
        The ids of the topics, as text.
    """
    texts = {uuid_text(each) for each in ids}
    namespace = ""
    if topic.startswith("@"):
        texts.add(uuid_text(parse_uuid(topic[1:])))
    else:
        namespace, _, last = unescaped(topic).rpartition(NAMESPACE_SEPARATOR)
        named = tables.rows("SELECT DISTINCT topic_id FROM topic_version WHERE name = ?", last)
        texts.update(topic_id for (topic_id,) in named)
    found = tables.rows("SELECT namespace_id FROM namespace_version WHERE name = ?", namespace)
    for topic_id in texts:
        tables.add("topic_version", "topic_id = ?", topic_id)
        found += tables.rows("SELECT namespace_id FROM topic_version WHERE topic_id = ?", topic_id)
    for namespace_id in {*texts, *(each for (each,) in found if each is not None)}:
        tables.add("namespace_version", "namespace_id = ?", namespace_id)
    return sorted(texts)


def _find_topic(tables: _Tables, name: ObjectName, ids: Collection[Uuid]) -> None:
    _add_of_topic(tables, name.name, None, ids)


def _find_partition(tables: _Tables, name: ObjectName, ids: Collection[Uuid]) -> None:
    topic, number = name.name.rsplit("/", 1)
    _add_of_topic(tables, topic, int(number), ids)


def _add_of_topic(
    tables: _Tables, topic: str, partition_id: int | None, ids: Collection[Uuid]
) -> None:
    for topic_id in _add_topics(tables, topic, ids):
        tables.add_partitions(topic_id, partition_id)
        # A record that removes partitions names several, which must exist.
        tables.add("pending_removal_version", "topic_id = ?", topic_id)


def _find_brokers(tables: _Tables, name: ObjectName, ids: Collection[Uuid]) -> None:
    if name.name == "*":
        tables.add("broker_version")
    else:
        tables.add("broker_version", "broker_id = ?", int(name.name))


def _find_deletion(tables: _Tables, name: ObjectName, ids: Collection[Uuid]) -> None:
    for topic_id in _add_topics(tables, name.name.rsplit("/", 2)[0], ids):
        tables.add("replica_deletion_version", "topic_id = ?", topic_id)


def _find_config(tables: _Tables, name: ObjectName, ids: Collection[Uuid]) -> None:
    resource_type, resource = config_resource(name.name)
    if resource_type == TOPIC:
        _add_topics(tables, resource, ids)
    where = "resource_type = ? AND resource_name = ?"
    tables.add("config_version", where, resource_type, unescaped(resource))


def _by(table: str, column: str, value: Callable[[str], Any]) -> _Finder:
    """Return a finder for objects whose key is a single column."""
    return lambda tables, name, _: tables.add(table, f"{column} = ?", value(name.name))


def _whole(*names: str) -> _Finder:
    """Return a finder that selects all objects in the given tables."""

    def find(tables: _Tables, name: ObjectName, ids: Collection[Uuid]) -> None:
        for table in names:
            tables.add(table)

    return find


def _id_text(name: str) -> str:
    return uuid_text(parse_uuid(name.removeprefix("@")))


# By kind of object. What they find includes what `reach` takes, as far as it can matter.
_FINDERS: dict[str, _Finder] = {
    "topic": _find_topic,
    "partition": _find_partition,
    "removal": _find_partition,
    "deletion": _find_deletion,
    "config": _find_config,
    "broker": _find_brokers,
    "controller": _by("controller_version", "controller_id", int),
    "feature": _by("feature_version", "name", unescaped),
    "acl": _by("acl_version", "id", _id_text),
    "namespace": _whole("namespace_version"),
    "quota": _whole("client_quota_version"),
    "scram": _whole("scram_version"),
    "token": _whole("delegation_token_version"),
    "note": _whole("note_version"),
    "cluster": _whole("producer_ids_version", "zk_migration_version", "kraft_version_version"),
    "voter": _whole("voter_version"),
}


@contextmanager
def _reading(path: Path) -> Iterator[sqlite3.Connection]:
    """Yield a read-only connection in a transaction; SQLite creates no files next to the database.

    If there is a write-ahead log, SQLite reads it. If there is none, the last writer has closed the
    database, which is then opened as immutable; if it is written meanwhile, an error is raised.
    """
    log = path.with_name(path.name + "-wal")
    before = None if _size(log) else path.stat()
    mode = "ro" if before is None else "ro&immutable=1"
    uri = f"file:{quote(str(path))}?mode={mode}"
    with closing(sqlite3.connect(uri, uri=True, timeout=_WAIT_S)) as connection:
        # One transaction: what is read belongs together.
        connection.execute("BEGIN")
        yield connection
    if before is not None:
        now = path.stat()
        if _size(log) or (now.st_size, now.st_mtime_ns) != (before.st_size, before.st_mtime_ns):
            raise sqlite3.OperationalError("it was written meanwhile")


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0
