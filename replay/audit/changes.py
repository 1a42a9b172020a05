"""Effective changes: one row for each field of an object that a record changed.

Each record sets fields of objects (fold/settings.py). A change is a field whose new value differs
from its previous value (fold/changes.py). Audit queries select from this relation.
"""

from functools import partial

import msgspec
from pyspark.sql import DataFrame

from records.secrets import PUBLIC_CONFIGS, REDACTED, SECRET_FIELDS
from replay.audit.fold import workers
from replay.audit.fold.packing import OTHERS, PACKED_SQL
from replay.audit.history import BULK, RARE, History
from replay.audit.records import worked

COLUMNS = ("timestamp", "origin")
"""Columns of the envelope that a history must have."""

_HOUR_MS = 3_600_000

SCHEMA = {
    "offset": "long, of the record",
    "time": "timestamp, when the record was appended",
    "hour": "timestamp, the start of the hour of `time` in UTC",
    "kind": "string, the object's part in docs/digest.md",
    "id": "string, the object's key; a topic's is its id",
    "name": "string, the same with the topic's full name at that offset",
    "field": "string; in `configs` the config's name",
    "before": "string, JSON if a list; null: the field was not set",
    "after": "string, JSON if a list; null: the field was removed",
    "record": "string, type of the record",
    "principal": "string, null if unknown",
    "command": "string, null if unknown",
    "reason": "string, null if none was given",
    "in_effect": "boolean, false if the record's transaction was aborted",
}
"""Columns of `changes`."""


def changes(history: History, first: int = 0, *, show_secrets: bool = False) -> DataFrame:
    """Return the changes at offsets from `first` to the end of a history.

    The column `before` has the previous value, also if it was set before `first`. Transactions that
    are still open are left out. Derived values are left out too: epochs, directories reset because
    they no longer fit the replicas, eligible replicas cleared by ClearElrRecord.

    Args:
        history: A history with the columns `COLUMNS`.
        first: First offset of the range.
        show_secrets: Keep secret values. If false, they are replaced by text.

    Returns:
        The columns of `SCHEMA`.
    """
    found = _found(history)
    return _readable(found.where(f"offset >= {first}"), show_secrets=show_secrets)


def _found(history: History) -> DataFrame:
    """Return the changes of a history, with the columns `fold.workers.CHANGES`."""
    types = BULK | RARE
    if history.is_one_task:
        return worked(history, types, workers.changes, workers.CHANGES_SQL, with_origin=True)
    rows = worked(history, types, workers.split_by_topic, PACKED_SQL, with_origin=True)
    # Those of partitions are most of all, and found by many tasks, each for some of the topics.
    packed = history.kept(rows)
    others = packed.where(f"bucket = {OTHERS}").repartition(1)
    others = others.sortWithinPartitions("position", "rank")
    of_topics = packed.where(f"bucket <> {OTHERS}").repartition("bucket")
    of_topics = of_topics.sortWithinPartitions("bucket", "position")
    known = _context(others)
    find = partial(workers.topic_changes, context=known)
    partitions = of_topics.mapInArrow(find, workers.CHANGES_SQL)
    return others.mapInArrow(workers.other_changes, workers.CHANGES_SQL).union(partitions)


def _context(others: DataFrame) -> workers.Context:
    """Return what the changes of partitions depend on, found in a separate Spark job."""
    rows = others.mapInArrow(workers.context, "context string").collect()
    return msgspec.json.decode(rows[0].context, type=workers.Context) if rows else workers.Context()


def _readable(found: DataFrame, *, show_secrets: bool) -> DataFrame:
    values = {name: name for name in ("id", "name", "before", "after")}
    if not show_secrets:
        values |= {
            # A token's key is its secret; a hash tells tokens apart.
            name: f"if(kind = 'delegation_tokens', "
            f"'{REDACTED} ' || left(sha2({name}, 256), 16), {name})"
            for name in ("id", "name")
        }
        values |= {
            name: f"if({_SECRET}, if({name} IS null, null, '{REDACTED}'), {name})"
            for name in ("before", "after")
        }
    return found.selectExpr(
        "offset",
        "timestamp_millis(timestamp) AS time",
        f"timestamp_millis(timestamp - pmod(timestamp, {_HOUR_MS})) AS hour",
        "kind",
        f"{values['id']} AS id",
        f"{values['name']} AS name",
        "field",
        f"{values['before']} AS before",
        f"{values['after']} AS after",
        *("record", "principal", "command", "reason", "in_effect"),
    )


def _secret() -> str:
    """Return an SQL condition: true if a field's values are secret."""
    public = ", ".join(f"'{name}'" for name in sorted(PUBLIC_CONFIGS))
    keys = ", ".join(f"'{field}'" for field in SECRET_FIELDS["UserScramCredentialRecord"])
    return f"(kind = 'configs' AND field NOT IN ({public}) OR kind = 'scram' AND field IN ({keys}))"


_SECRET = _secret()
