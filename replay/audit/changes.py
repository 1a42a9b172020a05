"""The relations of changes (relations.py) as data frames, computed by Spark's workers."""

from collections.abc import Collection, Sequence
from functools import partial

import msgspec
from pyspark.sql import DataFrame

from replay.audit.fold import workers
from replay.audit.fold.event_table import FIELDS
from replay.audit.fold.packed_rows import OTHERS, PACKED_SQL, columns_sql
from replay.audit.fold.partition_changes import KIND
from replay.audit.history import History
from replay.audit.record_types import BULK, OF_TOPICS, RARE
from replay.audit.records import worked
from replay.audit.relations import RELATIONS, Relation
from replay.audit.selection import EVERYTHING, Selection

COLUMNS = ("timestamp", "origin")
"""Columns of the envelope that a history must have to compute changes."""


def relation(
    history: History,
    name: str,
    first: int = 0,
    *,
    selection: Selection = EVERYTHING,
    show_secrets: bool = False,
) -> DataFrame:
    """Return a relation's rows at offsets from `first` to the end of a history.

    Args:
        history: A history with the columns `COLUMNS`.
        name: The relation, one of `RELATIONS`.
        first: First offset of the range.
        selection: The rows and the columns that are needed; more may be returned.
        show_secrets: Keep secret values. If false, they are replaced by `(redacted)`.

    Returns:
        The selected columns of the relation.
    """
    found = RELATIONS[name](first, history.replayed_from, selection)
    columns = found.sources(selection, show_secrets=show_secrets)
    rows = _found(history, found, selection, columns)
    return rows.selectExpr(*found.readable(selection, show_secrets=show_secrets))


def _found(
    history: History, relation: Relation, selection: Selection, columns: Sequence[str]
) -> DataFrame:
    find = partial(relation.find, columns=columns)
    sql = columns_sql(relation.schema, columns)
    if relation.others is None or selection.is_of_partitions_only:
        return of_topics(history, find, sql, fields=relation.fields)
    others = partial(relation.others, columns=columns)
    if selection.has(KIND):
        return of_topics(history, find, sql, others)
    if history.is_one_task:
        return worked(history, RARE, others, sql, with_origin=True).coalesce(1)
    packed = worked(history, RARE, workers.pack_others, PACKED_SQL, with_origin=True)
    return _in_order(history.kept(packed)).mapInArrow(others, sql).coalesce(1)


def of_topics(
    history: History,
    find: workers.Find,
    schema: str,
    others: workers.Work | None = None,
    *,
    fields: Collection[str] = FIELDS,
) -> DataFrame:
    """Return the rows that `find` computes from the records of topics, and `others` from the rest.

    Args:
        history: A history with the columns `COLUMNS`.
        find: Computes the rows of some topics from all records of these topics.
        schema: The columns of the rows, in SQL.
        others: Computes the rows of other objects from the other records; None if not needed.
        fields: The fields of partitions that `find` needs.
    """
    types = BULK | (OF_TOPICS if others is None else RARE)
    if history.is_one_task:
        work = partial(workers.changes, find=find, others=others)
        found = worked(history, types, work, schema, with_origin=True, fields=fields)
        # Known to be one task, so that nothing is shuffled or sampled after it.
        return found.coalesce(1)
    # The changes of partitions are most of all; so many tasks find them, each for some topics.
    packed = _packed(history, types, fields)
    of_others = _in_order(packed)
    of_topics = packed.where(f"bucket <> {OTHERS}").repartition("bucket")
    of_topics = of_topics.sortWithinPartitions("bucket", "position")
    known = _context(of_others)
    found = of_topics.mapInArrow(partial(workers.topic_changes, context=known, find=find), schema)
    return found if others is None else of_others.mapInArrow(others, schema).union(found)


def _packed(history: History, types: frozenset[str], fields: Collection[str]) -> DataFrame:
    """Return a cached frame of packed records, by topic, of the given types and possibly more.

    The records of partitions have at least the given fields.
    """
    needed = types.union(fields)
    for known, packed in history.packed.items():
        if needed <= known:
            return packed
    work = workers.split_by_topic
    packed = worked(history, types, work, PACKED_SQL, with_origin=True, fields=fields)
    history.packed[needed] = history.kept(packed)
    return history.packed[needed]


def _in_order(packed: DataFrame) -> DataFrame:
    """Return the packed records that are not assigned to a topic, sorted, in one task."""
    others = packed.where(f"bucket = {OTHERS}").repartition(1)
    return others.sortWithinPartitions("position", "rank")


def _context(others: DataFrame) -> workers.Context:
    """Run a Spark job that computes the `Context` needed for the changes of partitions."""
    rows = others.mapInArrow(workers.context, "context string").collect()
    return msgspec.json.decode(rows[0].context, type=workers.Context) if rows else workers.Context()
