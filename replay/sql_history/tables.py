"""Table definitions of the SQL history. Migrations create the tables; a test compares the two.

A row of a `_version` table is one state of one object. It is valid from `valid_from_offset` up to
`valid_to_offset` (exclusive; null: still valid). So the state as of offset N is `valid_from_offset
<= N AND (valid_to_offset IS NULL OR valid_to_offset > N)`.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Index,
    Integer,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    Text,
    text,
    true,
)

from records.registry import schema
from replay.image.parts import PARTS, Part
from replay.sql_history.columns import (
    BITS,
    SHA256_FORM,
    FieldColumn,
    SharedColumn,
    field_columns,
    shared_column,
    size_column,
)
from replay.sql_history.types import IDS, INT32, NUMBERS, TIME

metadata = MetaData(naming_convention={"pk": "pk_%(table_name)s"})

_UNIT = ", in SQLite as ms since 1970"


def _confirmed(comment: str) -> Column[bool]:
    return Column("confirmed", Boolean, nullable=False, server_default=true(), comment=comment)


def _key(name: str, comment: str) -> Column[int]:
    """Return a column of a primary key whose numbers the database does not make itself."""
    return Column(name, BigInteger, primary_key=True, autoincrement=False, comment=comment)


def _unconfirmed_index(table: str, offset: str) -> Index:
    """Return the index by which a sync finds the few unconfirmed rows, which it replaces."""
    return _partial_index(f"ix_{table}_unconfirmed", [offset], "NOT confirmed")


def _partial_index(name: str, columns: Sequence[str], where: str) -> Index:
    condition = text(where)
    return Index(name, *columns, postgresql_where=condition, sqlite_where=condition)


def _blocks(table: str, *columns: str) -> Index:
    """Return a BRIN index, which suits rows that are written in the order of the columns."""
    index = Index(f"ix_{table}_blocks", *columns, postgresql_using="brin")
    return index.ddl_if(dialect="postgresql")


def _indexes(table: str, key: Sequence[str]) -> Iterator[Index]:
    """Yield the indexes of a table of states: of current states, of offsets, of outages."""
    if table in _CURRENT:
        yield _partial_index(f"ix_{table}_current", key, _IS_CURRENT)
    if table in _LARGE:
        yield _blocks(table, "record_offset", "valid_from_offset", "valid_from_time")
    if table == "partition_version":
        yield _partial_index(f"ix_{table}_leaderless", [*key, "record_offset"], "leader = -1")
        # Those that hold are a quarter of a long history, too many to look at each.
        by_lists = _partial_index(f"ix_{table}_current_sets", [_REPLICA_SET], _IS_CURRENT)
        yield by_lists.ddl_if(dialect="postgresql")


_IS_CURRENT = "valid_to_offset IS NULL"
_REPLICA_SET = "replica_set"
_LARGE = ("partition_version", "config_version")
_CURRENT = ("topic_version", "broker_version", "acl_version", *_LARGE)

position = Table(
    "history_position",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False, comment="Always 1."),
    Column("cluster_id", Text, nullable=False, comment="Of the log that this is the history of."),
    Column(
        "start_offset",
        BigInteger,
        nullable=False,
        comment="What happened below this offset is unknown.",
    ),
    Column(
        "end_offset", BigInteger, nullable=False, comment="Everything below this offset is here."
    ),
    Column("leader_epoch", BigInteger, nullable=False, comment="Of the last record before it."),
    Column(
        "last_crc32c",
        BigInteger,
        comment="CRC-32C of the log's last block before it; with the epoch it proves which log.",
    ),
    Column("rules", BigInteger, nullable=False, comment="Version of the replay rules."),
    Column(
        "not_understood",
        BigInteger,
        nullable=False,
        comment="Records so far that the release which read them did not know.",
    ),
    Column("not_understood_from", BigInteger, comment="Offset of the first of them, if known."),
    Column("end_time", TIME, comment=f"Time of the last record before end_offset{_UNIT}."),
    Column(
        "confirmed_end",
        BigInteger,
        comment="Kafka may still replace what is from this offset on; null: nothing.",
    ),
    Column(
        "confirmed_leader_epoch", BigInteger, comment="Of the last record before confirmed_end."
    ),
    Column("confirmed_last_crc32c", BigInteger, comment="As last_crc32c, before confirmed_end."),
    comment="One row: which log the tables are of, and up to where.",
)

public_config = Table(
    "public_config",
    metadata,
    Column("name", Text, primary_key=True, comment="The config's name."),
    comment="Names of configs whose values are no secrets.",
    sqlite_with_rowid=False,
)

change = Table(
    "change",
    metadata,
    _key("offset", "Of the record."),
    Column("time", TIME, nullable=False, comment=f"When it was appended{_UNIT}."),
    Column("record", Text, nullable=False, comment="Its type."),
    Column(
        "effective_offset",
        BigInteger,
        comment="Where it takes effect: the end of its transaction, else its own offset; null: "
        "its transaction was aborted.",
    ),
    Column("principal", Text, comment="Who; null: the log does not say."),
    Column("client", Text, comment="The client's name and address."),
    Column("command", Text, comment="What was done."),
    Column("reason", Text, comment="Why."),
    Column("request_id", Text, comment="Id of the request."),
    Column("trace_parent", Text, comment="W3C trace parent of the request."),
    _confirmed("False: Kafka may still replace the record (the end of a mirror)."),
    _unconfirmed_index("change", "offset"),
    _partial_index("ix_change_principal", ["principal"], "principal IS NOT NULL"),
    _blocks("change", "offset", "time"),
    comment="Each record that can change the cluster: when, who, why.",
    sqlite_with_rowid=False,
)

gap_table = Table(
    "gap",
    metadata,
    _key("from_offset", "The first offset that is missing."),
    Column(
        "from_epoch", BigInteger, nullable=False, comment="Leader epoch of the last record before."
    ),
    Column("from_time", TIME, comment=f"Time of that record{_UNIT}; null: there is none."),
    Column("to_offset", BigInteger, nullable=False, comment="The first offset after the gap."),
    Column(
        "to_epoch",
        BigInteger,
        nullable=False,
        comment="Leader epoch of the snapshot that follows the gap.",
    ),
    Column("to_time", TIME, nullable=False, comment=f"Time of that snapshot{_UNIT}."),
    Column("found_time", TIME, nullable=False, comment=f"When the gap was found{_UNIT}."),
    Column("source", Text, nullable=False, comment="The leader that lacked the records."),
    Column(
        "log_start_offset", BigInteger, nullable=False, comment="Where that leader's log started."
    ),
    Column("leader_epoch", BigInteger, nullable=False, comment="That leader's epoch."),
    Column("reason", Text, nullable=False, comment="Why the records are missing."),
    comment="Offsets that were not recorded: no state is valid there.",
    sqlite_with_rowid=False,
)

found_after_gap = Table(
    "found_after_gap",
    metadata,
    _key("from_offset", "The gap, in gap.from_offset."),
    _key("number", "Place in the list of the gap."),
    Column("object", Text, nullable=False, comment="The object that differs."),
    Column("field", Text, nullable=False, comment="The field that differs."),
    Column("fate", Text, nullable=False, comment="The object is new, gone or changed."),
    Column("before", Text, comment="The value before the gap, as JSON, without secrets."),
    Column("after", Text, comment="The value after the gap, as JSON, without secrets."),
    comment="What differs after a gap; when, in which order and by whom is not known.",
    sqlite_with_rowid=False,
)

VALIDITY = {
    "record_offset": "The record that made this state, in change.offset.",
    "valid_from_offset": "It holds from this offset on.",
    "valid_from_time": f"Time of that{_UNIT}; null: unknown, before the kept history.",
    "valid_to_offset": "It holds up to this offset, exclusive; null: it still does.",
    "valid_to_time": f"Time of that{_UNIT}.",
}
"""Comments of the columns after the key in each `_version` table.

If `valid_from_time` is null, `valid_from_offset` is that of the base state.
"""

_ALWAYS_SET = ("record_offset", "valid_from_offset")


class VersionTable(msgspec.Struct, frozen=True):
    """The table that stores the states of the objects of one part of the image.

    Attributes:
        key: Columns that identify an object. Together with `record_offset` they identify a state.
        fields: Columns of an object's fields.
        shared: Table of field values that many states have in common; the last column of `fields`
            refers to its first column.
        shared_fields: Columns of `shared` without the first.
    """

    part: Part
    table: Table
    key: tuple[FieldColumn, ...]
    fields: tuple[FieldColumn, ...]
    shared: Table | None = None
    shared_fields: tuple[FieldColumn, ...] = ()


def _version_table(part_name: str, name: str, comment: str, key: tuple[str, ...]) -> VersionTable:
    part = PARTS[part_name]
    names = [each for each in part.row_type.__struct_fields__ if each not in part.beside]
    fields = field_columns(part.row_type, names)
    if part_name == "notes":
        # The text itself may be too long for PostgreSQL's indexes.
        fields.append(FieldColumn("text_sha256", "text", SHA256_FORM))
    of_record = schema(part.record_type.__name__)
    docs, narrow = _docs(of_record), _int32_fields(of_record)
    shared: Table | None = None
    shared_fields: list[FieldColumn] = []
    if part_name == "partitions":
        fields, shared_fields = _replica_set_columns(fields)
        shared = _replica_set_table(fields[-1], shared_fields, docs)
    columns = {
        each.name: each.column(_comment(each, docs), INT32 if each.field in narrow else None)
        for each in fields
    }
    table = Table(
        name,
        metadata,
        *(columns.pop(each) for each in key),
        *(
            Column(
                column,
                TIME if column.endswith("_time") else BigInteger,
                nullable=column not in _ALWAYS_SET,
                comment=text,
            )
            for column, text in VALIDITY.items()
        ),
        *columns.values(),
        _confirmed("False: Kafka may still replace the record that began or ended this state."),
        PrimaryKeyConstraint(*key, "record_offset"),
        _unconfirmed_index(name, "record_offset"),
        *_indexes(name, key),
        comment=comment,
        sqlite_with_rowid=False,
    )
    by_name = {each.name: each for each in fields}
    keys = tuple(by_name[each] for each in key)
    return VersionTable(part, table, keys, tuple(fields), shared, tuple(shared_fields))


_COUNTS = {"replica_count": "replicas", "isr_count": "isr", "adding_count": "adding_replicas"}


def _replica_set_columns(
    fields: Sequence[FieldColumn],
) -> tuple[list[FieldColumn], list[FieldColumn]]:
    """Split the columns of a partition: those of its state, and those of its lists."""
    lists = [each for each in fields if each.form.type in (NUMBERS, IDS)]
    own = [each for each in fields if each not in lists]
    counts = (size_column(name, field) for name, field in _COUNTS.items())
    return [*own, shared_column(_REPLICA_SET, lists)], [*lists, *counts]


def _replica_set_table(
    key: FieldColumn, columns: Sequence[FieldColumn], docs: Mapping[str, str]
) -> Table:
    return Table(
        _REPLICA_SET,
        metadata,
        _key(key.name, "Hash of the lists of replicas."),
        *(each.column(_comment(each, docs)) for each in columns),
        comment="Lists of replicas, which many states of partitions have in common.",
        sqlite_with_rowid=False,
    )


def _int32_fields(record: Mapping[str, Any]) -> set[str]:
    return {field["name"] for field in record["fields"] if field["type"] == "int"}


def _docs(record: dict[str, Any]) -> dict[str, str]:
    """Return the `doc` texts of a record's fields, and of the fields of structures in its lists."""
    docs: dict[str, str] = {}
    for field in record["fields"]:
        items = field["type"].get("items") if isinstance(field["type"], dict) else None
        if isinstance(items, dict):
            docs |= _docs(items)
        docs[field["name"]] = field["doc"]
    return docs


def _comment(column: FieldColumn, docs: Mapping[str, str]) -> str:
    if isinstance(column, SharedColumn):
        return f"Its lists of replicas, in {column.name}."
    if column.name in _COUNTS:
        return f"Number of {column.field}."
    if column.name == column.field + BITS:
        return f"The bits of {column.field}, which a float column cannot always keep."
    if column.name != column.field:
        return f"SHA-256 of {column.field}, hexadecimal."
    # The record that marks partitions for removal lists several.
    return docs.get(column.field) or docs[f"{column.field}s"]


_ALL: tuple[tuple[str, str, str, tuple[str, ...]], ...] = (
    ("topics", "topic_version", "Topics, by id.", ("topic_id",)),
    (
        "partitions",
        "partition_version",
        "Partitions: replicas, leader, in-sync replicas.",
        ("topic_id", "partition_id"),
    ),
    (
        "configs",
        "config_version",
        "Keys that are set; passwords too are as the log has them.",
        ("resource_type", "resource_name", "name"),
    ),
    ("namespaces", "namespace_version", "Namespaces, by id.", ("namespace_id",)),
    ("brokers", "broker_version", "Registered brokers.", ("broker_id",)),
    ("controllers", "controller_version", "Registered controllers.", ("controller_id",)),
    ("features", "feature_version", "Finalized feature levels.", ("name",)),
    ("acls", "acl_version", "ACLs, by id.", ("id",)),
    ("client_quotas", "client_quota_version", "Client quotas.", ("entity", "key")),
    (
        "scram",
        "scram_version",
        "SCRAM credentials, with their keys as the log has them.",
        ("name", "mechanism"),
    ),
    ("delegation_tokens", "delegation_token_version", "Delegation tokens.", ("token_id",)),
    (
        "pending_partition_removals",
        "pending_removal_version",
        "Partitions that are to be removed.",
        ("topic_id", "partition_id"),
    ),
    (
        "replica_deletions",
        "replica_deletion_version",
        "Replicas that brokers are deleting.",
        ("topic_id", "partition_id", "broker_id"),
    ),
    ("notes", "note_version", "Notes.", ("at_offset", "author", "text_sha256")),
    ("producer_ids", "producer_ids_version", "The last block of producer ids.", ()),
    ("zk_migration", "zk_migration_version", "State of a migration from ZooKeeper.", ()),
    ("voters", "voter_version", "Voters of a dynamic quorum.", ("voter_id",)),
    ("kraft_version", "kraft_version_version", "The finalized kraft.version.", ()),
)

VERSION_TABLES = {
    part: _version_table(part, name, comment, key) for part, name, comment, key in _ALL
}
"""The tables of object states, by part of the image."""
