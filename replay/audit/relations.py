"""The relations of changes: their columns, and the functions that compute their rows.

Each record sets fields of objects (fold/settings.py). A change is a field whose new value differs
from its previous value (fold/changes.py). Audit queries select from these relations. Spark's
workers do the work, each for a part of the log (changes.py); for DuckDB this process does (duck/).
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import pyarrow

from records.secrets import PUBLIC_CONFIGS, REDACTED, SECRET_FIELDS
from replay.audit.fold import workers
from replay.audit.fold.changed_objects import OBJECTS, changed_partitions
from replay.audit.fold.changes import CHANGES
from replay.audit.fold.churn import CHURN, HOUR_MS, partition_churn
from replay.audit.fold.event_table import FIELDS
from replay.audit.fold.needed import needed
from replay.audit.fold.net_changes import NET, net_partition_changes
from replay.audit.fold.partition_changes import partition_changes
from replay.audit.fold.summed_changes import (
    BY_OBJECT,
    BY_PRINCIPAL,
    AddUp,
    by_object,
    by_principal,
    summed_partitions,
)
from replay.audit.selection import Selection

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
"""Columns of `net_changes`; name, principal, command and reason are those of the last change."""

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
"""Columns of `changes_by_object`; the name is the object's name at the last record."""

BY_PRINCIPAL_SCHEMA = {
    **{name: SCHEMA[name] for name in ("principal", "command")},
    **_SUMS_SCHEMA,
    "records": "long, how many records changed one of the objects",
    "shared": "array<long>, offsets of the records that may have changed several objects",
    "objects": "long, how many objects changed",
}
"""Columns of `changes_by_principal`; several rows of one principal count different objects."""

CHURN_SCHEMA = {
    **{name: SCHEMA[name] for name in ("hour", "name", "id")},
    "leader_changes": "long, changes of the leader, also to and from none",
    "isr_shrinks": "long, changes that left fewer replicas in sync",
}
"""Columns of `partition_churn`; the name is the partition's name at the last change."""

_SOURCES = {
    "time": "timestamp",
    "hour": "timestamp",
    "first": "first_timestamp",
    "last": "last_timestamp",
}
"""Columns of a relation, each with the column of the workers' rows that it is computed from."""


@dataclass(frozen=True)
class Relation:
    """A relation of changes, and the functions that compute its rows.

    Attributes:
        columns: Names of the relation's columns.
        schema: Schema of the rows that the functions return.
        find: Computes the rows of partitions.
        others: Computes the rows of all other objects; None if the relation has no such rows.
        may_have_secrets: False if no column can have a secret.
        fields: The fields of partitions that `find` needs.
    """

    columns: Iterable[str]
    schema: pyarrow.Schema
    find: Callable[..., Iterator[pyarrow.Table]]
    others: Callable[..., Iterator[pyarrow.RecordBatch]] | None
    may_have_secrets: bool = True
    fields: Sequence[str] = FIELDS

    def sources(self, selection: Selection, *, show_secrets: bool) -> list[str]:
        """Return the columns of `schema` from which the selected columns are computed."""
        sources = {_SOURCES.get(name, name) for name in self._wanted(selection)}
        if self._redacts(selection, show_secrets=show_secrets):
            sources |= {"kind", "field"}
        return [name for name in self.schema.names if name in sources]

    def readable(self, selection: Selection, *, show_secrets: bool) -> list[str]:
        """Return the SQL that computes the selected columns from `sources`."""
        redacts = self._redacts(selection, show_secrets=show_secrets)
        return readable_columns(self._wanted(selection), redacts=redacts)

    def _redacts(self, selection: Selection, *, show_secrets: bool) -> bool:
        # Only other objects than partitions have secrets; kind and field show if a value is one.
        return self.may_have_secrets and not (show_secrets or selection.is_of_partitions_only)

    def _wanted(self, selection: Selection) -> list[str]:
        return [each for each in self.columns if each in ("offset", *selection.among((each,)))]


Make = Callable[[int, int, Selection], Relation]
"""Takes the range's first offset, the first offset after the base, and the selection."""


def changes(first: int, kept_from: int, selection: Selection) -> Relation:
    """Return the relation of changes at offsets from `first` on.

    The column `before` has the previous value, also if it was set before `first`. Transactions that
    are still open are left out. Changes of derived values are left out too: epochs, directories
    reset because they no longer fit the replicas, eligible replicas cleared by ClearElrRecord.
    """
    fields = selection.fields or FIELDS
    of_partitions = partial(partition_changes, fields=fields, kept_from=kept_from)
    find = needed(of_partitions, first, selection.where)
    of_others = partial(workers.other_changes, kept_from=kept_from)
    return Relation(SCHEMA, CHANGES, find, needed(of_others, first, selection.where))


def changed_objects(first: int, kept_from: int, selection: Selection) -> Relation:
    """Return the relation with one row per record and changed object, from offset `first` on."""
    find = needed(changed_partitions, first, selection.where)
    others = needed(workers.other_objects, first, selection.where)
    return Relation(OBJECTS_SCHEMA, OBJECTS, find, others)


def changes_by_object(first: int, kept_from: int, selection: Selection) -> Relation:
    """Return the relation of the totals, by object, of the changes in effect from `first` on."""
    return _summed(BY_OBJECT_SCHEMA, BY_OBJECT, by_object, first)


def changes_by_principal(first: int, kept_from: int, selection: Selection) -> Relation:
    """Return the relation of the totals, by principal and command, of the changes in effect.

    Counts changes at offsets from `first` on. A principal and command may have several rows, which
    count different objects.
    """
    summed = _summed(BY_PRINCIPAL_SCHEMA, BY_PRINCIPAL, by_principal, first)
    return replace(summed, may_have_secrets=False)


def partition_churn_by_hour(first: int, kept_from: int, selection: Selection) -> Relation:
    """Return the relation of leader changes and ISR shrinks, by partition and hour."""
    find = partial(partition_churn, first=first)
    fields = ("leader", "isr")
    return Relation(CHURN_SCHEMA, CHURN, find, None, may_have_secrets=False, fields=fields)


def net_changes(first: int, kept_from: int, selection: Selection) -> Relation:
    """Return the relation of fields whose values before offset `first` and at the end differ."""
    find = partial(net_partition_changes, first=first)
    return Relation(NET_SCHEMA, NET, find, partial(workers.other_net_changes, first=first))


def _summed(columns: Iterable[str], schema: pyarrow.Schema, add_up: AddUp, first: int) -> Relation:
    find = partial(summed_partitions, first=first, add_up=add_up)
    return Relation(columns, schema, find, partial(workers.other_sums, first=first, add_up=add_up))


RELATIONS: dict[str, Make] = {
    "changes": changes,
    "changed_objects": changed_objects,
    "changes_by_object": changes_by_object,
    "changes_by_principal": changes_by_principal,
    "net_changes": net_changes,
    "partition_churn": partition_churn_by_hour,
}
"""Functions that return the relations, by the name of the view with the relation's rows."""


def readable_columns(wanted: Sequence[str], *, redacts: bool) -> list[str]:
    """Return the SQL of the wanted columns of `SCHEMA`, without secrets if they are redacted."""
    values = {
        "time": "timestamp_millis(timestamp)",
        "hour": f"timestamp_millis(timestamp - pmod(timestamp, {HOUR_MS}))",
        **{name: f"timestamp_millis({_SOURCES[name]})" for name in ("first", "last")},
    }
    if redacts:
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
