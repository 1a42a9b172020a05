"""Finds in the SQL history the offsets of the records that changed an object."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from records.base import Uuid
from records.text import parse_uuid
from replay.image.configs import TOPIC
from replay.image.metadata import NAMESPACE_SEPARATOR
from replay.time_travel.labels import config_resource, unescaped
from replay.time_travel.objects import ObjectName

Ask = Callable[[str, Mapping[str, Any]], Iterable[Sequence[Any]]]
"""Runs a query, given its parameters by name, and returns the rows.

Ids are bytes in parameters, and texts in rows.
"""

Finder = Callable[["RecordOffsets", ObjectName, Collection[Uuid]], None]


class RecordOffsets:
    """Collects offsets of records from the tables.

    Attributes:
        is_unsure: True if there are too many offsets, or if the tables do not determine which
            record of a transaction changed the object.
    """

    def __init__(self, ask: Ask, end: int, limit: int) -> None:
        """Use the tables up to an end offset (exclusive), and at most `limit` rows of each."""
        self._ask = ask
        self._end = end
        self._limit = limit
        self.offsets: set[int] = set()
        self.is_unsure = False

    def rows(self, query: str, **values: Any) -> list[Sequence[Any]]:
        """Return the rows of a query."""
        return list(self._ask(query, values))

    def add(self, table: str, where: str = "TRUE", **values: Any) -> None:
        """Add the offsets of the records that began or ended the selected states."""
        found = self.rows(
            "SELECT record_offset, valid_from_offset, valid_to_offset "
            f"FROM {table} WHERE {where} LIMIT {self._limit + 1}",
            **values,
        )
        ends = {end for _, _, end in found if end is not None}
        # Where a transaction ended, one object may have been removed and another one created.
        self.is_unsure |= len(found) > self._limit or any(
            begin != record and begin in ends for record, begin, _ in found
        )
        self._add_begins((record, begin) for record, begin, _ in found)
        self._add_ends(ends.difference(begin for _, begin, _ in found))

    def add_partitions(self, topic_id: Uuid, partition_id: int | None) -> None:
        """Add the offsets of the records that created or removed partitions of a topic.

        Args:
            partition_id: Also add the offsets of all records of this partition; None: of no
                partition.
        """
        found = self.rows(
            """
            SELECT * FROM (
              SELECT partition_id = :partition_id AS is_asked, record_offset, valid_from_offset,
                valid_to_offset, LAG(valid_to_offset) OVER states AS before,
                LEAD(valid_from_offset) OVER states AS after
              FROM partition_version WHERE topic_id = :topic_id
              WINDOW states AS (PARTITION BY topic_id, partition_id ORDER BY record_offset)
            ) AS states
            WHERE is_asked OR coalesce(before, -1) <> valid_from_offset
              OR coalesce(after, -1) <> coalesce(valid_to_offset, -1)
            """,
            partition_id=-1 if partition_id is None else partition_id,
            topic_id=topic_id,
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
            self.is_unsure |= not self.rows(
                'SELECT 1 FROM change WHERE "offset" = :offset', offset=offset
            )
            self.offsets.add(offset)


def _add_topics(tables: RecordOffsets, topic: str, ids: Collection[Uuid]) -> list[Uuid]:
    """Add the offsets of the records of all topics a name can refer to, and of their namespaces.

    Returns:
        The ids of the topics.
    """
    topics = set(ids)
    namespace = ""
    if topic.startswith("@"):
        topics.add(parse_uuid(topic[1:]))
    else:
        namespace, _, last = unescaped(topic).rpartition(NAMESPACE_SEPARATOR)
        named = tables.rows(
            "SELECT DISTINCT topic_id FROM topic_version WHERE name = :name", name=last
        )
        topics.update(parse_uuid(topic_id) for (topic_id,) in named)
    found = tables.rows(
        "SELECT namespace_id FROM namespace_version WHERE name = :name", name=namespace
    )
    for topic_id in topics:
        tables.add("topic_version", "topic_id = :topic_id", topic_id=topic_id)
        found += tables.rows(
            "SELECT namespace_id FROM topic_version WHERE topic_id = :topic_id", topic_id=topic_id
        )
    namespaces = (parse_uuid(each) for (each,) in found if each is not None)
    for namespace_id in {*topics, *namespaces}:
        tables.add("namespace_version", "namespace_id = :id", id=namespace_id)
    return sorted(topics)


def _find_topic(tables: RecordOffsets, name: ObjectName, ids: Collection[Uuid]) -> None:
    _add_of_topic(tables, name.name, None, ids)


def _find_partition(tables: RecordOffsets, name: ObjectName, ids: Collection[Uuid]) -> None:
    topic, number = name.name.rsplit("/", 1)
    _add_of_topic(tables, topic, int(number), ids)


def _add_of_topic(
    tables: RecordOffsets, topic: str, partition_id: int | None, ids: Collection[Uuid]
) -> None:
    for topic_id in _add_topics(tables, topic, ids):
        tables.add_partitions(topic_id, partition_id)
        # A record that removes partitions names several, which must exist.
        tables.add("pending_removal_version", "topic_id = :topic_id", topic_id=topic_id)


def _find_brokers(tables: RecordOffsets, name: ObjectName, ids: Collection[Uuid]) -> None:
    if name.name == "*":
        tables.add("broker_version")
    else:
        tables.add("broker_version", "broker_id = :id", id=int(name.name))


def _find_deletion(tables: RecordOffsets, name: ObjectName, ids: Collection[Uuid]) -> None:
    for topic_id in _add_topics(tables, name.name.rsplit("/", 2)[0], ids):
        tables.add("replica_deletion_version", "topic_id = :topic_id", topic_id=topic_id)


def _find_config(tables: RecordOffsets, name: ObjectName, ids: Collection[Uuid]) -> None:
    resource_type, resource = config_resource(name.name)
    if resource_type == TOPIC:
        _add_topics(tables, resource, ids)
    where = "resource_type = :type AND resource_name = :name"
    tables.add("config_version", where, type=resource_type, name=unescaped(resource))


def _by(table: str, column: str, value: Callable[[str], Any]) -> Finder:
    """Return a finder for objects whose key is a single column."""
    return lambda tables, name, _: tables.add(table, f"{column} = :value", value=value(name.name))


def _all_of(*names: str) -> Finder:
    """Return a finder that selects all objects in the given tables."""

    def find(tables: RecordOffsets, name: ObjectName, ids: Collection[Uuid]) -> None:
        for table in names:
            tables.add(table)

    return find


def _id(name: str) -> Uuid:
    return parse_uuid(name.removeprefix("@"))


# By kind of object. What they find includes what `reach` takes, as far as it can matter.
FINDERS: dict[str, Finder] = {
    "topic": _find_topic,
    "partition": _find_partition,
    "removal": _find_partition,
    "deletion": _find_deletion,
    "config": _find_config,
    "broker": _find_brokers,
    "controller": _by("controller_version", "controller_id", int),
    "feature": _by("feature_version", "name", unescaped),
    "acl": _by("acl_version", "id", _id),
    "namespace": _all_of("namespace_version"),
    "quota": _all_of("client_quota_version"),
    "scram": _all_of("scram_version"),
    "token": _all_of("delegation_token_version"),
    "note": _all_of("note_version"),
    "cluster": _all_of("producer_ids_version", "zk_migration_version", "kraft_version_version"),
    "voter": _all_of("voter_version"),
}
