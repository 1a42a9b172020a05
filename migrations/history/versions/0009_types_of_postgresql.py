"""Use PostgreSQL's own types, and keep the lists of partitions once in a table of their own."""

from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

# The type of a column in PostgreSQL, how it is made from the column before, and the way back.
_KINDS = {
    "id": ("uuid", "id_uuid({0})", "varchar(22)", "id_text({0})"),
    "ids": ("uuid[]", "id_uuids({0})", "text", "id_texts({0})"),
    "numbers": (
        *("integer[]", "translate({0}, '[]', '{{}}')::integer[]"),
        *("text", "'[' || array_to_string({0}, ', ') || ']'"),
    ),
    "json": ("jsonb", "{0}::jsonb", "text", "{0}::text"),
    "int": ("integer", "{0}::integer", "bigint", "{0}::bigint"),
    "time": (
        *("timestamptz", "timestamptz 'epoch' + {0} * interval '1 millisecond'"),
        *("bigint", "(extract(epoch FROM {0}) * 1000)::bigint"),
    ),
}

_LISTS = {
    "replicas": "Broker ids that hold a replica, the preferred leader first.",
    "isr": "Broker ids in sync with the leader.",
    "removing_replicas": "Replicas that a running reassignment will drop.",
    "adding_replicas": "Replicas that a running reassignment brings in.",
    "directories": "Log directory id of each replica, in the order of replicas; empty when "
    "unknown.",
    "eligible_leader_replicas": "Replicas outside the ISR that may still lead without loss; null "
    "when there are none.",
    "last_known_elr": "The last members known before the eligible ones ran out; null when there "
    "are none.",
}
_COUNTS = {"replica_count": "replicas", "isr_count": "isr", "adding_count": "adding_replicas"}

# But `partition_version`, which is made anew.
_TYPES = {
    "topic_version": {"topic_id": "id", "namespace_id": "id"},
    "config_version": {"resource_type": "int"},
    "namespace_version": {"namespace_id": "id"},
    "broker_version": {
        "broker_id": "int",
        "incarnation_id": "id",
        "end_points": "json",
        "features": "json",
        "log_dirs": "ids",
        "cordoned_log_dirs": "ids",
    },
    "controller_version": {
        "controller_id": "int",
        "incarnation_id": "id",
        "end_points": "json",
        "features": "json",
    },
    "feature_version": {"feature_level": "int"},
    "acl_version": {
        "id": "id",
        "resource_type": "int",
        "pattern_type": "int",
        "operation": "int",
        "permission_type": "int",
    },
    "client_quota_version": {"entity": "json"},
    "scram_version": {"mechanism": "int", "iterations": "int"},
    "delegation_token_version": {"renewers": "json"},
    "pending_removal_version": {"topic_id": "id"},
    "replica_deletion_version": {
        "topic_id": "id",
        "partition_id": "int",
        "broker_id": "int",
        "state": "int",
    },
    "note_version": {},
    "producer_ids_version": {"broker_id": "int"},
    "zk_migration_version": {"zk_migration_state": "int"},
    "voter_version": {
        "voter_directory_id": "id",
        "endpoints": "json",
        "kraft_version_feature": "json",
    },
    "kraft_version_version": {"kraft_version": "int"},
}

_UNIT = ", in SQLite as ms since 1970"
_MS = ", ms since 1970"
_FROM = "Time of that{}; null: unknown, before the kept history."

# By table: a time's column before and now, and the comments.
_TIMES = {
    "history_position": {
        ("end_ms", "end_time"): ("Time of the last record before end_offset{}.", _MS),
    },
    "change": {("time_ms", "time"): ("When it was appended{}.", _MS)},
}
_VALIDITY = {
    ("valid_from_ms", "valid_from_time"): (_FROM, _MS),
    ("valid_to_ms", "valid_to_time"): ("Time of that{}.", ""),
}


def upgrade() -> None:
    """Change the types, and make views and functions anew."""
    _module("0008").downgrade()
    _drop_views()
    op.drop_index("ix_change_principal", "change")
    if not _is_sqlite():
        _create_id_functions()
        for table, kinds in _TYPES.items():
            _alter(table, [(each, *_KINDS[kind][:2]) for each, kind in kinds.items()])
    for table, times in _times():
        for (old, new), (comment, _) in times.items():
            _change_time(table, old, new, "time", comment.format(_UNIT))
    _share_lists()
    where = sa.text("principal IS NOT NULL")
    op.create_index(
        "ix_change_principal", "change", ["principal"], postgresql_where=where, sqlite_where=where
    )
    _replace_comments(back=False)
    _create_views()
    _create_functions()


def downgrade() -> None:
    """Return to the types of the release before; no row is lost."""
    _module("0008").downgrade()
    _drop_views()
    op.drop_index("ix_change_principal", "change")
    _unshare_lists()
    for table, times in _times():
        for (old, new), (comment, unit) in times.items():
            _change_time(table, new, old, "ms", comment.format(unit))
    if not _is_sqlite():
        for table, kinds in _TYPES.items():
            _alter(table, [(each, *_KINDS[kind][2:]) for each, kind in kinds.items()])
        for function in ("id_texts(uuid[])", "id_uuids(text)", "id_text(uuid)", "id_uuid(text)"):
            op.execute(f"DROP FUNCTION {function}")
    op.create_index("ix_change_principal", "change", ["principal"])
    _replace_comments(back=True)
    before = _module("0006")
    before._create_views(before._OUTAGES)
    op.execute(
        f"CREATE VIEW changes_by_principal AS {_module('0001')._VIEWS['changes_by_principal']}"
    )
    for name, query in _module("0007")._VIEWS.items():
        op.execute(f"CREATE VIEW {name} AS {query}")
    _module("0008").upgrade()


def _is_sqlite() -> bool:
    return op.get_bind().dialect.name == "sqlite"


def _module(number: str) -> Any:
    """Return the migration that made the views or functions which this one replaces."""
    environment = op.get_context().environment_context
    assert environment is not None
    return environment.script.get_revision(number).module


def _times() -> Iterator[tuple[str, dict[tuple[str, str], tuple[str, str]]]]:
    yield from _TIMES.items()
    for table in _TYPES:
        yield table, _VALIDITY


def _create_id_functions() -> None:
    """Create functions between an id's type and its text, which `metalog` prints."""
    for name, argument, result, query in (
        (
            *("id_uuid", "text", "uuid"),
            "encode(decode(translate($1, '-_', '+/') || '==', 'base64'), 'hex')::uuid",
        ),
        (
            *("id_text", "uuid", "text"),
            "rtrim(translate(encode(uuid_send($1), 'base64'), '+/', '-_'), '=')",
        ),
        (
            *("id_uuids", "text", "uuid[]"),
            "(SELECT coalesce(array_agg(id_uuid(text) ORDER BY n), '{}') "
            "FROM json_array_elements_text($1::json) WITH ORDINALITY AS each (text, n))",
        ),
        (
            *("id_texts", "uuid[]", "text"),
            """(SELECT '[' || coalesce(string_agg('"' || id_text(id) || '"', ', ' ORDER BY n), '')
            || ']' FROM unnest($1) WITH ORDINALITY AS each (id, n))""",
        ),
    ):
        op.execute(
            f"CREATE FUNCTION {name}({argument}) RETURNS {result} "
            f"LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE RETURN {query}"
        )


def _alter(table: str, columns: Sequence[tuple[str, str, str]]) -> None:
    """Change the types of columns: name, type, and the value of what was there."""
    changes = [
        f"ALTER {name} DROP DEFAULT, ALTER {name} TYPE {type_} USING {value.format(name)}"
        for name, type_, value in columns
    ]
    if changes:
        op.execute(f"ALTER TABLE {table} {', '.join(changes)}")


def _change_time(table: str, old: str, new: str, to: str, comment: str) -> None:
    if not _is_sqlite():
        _alter(table, [(old, *(_KINDS["time"][:2] if to == "time" else _KINDS["time"][2:]))])
    op.execute(f"ALTER TABLE {table} RENAME {old} TO {new}")
    if not _is_sqlite():
        op.alter_column(table, new, comment=comment)


def _replace_comments(*, back: bool) -> None:
    """Replace the comments of times in SQLite, where they are a part of the schema's text."""
    if not _is_sqlite():
        return
    op.execute("PRAGMA writable_schema = ON")
    for table, times in _times():
        for comment, unit in times.values():
            old, new = (f"/* {comment.format(each)} */" for each in (unit, _UNIT))
            op.get_bind().execute(
                sa.text("UPDATE sqlite_master SET sql = replace(sql, :old, :new) WHERE name = :t"),
                {"old": new if back else old, "new": old if back else new, "t": table},
            )
    # Reads the schema again: a later migration adds columns at places in these texts.
    op.execute("PRAGMA writable_schema = RESET")


def _share_lists() -> None:
    op.create_table(
        "replica_set",
        sa.Column(
            "replica_set",
            sa.BigInteger(),
            nullable=False,
            autoincrement=False,
            comment="Hash of the lists of replicas.",
        ),
        *(
            sa.Column(name, _list_type(name), nullable=False, comment=comment)
            for name, comment in _LISTS.items()
        ),
        *(
            sa.Column(name, _INT32, nullable=False, comment=f"Number of {of}.")
            for name, of in _COUNTS.items()
        ),
        sa.PrimaryKeyConstraint("replica_set", name="pk_replica_set"),
        comment="Lists of replicas, which many states of partitions have in common.",
        sqlite_with_rowid=False,
    )
    _set_aside()
    names = ", ".join(_LISTS)
    op.execute(
        "CREATE TEMPORARY TABLE lists AS "
        f"SELECT DISTINCT {names}, CAST(0 AS bigint) AS replica_set FROM partitions_before"
    )
    op.execute(f"CREATE INDEX ix_lists ON lists ({names})")
    _number_lists()
    kept = ", ".join(_typed(name, _list_kind(name)) for name in _LISTS)
    count = "json_array_length({})" if _is_sqlite() else "json_array_length({}::json)"
    counts = ", ".join(count.format(of) for of in _COUNTS.values())
    op.execute(
        f"INSERT INTO replica_set (replica_set, {names}, {', '.join(_COUNTS)}) "
        f"SELECT replica_set, {kept}, {counts} FROM lists"
    )
    _create_partitions([*_PARTITION, ("replica_set", "set", _SET_COMMENT)], is_new=True)
    columns = [(name, kind) for name, kind, _ in _PARTITION]
    _fill(
        [*(name for name, _ in columns), "replica_set"],
        [*(_typed(f"p.{_old(name)}", kind) for name, kind in columns), "l.replica_set"],
        "JOIN lists l ON " + " AND ".join(f"l.{name} = p.{name}" for name in _LISTS),
    )
    op.execute("DROP TABLE lists")


def _unshare_lists() -> None:
    _set_aside()
    lists = [(name, "text", comment) for name, comment in _LISTS.items()]
    _create_partitions([*_PARTITION, *lists], is_new=False)
    _fill(
        [*(_old(name) for name, _, _ in _PARTITION), *_LISTS],
        [
            *(_typed(f"p.{name}", kind, back=True) for name, kind, _ in _PARTITION),
            *(_typed(f"s.{name}", _list_kind(name), back=True) for name in _LISTS),
        ],
        "JOIN replica_set s ON s.replica_set = p.replica_set",
    )
    op.drop_table("replica_set")


def _number_lists() -> None:
    """Give each combination of lists its number, which is that of `columns.shared_column`."""
    bind = op.get_bind()
    names = ", ".join(_LISTS)
    found: Iterable[Any] = bind.execute(sa.text(f"SELECT {names} FROM lists")).all()
    where = " AND ".join(f"{name} = :{name}" for name in _LISTS)
    update = sa.text(f"UPDATE lists SET replica_set = :number WHERE {where}")
    rows = [{**dict(zip(_LISTS, row, strict=True)), "number": _number(row)} for row in found]
    if rows:
        bind.execute(update, rows)


def _number(texts: Sequence[str]) -> int:
    digest = blake2b("\n".join(texts).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


_INT32 = sa.BigInteger().with_variant(sa.Integer(), "postgresql")
_COLUMN_TYPES: dict[str, Any] = {
    "id": sa.String(22).with_variant(postgresql.UUID(), "postgresql"),
    "ids": sa.Text().with_variant(postgresql.ARRAY(postgresql.UUID()), "postgresql"),
    "numbers": sa.Text().with_variant(postgresql.ARRAY(sa.Integer()), "postgresql"),
    "int": _INT32,
    "time": sa.BigInteger().with_variant(sa.TIMESTAMP(timezone=True), "postgresql"),
    "offset": sa.BigInteger(),
    "set": sa.BigInteger(),
    "text": sa.Text(),
    "mark": sa.Boolean(),
}
_BEFORE = {"id": sa.String(22), "int": sa.BigInteger(), "time": sa.BigInteger()}

_SET_COMMENT = "Its lists of replicas, in replica_set."
_NULLABLE = {"valid_from_time", "valid_to_offset", "valid_to_time"}
_PARTITION = [
    ("topic_id", "id", "The topic's id."),
    ("partition_id", "int", "Number of the partition within its topic, from 0."),
    ("record_offset", "offset", "The record that made this state, in change.offset."),
    ("valid_from_offset", "offset", "It holds from this offset on."),
    ("valid_from_time", "time", _FROM),
    ("valid_to_offset", "offset", "It holds up to this offset, exclusive; null: it still does."),
    ("valid_to_time", "time", "Time of that{}."),
    ("leader", "int", "Broker id of the leader; -1 when there is none."),
    ("leader_recovery_state", "int", "0 recovered, 1 recovering after an unclean election."),
    ("leader_epoch", "int", "Counts leaderships; grows with every change that names a leader."),
    ("partition_epoch", "int", "Counts changes of any kind."),
    ("mode", "int", "0 READ_WRITE, 1 READ_ONLY, -1 NONE."),
    (
        *("confirmed", "mark"),
        "False: Kafka may still replace the record that began or ended this state.",
    ),
]


def _list_kind(name: str) -> str:
    return "ids" if name == "directories" else "numbers"


def _list_type(name: str) -> Any:
    return _COLUMN_TYPES[_list_kind(name)]


def _old(name: str) -> str:
    return name.replace("_time", "_ms")


def _typed(column: str, kind: str, *, back: bool = False) -> str:
    """Return the value of a column of the one form in the other."""
    if _is_sqlite() or kind not in _KINDS:
        return column
    return _KINDS[kind][3 if back else 1].format(column)


def _set_aside() -> None:
    for name in ("unconfirmed", "current", *(() if _is_sqlite() else ("blocks",))):
        op.drop_index(f"ix_partition_version_{name}", "partition_version")
    op.rename_table("partition_version", "partitions_before")
    if not _is_sqlite():
        op.execute(
            "ALTER TABLE partitions_before RENAME CONSTRAINT pk_partition_version TO pk_before"
        )


def _create_partitions(columns: Sequence[tuple[str, str, str]], *, is_new: bool) -> None:
    op.create_table(
        "partition_version",
        *(
            sa.Column(
                name if is_new else _old(name),
                (_COLUMN_TYPES if is_new else {**_COLUMN_TYPES, **_BEFORE})[kind],
                nullable=name in _NULLABLE,
                server_default=sa.true() if kind == "mark" else None,
                comment=comment.format(_unit(name, is_new=is_new)),
            )
            for name, kind, comment in columns
        ),
        sa.PrimaryKeyConstraint(
            "topic_id", "partition_id", "record_offset", name="pk_partition_version"
        ),
        comment="Partitions: replicas, leader, in-sync replicas.",
        sqlite_with_rowid=False,
    )


def _unit(name: str, *, is_new: bool) -> str:
    if is_new:
        return _UNIT
    return _MS if name == "valid_from_time" else ""


def _fill(columns: Sequence[str], values: Sequence[str], join: str) -> None:
    """Fill the new table from the one set aside, and create its indexes."""
    op.execute(
        f"INSERT INTO partition_version ({', '.join(columns)}) SELECT {', '.join(values)} "
        f"FROM partitions_before p {join} ORDER BY p.topic_id, p.partition_id, p.record_offset"
    )
    op.drop_table("partitions_before")
    for name, of, condition in (
        ("unconfirmed", ["record_offset"], "NOT confirmed"),
        ("current", ["topic_id", "partition_id"], "valid_to_offset IS NULL"),
    ):
        where = sa.text(condition)
        op.create_index(
            f"ix_partition_version_{name}",
            "partition_version",
            of,
            postgresql_where=where,
            sqlite_where=where,
        )
    if not _is_sqlite():
        blocks = [each for each in columns if each in ("record_offset", "valid_from_offset")]
        time = next(
            each for each in columns if each.startswith("valid_from_") and each not in blocks
        )
        op.create_index(
            "ix_partition_version_blocks",
            "partition_version",
            [*blocks, time],
            postgresql_using="brin",
        )


def _drop_views() -> None:
    for name in _module("0007")._VIEWS:
        op.execute(f"DROP VIEW {name}")
    op.execute("DROP VIEW changes_by_principal")
    _module("0006")._drop_views()


def _create_views() -> None:
    before = _module("0006")._VIEWS
    views = {**before, **_VIEWS}
    for name, query in views.items():
        op.execute(f"CREATE VIEW {name} AS {query}")
    ms = "{0} - {1}" if _is_sqlite() else "(extract(epoch FROM {0} - {1}) * 1000)::bigint"
    duration = _DURATION.format(
        ended=ms.format("i.to_time", "i.from_time"),
        ongoing=ms.format("now.end_time", "i.from_time"),
    )
    kinds = [
        _OUTAGES.format(kind=kind, duration=duration) for kind in ("leaderless", "under_replicated")
    ]
    op.execute(f"CREATE VIEW outages AS {' UNION ALL '.join(kinds)}")
    for name, query in _module("0007")._VIEWS.items():
        renamed = query.replace("valid_from_ms", "valid_from_time")
        op.execute(f"CREATE VIEW {name} AS {renamed.replace('valid_to_ms', 'valid_to_time')}")


def _create_functions() -> None:
    if _is_sqlite():
        return
    functions = _module("0008")
    op.execute(
        """
        CREATE FUNCTION offset_at(at timestamp with time zone) RETURNS bigint
        LANGUAGE sql STABLE PARALLEL SAFE
        RETURN (SELECT max("offset") FROM change WHERE time <= at)
        """
    )
    for name, relation in functions._STATES.items():
        functions._create(name, relation)


_PARTITIONS = f"""
SELECT t.topic, p.*, {", ".join(f"s.{name}" for name in _LISTS)},
  CASE WHEN p.leader = -1 THEN 1 ELSE 0 END AS leaderless,
  CASE WHEN s.isr_count < s.replica_count - s.adding_count THEN 1 ELSE 0 END AS under_replicated
FROM partition_version p JOIN replica_set s ON s.replica_set = p.replica_set
"""

_VIEWS = {
    "partition_states": _PARTITIONS
    + """
        JOIN topic_states t ON t.topic_id = p.topic_id
          AND t.valid_from_offset <= p.valid_from_offset
          AND (t.valid_to_offset IS NULL OR t.valid_to_offset > p.valid_from_offset)
    """,
    # A topic may have moved since the partition's state began.
    "partitions_now": _PARTITIONS
    + "JOIN topics_now t ON t.topic_id = p.topic_id WHERE p.valid_to_offset IS NULL",
    "changes_by_principal": """
        SELECT principal, command, record, COUNT(*) AS changes,
          MIN(time) AS first_time, MAX(time) AS last_time
        FROM change WHERE effective_offset IS NOT NULL
        GROUP BY principal, command, record
    """,
}

# Times may go back, but no outage lasted less than nothing.
_DURATION = """
  CASE
    WHEN i.to_offset IS NOT NULL AND i.to_time < i.from_time THEN 0
    WHEN i.to_offset IS NOT NULL THEN {ended}
    WHEN now.end_time < i.from_time THEN 0
    ELSE {ongoing}
  END AS duration_ms
"""

# As before, with the new names of times.
_OUTAGES = """
SELECT '{kind}' AS kind, t.topic, i.topic_id, i.partition_id, i.from_offset, i.to_offset,
  i.from_time, i.to_time, {duration},
  CASE WHEN i.to_offset IS NULL THEN 1 ELSE 0 END AS ongoing, i.confirmed
FROM (
  SELECT topic_id, partition_id,
    MIN(valid_from_offset) AS from_offset,
    CASE WHEN COUNT(valid_to_offset) = COUNT(*) THEN MAX(valid_to_offset) END AS to_offset,
    CASE WHEN COUNT(valid_from_time) = COUNT(*) THEN MIN(valid_from_time) END AS from_time,
    CASE WHEN COUNT(valid_to_time) = COUNT(*) THEN MAX(valid_to_time) END AS to_time,
    MIN(CASE WHEN confirmed THEN 1 ELSE 0 END) AS confirmed
  FROM (
    SELECT s.*, SUM(CASE WHEN before_to = valid_from_offset THEN 0 ELSE 1 END)
      OVER (PARTITION BY topic_id, partition_id ORDER BY record_offset) AS number
    FROM (
      SELECT h.*, LAG(valid_to_offset)
        OVER (PARTITION BY topic_id, partition_id ORDER BY record_offset) AS before_to
      FROM partition_states h
      WHERE {kind} = 1 AND (valid_to_offset IS NULL OR valid_to_offset > valid_from_offset)
    ) s
  ) numbered
  GROUP BY topic_id, partition_id, number
) i
JOIN topic_states t ON t.topic_id = i.topic_id
  AND t.valid_from_offset <= i.from_offset
  AND (t.valid_to_offset IS NULL OR t.valid_to_offset > i.from_offset)
CROSS JOIN history_position now
"""
