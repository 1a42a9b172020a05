"""Effective changes: one row for each field of an object that a record changed.

Each record sets fields of objects (fold/settings.py). A change is a field whose new value differs
from its previous value (fold/changes.py). Audit queries select from this relation.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import msgspec
import pyarrow
from pyspark.sql import DataFrame

from records.secrets import PUBLIC_CONFIGS, REDACTED, SECRET_FIELDS
from replay.audit.fold import workers
from replay.audit.fold.changed_objects import OBJECTS, changed_partitions
from replay.audit.fold.changes import CHANGES
from replay.audit.fold.churn import CHURN, HOUR_MS, partition_churn
from replay.audit.fold.event_table import FIELDS
from replay.audit.fold.needed import needed
from replay.audit.fold.net_changes import NET, net_partition_changes
from replay.audit.fold.packed_rows import OTHERS, PACKED_SQL, columns_sql
from replay.audit.fold.partition_changes import KIND, partition_changes
from replay.audit.fold.summed_changes import (
    BY_OBJECT,
    BY_PRINCIPAL,
    AddUp,
    by_object,
    by_principal,
    summed_partitions,
)
from replay.audit.history import BULK, RARE, History
from replay.audit.records import OF_TOPICS, worked
from replay.audit.selection import EVERYTHING, Selection

COLUMNS = ("timestamp", "origin")
"""Columns of the envelope that a history must have."""

SCHEMA = {
    "offset": "long, of the record",
    "time": "timestamp, when the record was appended",
    "hour": "timestamp, the start of the hour of `time` in UTC",
    "kind": "string, the object's part in docs/digest.md",
    "id": "string, the object's key; a topic's or namespace's is its id",
    "name": "string, the same with the names at that offset instead of ids of topics, namespaces",
    "field": "string; in `configs` the config's name",
    "before": "string, JSON if a list; null: the field was not set",
    "after": "string, JSON if a list; null: the field was removed",
    "record": "string, type of the record",
    "principal": "string, null if unknown",
    "command": "string, null if unknown",
    "reason": "string, null if none was given",
    "in_effect": "boolean, false if the record's transaction was aborted",
    "asked_offset": "long, of the record that asked for it; null: no other record did",
    "asked_principal": "string, of that record's request",
    "asked_reason": "string, of that record's request",
}
"""Columns of `changes`."""

OBJECTS_SCHEMA = {
    "offset": SCHEMA["offset"],
    "time": SCHEMA["time"],
    "record": SCHEMA["record"],
    "kind": SCHEMA["kind"],
    "name": SCHEMA["name"],
    "id": SCHEMA["id"],
    "fields": "array<string>, the changed fields, sorted",
    **{name: SCHEMA[name] for name in ("principal", "command", "reason", "in_effect")},
}
"""Columns of `changed_objects`."""

NET_SCHEMA = {
    **{name: SCHEMA[name] for name in ("kind", "id", "name", "field")},
    "before": "string, value before the first change",
    "after": "string, value after the last change",
    "changes": "long, how many there are",
    "offset": "long, of the last change",
    "time": "timestamp, the latest of the changes",
    **{name: SCHEMA[name] for name in ("principal", "command", "reason")},
}
"""Columns of `net_changes`; those without description are as in the last change."""

_SUMS_SCHEMA = {
    "changes": "long, how many fields changed",
    "first": "timestamp, the earliest of the records",
    "last": "timestamp, the latest of the records",
}

BY_OBJECT_SCHEMA = {
    **{name: SCHEMA[name] for name in ("kind", "id", "name")},
    **_SUMS_SCHEMA,
    "records": "long, how many records changed them",
    "principals": "array<string>, who changed it, as far as known, sorted",
}
"""Columns of `changes_by_object`; the name is that at the last of the records."""

BY_PRINCIPAL_SCHEMA = {
    **{name: SCHEMA[name] for name in ("principal", "command")},
    **_SUMS_SCHEMA,
    "records": "long, how many records changed one of the objects",
    "shared": "array<long>, offsets of the records that may have changed several objects",
    "objects": "long, how many objects changed",
}
"""Columns of `changes_by_principal`, whose rows have different objects."""

CHURN_SCHEMA = {
    **{name: SCHEMA[name] for name in ("hour", "name", "id")},
    "leader_changes": "long, changes of the leader, also to and from none",
    "isr_shrinks": "long, changes that left fewer replicas in sync",
}
"""Columns of `partition_churn`; the name is that at the last of the changes."""

_SOURCES = {
    "time": "timestamp",
    "hour": "timestamp",
    "first": "first_timestamp",
    "last": "last_timestamp",
}
"""Columns of the workers' rows that others are made of."""


def changes(
    history: History,
    first: int = 0,
    *,
    selection: Selection = EVERYTHING,
    show_secrets: bool = False,
) -> DataFrame:
    """Return the changes at offsets from `first` to the end of a history.

    The column `before` has the previous value, also if it was set before `first`. Transactions that
    are still open are left out. Changes of derived values are left out too: epochs, directories
    reset because they no longer fit the replicas, eligible replicas cleared by ClearElrRecord.

    Args:
        history: A history with the columns `COLUMNS`.
        first: First offset of the range.
        selection: The changes and the columns that are needed; more may be returned.
        show_secrets: Keep secret values. If false, they are replaced by text.

    Returns:
        The selected columns of `SCHEMA`.
    """
    fields = selection.fields or FIELDS
    kept_from = history.replayed_from
    of_partitions = partial(partition_changes, fields=fields, kept_from=kept_from)
    find = needed(of_partitions, first, selection.where)
    of_others = partial(workers.other_changes, kept_from=kept_from)
    others = needed(of_others, first, selection.where)
    work = _Work(SCHEMA, CHANGES, find, others)
    return work.rows(history, selection, show_secrets=show_secrets)


def changed_objects(
    history: History,
    first: int = 0,
    *,
    selection: Selection = EVERYTHING,
    show_secrets: bool = False,
) -> DataFrame:
    """Return one row per record and changed object, from offset `first` to the end of a history.

    Args:
        history: A history with the columns `COLUMNS`.
        first: First offset of the range.
        selection: The changes and the columns that are needed; more may be returned.
        show_secrets: Keep secret values. If false, they are replaced by text.

    Returns:
        The selected columns of `OBJECTS_SCHEMA`.
    """
    find = needed(changed_partitions, first, selection.where)
    others = needed(workers.other_objects, first, selection.where)
    work = _Work(OBJECTS_SCHEMA, OBJECTS, find, others)
    return work.rows(history, selection, show_secrets=show_secrets)


def changes_by_object(
    history: History,
    first: int,
    *,
    selection: Selection = EVERYTHING,
    show_secrets: bool = False,
) -> DataFrame:
    """Return, by object, the totals of the changes in effect from offset `first` on.

    Args:
        history: A history with the columns `COLUMNS`.
        first: First offset of the range.
        selection: The columns that are needed; more may be returned.
        show_secrets: Keep secret keys. If false, they are replaced by text.

    Returns:
        The selected columns of `BY_OBJECT_SCHEMA`.
    """
    work = _summed(BY_OBJECT_SCHEMA, BY_OBJECT, by_object, first)
    return work.rows(history, selection, show_secrets=show_secrets)


def changes_by_principal(
    history: History, first: int, *, selection: Selection = EVERYTHING
) -> DataFrame:
    """Return, by principal and command, the totals of the changes in effect from offset `first` on.

    A principal and command may have several rows, which count different objects.

    Args:
        history: A history with the columns `COLUMNS`.
        first: First offset of the range.
        selection: The columns that are needed; more may be returned.

    Returns:
        The selected columns of `BY_PRINCIPAL_SCHEMA`.
    """
    work = _summed(BY_PRINCIPAL_SCHEMA, BY_PRINCIPAL, by_principal, first)
    return work.rows(history, selection, show_secrets=True)  # it has none


def partition_churn_by_hour(
    history: History, first: int, *, selection: Selection = EVERYTHING
) -> DataFrame:
    """Return, by partition and hour, the leader changes and ISR shrinks from offset `first` on.

    Args:
        history: A history with the columns `COLUMNS`.
        first: First offset of the range.
        selection: The columns that are needed; more may be returned.

    Returns:
        The selected columns of `CHURN_SCHEMA`.
    """
    work = _Work(CHURN_SCHEMA, CHURN, partial(partition_churn, first=first), None)
    return work.rows(history, selection, show_secrets=True)  # it has none


def net_changes(
    history: History,
    first: int,
    *,
    selection: Selection = EVERYTHING,
    show_secrets: bool = False,
) -> DataFrame:
    """Return the fields whose values before offset `first` and at the end of a history differ.

    Args:
        history: A history with the columns `COLUMNS`.
        first: First offset of the range.
        selection: The changes and the columns that are needed; more may be returned.
        show_secrets: Keep secret values. If false, they are replaced by text.

    Returns:
        The selected columns of `NET_SCHEMA`.
    """
    find = partial(net_partition_changes, first=first)
    others = partial(workers.other_net_changes, first=first)
    work = _Work(NET_SCHEMA, NET, find, others)
    return work.rows(history, selection, show_secrets=show_secrets)


@dataclass(frozen=True)
class _Work:
    """Functions with which Spark's workers compute a relation.

    Attributes:
        columns: Names of the relation's columns.
        schema: Schema of the rows that the workers return.
        find: Computes the rows of partitions.
        others: Computes the rows of all other objects; None if the relation has no such rows.
    """

    columns: Iterable[str]
    schema: pyarrow.Schema
    find: Callable[..., Iterator[pyarrow.Table]]
    others: Callable[..., Iterator[pyarrow.RecordBatch]] | None

    def rows(self, history: History, selection: Selection, *, show_secrets: bool) -> DataFrame:
        """Return the selected rows and columns of the relation."""
        wanted = [each for each in self.columns if each in ("offset", *selection.among((each,)))]
        sources = {_SOURCES.get(name, name) for name in wanted}
        # Only other objects have secrets; kind and field show whether a value is one.
        has_secrets = not (show_secrets or selection.is_of_partitions_only)
        if has_secrets:
            sources |= {"kind", "field"}
        columns = [name for name in self.schema.names if name in sources]
        found = self._found(history, selection, columns)
        return found.selectExpr(*_readable(wanted, has_secrets=has_secrets))

    def _found(self, history: History, selection: Selection, columns: Sequence[str]) -> DataFrame:
        find = partial(self.find, columns=columns)
        sql = columns_sql(self.schema, columns)
        if self.others is None or selection.is_of_partitions_only:
            return of_topics(history, find, sql)
        others = partial(self.others, columns=columns)
        if selection.has(KIND):
            return of_topics(history, find, sql, others)
        if history.is_one_task:
            return worked(history, RARE, others, sql, with_origin=True).coalesce(1)
        packed = worked(history, RARE, workers.pack_others, PACKED_SQL, with_origin=True)
        return _in_order(history.kept(packed)).mapInArrow(others, sql).coalesce(1)


def _summed(columns: Iterable[str], schema: pyarrow.Schema, add_up: AddUp, first: int) -> _Work:
    find = partial(summed_partitions, first=first, add_up=add_up)
    return _Work(columns, schema, find, partial(workers.other_sums, first=first, add_up=add_up))


def of_topics(
    history: History,
    find: workers.Find,
    schema: str,
    others: workers.Work | None = None,
) -> DataFrame:
    """Return the rows that `find` computes from the records of topics, and `others` from the rest.

    Args:
        history: A history with the columns `COLUMNS`.
        find: Computes the rows of some topics from all records of these topics.
        schema: The columns of the rows, in SQL.
        others: Computes the rows of other objects from the other records; None if not needed.
    """
    types = BULK | (OF_TOPICS if others is None else RARE)
    if history.is_one_task:
        work = partial(workers.changes, find=find, others=others)
        found = worked(history, types, work, schema, with_origin=True)
        # Known to be one task, so that nothing is shuffled or sampled after it.
        return found.coalesce(1)
    # The changes of partitions are most of all; so many tasks find them, each for some topics.
    packed = _packed(history, types)
    of_others = _in_order(packed)
    of_topics = packed.where(f"bucket <> {OTHERS}").repartition("bucket")
    of_topics = of_topics.sortWithinPartitions("bucket", "position")
    known = _context(of_others)
    found = of_topics.mapInArrow(partial(workers.topic_changes, context=known, find=find), schema)
    return found if others is None else of_others.mapInArrow(others, schema).union(found)


def _packed(history: History, types: frozenset[str]) -> DataFrame:
    """Return packed records, by topic, of all the given types and possibly more; cached."""
    for known, packed in history.packed.items():
        if types <= known:
            return packed
    packed = worked(history, types, workers.split_by_topic, PACKED_SQL, with_origin=True)
    history.packed[types] = history.kept(packed)
    return history.packed[types]


def _in_order(packed: DataFrame) -> DataFrame:
    """Return the packed records that are not assigned to a topic, sorted, in one task."""
    others = packed.where(f"bucket = {OTHERS}").repartition(1)
    return others.sortWithinPartitions("position", "rank")


def _context(others: DataFrame) -> workers.Context:
    """Run a Spark job that computes the `Context` needed for the changes of partitions."""
    rows = others.mapInArrow(workers.context, "context string").collect()
    return msgspec.json.decode(rows[0].context, type=workers.Context) if rows else workers.Context()


def _readable(wanted: Sequence[str], *, has_secrets: bool) -> list[str]:
    """Return the SQL of the wanted columns of `SCHEMA`."""
    values = {
        "time": "timestamp_millis(timestamp)",
        "hour": f"timestamp_millis(timestamp - pmod(timestamp, {HOUR_MS}))",
        **{name: f"timestamp_millis({_SOURCES[name]})" for name in ("first", "last")},
    }
    if has_secrets:
        values |= {
            # A token's key is its secret; a hash distinguishes tokens.
            name: f"if(kind = 'delegation_tokens', "
            f"'{REDACTED} ' || left(sha2({name}, 256), 16), {name})"
            for name in ("id", "name")
        }
        values |= {
            name: f"if({_SECRET}, if({name} IS null, null, '{REDACTED}'), {name})"
            for name in ("before", "after")
        }
    return [f"{values.get(name, name)} AS {name}" for name in wanted]


def _secret() -> str:
    """Return an SQL condition: true if a field's values are secret."""
    public = ", ".join(f"'{name}'" for name in sorted(PUBLIC_CONFIGS))
    keys = ", ".join(f"'{field}'" for field in SECRET_FIELDS["UserScramCredentialRecord"])
    return f"(kind = 'configs' AND field NOT IN ({public}) OR kind = 'scram' AND field IN ({keys}))"


_SECRET = _secret()
