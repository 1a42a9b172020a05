"""Folds records of partitions: many rows of a partition into one, by operations on columns.

A row stands for a range of the log: one record, or the fold of all records of a partition in that
range. Rows of adjacent ranges can be folded again, so each task folds its own part of the log, and
the last task folds the results.
"""

import base64
from collections.abc import Iterator
from typing import Any

import numpy
import pyarrow
import pyarrow.compute as pc

from replay.audit.fold.objects import Ends

_LISTS = (
    *("replicas", "isr", "removing_replicas", "adding_replicas"),
    *("eligible_leader_replicas", "last_known_elr"),
)
SCHEMA = pyarrow.schema(
    [
        ("position", pyarrow.int64()),
        ("topic_id", pyarrow.binary()),
        ("partition_id", pyarrow.int32()),
        ("born", pyarrow.int64()),
        ("leader", pyarrow.int32()),
        ("leader_recovery_state", pyarrow.int32()),
        ("mode", pyarrow.int32()),
        ("leader_epoch", pyarrow.int32()),
        ("partition_epoch", pyarrow.int32()),
        ("directories", pyarrow.list_(pyarrow.binary())),
        *((name, pyarrow.list_(pyarrow.int32())) for name in _LISTS),
        ("elections", pyarrow.int64()),
        ("changes", pyarrow.int64()),
        ("least_replicas", pyarrow.int32()),
        ("most_replicas", pyarrow.int32()),
        ("eligible_leader_replicas_at", pyarrow.int64()),
        ("last_known_elr_at", pyarrow.int64()),
    ]
)
"""The columns of a row.

`born` is the position of the last PartitionRecord in the range, null if there is none. The epochs
are those of this PartitionRecord; `elections` and `changes` count the later changes that add one to
the leader epoch and the partition epoch. `least_replicas` and `most_replicas` are the lowest and
highest number of replicas set since the directories were last set.
"""

PARTITION = pyarrow.schema(
    [
        SCHEMA.field(name)
        for name in (
            *("topic_id", "partition_id", "replicas", "isr", "removing_replicas"),
            *("adding_replicas", "leader", "leader_recovery_state", "leader_epoch"),
            *("partition_epoch", "directories", "eligible_leader_replicas", "last_known_elr"),
            "mode",
        )
    ]
)

_COUNTED_EPOCHS = {"leader_epoch": "elections", "partition_epoch": "changes"}
_COUNTED = tuple(_COUNTED_EPOCHS.values())
_DATED = {
    "eligible_leader_replicas": "eligible_leader_replicas_at",
    "last_known_elr": "last_known_elr_at",
}
_ROWS_KEPT_MAX = 1_000_000


def rows_of(records: pyarrow.RecordBatch) -> pyarrow.RecordBatch:
    """Return a row of `SCHEMA` for each record of a partition.

    Args:
        records: `position` and the columns of `PARTITION`, each the value in the record. The epochs
            are null in a PartitionChangeRecord.
    """
    found = set_values(records)
    whole = records["leader_epoch"].is_valid()
    for name, date in _DATED.items():
        found[date] = pc.if_else(found[name].is_valid(), records["position"], None)
    found["born"] = pc.if_else(whole, records["position"], None)
    found["changes"] = pc.invert(whole).cast(pyarrow.int64())
    elected = pc.and_(found["leader"].is_valid(), pc.invert(whole))
    found["elections"] = elected.cast(pyarrow.int64())
    # Directories that are not set become unknown when their count no longer fits the replicas.
    count = pc.list_value_length(records["replicas"])
    unfit = pc.if_else(pc.or_(whole, found["directories"].is_valid()), None, count)
    found["least_replicas"] = found["most_replicas"] = unfit
    return pyarrow.record_batch([found[name] for name in SCHEMA.names], schema=SCHEMA)


def set_values(records: pyarrow.RecordBatch) -> dict[str, pyarrow.Array]:
    """Return the columns of records of partitions; null where a record does not set the field.

    Args:
        records: `leader_epoch` and any of the other columns that `rows_of` takes.
    """
    found = {name: records[name] for name in records.schema.names}
    whole = records["leader_epoch"].is_valid()
    for name, unset in (("leader", -2), ("leader_recovery_state", -1)):
        if name in found:
            kept = pc.or_(whole, pc.not_equal(found[name], unset))
            found[name] = pc.if_else(kept, found[name], None)
    # An empty list in a change means unset.
    if (directories := found.get("directories")) is not None:
        sizes = pc.list_value_length(directories)
        if pc.any(pc.less(sizes, 1)).as_py():
            kept = pc.or_(whole, pc.greater(sizes, 0))
            found["directories"] = pc.if_else(kept, directories, None)
    for name in _DATED:
        if name in found:
            found[name] = _set_empty(found[name], whole)
    return found


def _set_empty(lists: pyarrow.ListArray, whole: pyarrow.BooleanArray) -> pyarrow.ListArray:
    """Return lists with an empty list in place of null in a PartitionRecord, which sets all."""
    is_null = lists.is_null().to_numpy(zero_copy_only=False)
    is_set = whole.to_numpy(zero_copy_only=False)
    if not (is_null & is_set).any():
        return lists
    ends = lists.offsets.to_numpy()
    assert not numpy.diff(ends)[is_null].any(), "null has items"
    mask = pyarrow.array(is_null & ~is_set)
    return pyarrow.ListArray.from_arrays(pyarrow.array(ends), lists.values, mask=mask)


class Fold:
    """The fold of rows of `SCHEMA`, which are added in the order of their positions."""

    def __init__(self) -> None:
        self._kept = SCHEMA.empty_table()
        self._waiting: list[pyarrow.RecordBatch] = []
        self._count = 0
        self._reached = -1

    def add(self, rows: pyarrow.RecordBatch) -> None:
        """Add rows; they must follow all rows added so far."""
        if not rows.num_rows:
            return
        positions = numpy.append(self._reached, rows["position"].to_numpy())
        assert (positions[1:] >= positions[:-1]).all(), "the rows are not in order"
        self._reached = positions[-1]
        self._waiting.append(rows)
        self._count += rows.num_rows
        # As many new rows as kept ones, so that each row is folded a few times only.
        if self._count > max(_ROWS_KEPT_MAX, self._kept.num_rows):
            self._kept = self.table()
            self._waiting, self._count = [], 0

    def extend(self, other: "Fold") -> None:
        """Add the rows of another fold; they must follow all rows added so far."""
        for rows in (*other._kept.sort_by("position").to_batches(), *other._waiting):
            self.add(rows)

    def table(self) -> pyarrow.Table:
        """Return one row for each partition, in no order."""
        waiting = pyarrow.Table.from_batches(self._waiting, SCHEMA)
        return _fold(pyarrow.concat_tables([self._kept, waiting]))


def _fold(rows: pyarrow.Table) -> pyarrow.Table:
    rows = rows.combine_chunks()
    codes, count = _keys(rows)
    born = _last(rows["born"], codes, count)
    places = numpy.arange(rows.num_rows)
    # Before its last PartitionRecord, nothing of a partition matters.
    alive = places >= born[codes]
    found: dict[str, Any] = {}
    for name in SCHEMA.names:
        if name not in _COUNTED and name not in _DATED.values():
            found[name] = rows[name].take(_index(_last(rows[name], codes, count, alive)))
    for name, date in _DATED.items():
        found[date] = rows[date].take(_index(_last(rows[name], codes, count, alive)))
    for name in _COUNTED:
        added = numpy.where(alive, rows[name].to_numpy(), 0)
        found[name] = numpy.bincount(codes, added, count).astype(numpy.int64)
    dated = alive & (places >= _last(rows["directories"], codes, count, alive)[codes])
    for name, extreme in (("least_replicas", numpy.minimum), ("most_replicas", numpy.maximum)):
        found[name] = _extremes(rows[name], codes, count, dated, extreme)
    return pyarrow.table([found[name] for name in SCHEMA.names], schema=SCHEMA)


def _keys(rows: pyarrow.Table) -> tuple[Any, int]:
    """Number the distinct partitions; return the number of each row's partition, and the count."""
    topics = rows["topic_id"].combine_chunks().dictionary_encode().indices.to_numpy()
    keys = topics.astype(numpy.int64) << 32 | rows["partition_id"].to_numpy()
    distinct = pyarrow.array(keys).dictionary_encode()
    return distinct.indices.to_numpy(), len(distinct.dictionary)


def _last(values: pyarrow.ChunkedArray, codes: Any, count: int, among: Any = True) -> Any:
    """Return, by partition number, the index of the partition's last non-null value, or -1.

    Args:
        codes: The partition number of each row.
        count: The count of partitions.
        among: A mask that selects the rows to consider.
    """
    (rows,) = numpy.nonzero(values.is_valid().to_numpy() & among)
    last = numpy.full(count, -1)
    last[codes[rows]] = rows
    return last


def _index(rows: Any) -> pyarrow.Array:
    return pyarrow.array(rows, mask=rows < 0)


def _extremes(
    values: pyarrow.ChunkedArray, codes: Any, count: int, among: Any, extreme: Any
) -> pyarrow.Array:
    (rows,) = numpy.nonzero(values.is_valid().to_numpy() & among)
    some = values.take(pyarrow.array(rows)).to_numpy()
    first = 2**31 - 1 if extreme is numpy.minimum else -1
    found = numpy.full(count, first, dtype=numpy.int32)
    extreme.at(found, codes[rows], some)
    return pyarrow.array(found, mask=found == first)


def ended(rows: pyarrow.Table, ends: Ends) -> Iterator[pyarrow.RecordBatch]:
    """Yield the partitions that exist at the end of the log, in batches of `PARTITION`.

    Args:
        rows: The fold of the whole log.
        ends: Removals of partitions and clearings of their ELR, by other records.
    """
    topics = rows["topic_id"].combine_chunks().dictionary_encode()
    texts = [base64.b64encode(topic_id).decode() for topic_id in topics.dictionary.to_pylist()]
    removed = _of_topics(topics, [ends.removed_topics.get(text) for text in texts])
    if ends.removed_partitions:
        keys = zip(topics.indices.to_pylist(), rows["partition_id"].to_pylist(), strict=True)
        of_topics = [ends.removed_partitions.get(text, {}) for text in texts]
        ways = (of_topics[topic].get(number) for topic, number in keys)
        removed = pc.max_element_wise(removed, pyarrow.array(ways, pyarrow.int64()))
    cleared = _of_topics(topics, [_latest(ends.cleared.get(text), ends) for text in texts])
    found = {name: rows[name] for name in PARTITION.names}
    for name in _COUNTED_EPOCHS:
        found[name] = pc.add(rows[name], rows[_COUNTED_EPOCHS[name]]).cast(pyarrow.int32())
    # Directories became unknown when their count no longer fitted the replicas.
    count = pc.list_value_length(rows["directories"])
    unfit = pc.or_(
        pc.not_equal(rows["least_replicas"], count), pc.not_equal(rows["most_replicas"], count)
    )
    found["directories"] = _emptied(rows["directories"], unfit)
    for name, date in _DATED.items():
        found[name] = _emptied(rows[name], pc.greater(cleared, rows[date]))
    gone = pc.fill_null(pc.greater_equal(removed, rows["born"]), False)
    partitions = pyarrow.table([found[name] for name in PARTITION.names], schema=PARTITION)
    yield from partitions.filter(pc.invert(gone)).to_batches()


def _of_topics(topics: pyarrow.DictionaryArray, values: list[int | None]) -> pyarrow.Array:
    return pyarrow.array(values, pyarrow.int64()).take(topics.indices)


def _latest(cleared: int | None, ends: Ends) -> int | None:
    both = [at for at in (cleared, ends.cleared_everywhere) if at is not None]
    return max(both, default=None)


def _emptied(lists: pyarrow.ChunkedArray, where: pyarrow.ChunkedArray) -> pyarrow.ChunkedArray:
    if not pc.any(where).as_py():
        return lists
    empty = pyarrow.scalar([], lists.type)
    return pc.if_else(pc.fill_null(where, False), empty, lists)
