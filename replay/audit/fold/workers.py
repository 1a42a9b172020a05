"""Functions that Spark's Python workers run on batches of records."""

import gc
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby, islice
from typing import Any

import msgspec
import pyarrow
import pyarrow.compute as pc

from replay.audit.fold.changed_objects import OBJECTS, changed_objects
from replay.audit.fold.changes import CHANGES, Changes, Row
from replay.audit.fold.net_changes import NET, net_changes
from replay.audit.fold.objects import ABORT, BEGIN, END, Objects
from replay.audit.fold.packed_rows import packed, packed_by_topic, unpacked
from replay.audit.fold.partition_changes import partition_changes
from replay.audit.fold.partitions import SCHEMA, ended, rows_of
from replay.audit.fold.said import Said
from replay.audit.fold.summed_changes import AddUp, summed_others
from replay.audit.fold.texts import Sums
from replay.audit.fold.transactions import TransactionFold

_ROWS_A_BATCH = 10_000
_ROWS_AT_ONCE = 200_000
_ORIGIN = ("timestamp", "principal", "command", "reason")

Batches = Iterable[pyarrow.RecordBatch]


_FOLDED = pyarrow.schema([("record", pyarrow.string()), *SCHEMA])
_MARKER = rf'^\{{"({BEGIN}|{END}|{ABORT})"'
_OF_CONTEXT = rf'^\{{"({BEGIN}|{END}|{ABORT}|NamespaceRecord)"'


def fold_range(batches: Batches) -> Iterator[pyarrow.RecordBatch]:
    """Fold the records of partitions in a range of the log; pass on all other records.

    The result is packed, so that Spark moves it without converting its rows.

    Args:
        batches: Records in order. Columns: `position`, `record` (as JSON; null if the record is of
            a partition), and those of `rows_of`.

    Returns:
        The columns `PACKED_SQL`, to be ordered by position and rank.
    """
    fold = TransactionFold(from_start=False)
    others = [_FOLDED.empty_table()]
    for batch in batches:
        _add(fold, batch)
        rare = pyarrow.Table.from_batches([batch.select(["position", "record"])])
        others.append(rare.filter(rare["record"].is_valid()))
    rows = pyarrow.concat_tables([*others, *fold.apart()], promote_options="default")
    yield from packed(rows.sort_by("position"))


def digest(batches: Batches) -> Iterator[pyarrow.RecordBatch]:
    """Compute the digest of a log.

    Args:
        batches: In order, the records as `fold_range` takes them, or the rows that it packed.

    Returns:
        One row with a JSON object: by part, the number of objects and the four lanes.
    """
    fold = TransactionFold(from_start=True)
    objects = _applied(batches, fold)
    sums: dict[str, Sums] = {}
    for part, each in objects.objects():
        if part not in sums:
            sums[part] = Sums(part)
        sums[part].add(each)
    sums["partitions"] = Sums("partitions")
    for rows in ended(fold.in_effect(), objects.ends):
        sums["partitions"].add_batch(rows)
    numbers = {part: each.numbers() for part, each in sums.items()}
    yield pyarrow.record_batch({"sums": [msgspec.json.encode(numbers).decode()]})


def partitions_of(batches: Batches) -> Iterator[pyarrow.RecordBatch]:
    """Return the partitions that exist at the end of a log; takes the same batches as `digest`."""
    fold = TransactionFold(from_start=True)
    objects = _applied(batches, fold)
    yield from ended(fold.in_effect(), objects.ends)


def objects_of(batches: Batches, part: str) -> Iterator[pyarrow.RecordBatch]:
    """Apply records (position, JSON) in order, and return the objects of a part as JSON."""
    objects = (each for name, each in _applied(batches).objects() if name == part)
    texts = (msgspec.json.encode(each).decode() for each in objects)
    while some := list(islice(texts, _ROWS_A_BATCH)):
        yield pyarrow.record_batch({"object": some})


class Context(msgspec.Struct):
    """Facts from other records that are needed to compute the changes of partitions.

    Attributes:
        undone: The first and the last position of each transaction that was aborted or is still
            open.
        spaces: The names of all namespaces that were ever created, by id.
    """

    undone: list[tuple[int, int]] = msgspec.field(default_factory=list)
    spaces: dict[str, str] = msgspec.field(default_factory=dict)


def context(batches: Batches) -> Iterator[pyarrow.RecordBatch]:
    """Apply records (position, JSON) in order, and return a `Context` as JSON in one row."""
    yield pyarrow.record_batch({"context": [msgspec.json.encode(known(batches)).decode()]})


def known(batches: Batches) -> Context:
    """Apply records (position, JSON) in order, and return the resulting `Context`."""
    objects = _applied(
        batch.filter(pc.match_substring_regex(batch["record"], _OF_CONTEXT))
        for batch in unpacked(batches)
    )
    return Context(undone=objects.undone, spaces=objects.names.spaces)


def last_marker(batches: Batches, before: int) -> Iterator[pyarrow.RecordBatch]:
    """Return the last transaction marker before a position, and whether it begins a transaction."""
    markers = (batch.filter(pc.less(batch["position"], before)) for batch in batches)
    last = [batch.slice(batch.num_rows - 1) for batch in markers if batch.num_rows][-1:]
    for marker in last:
        is_begin = pc.starts_with(marker["record"], f'{{"{BEGIN}"')
        yield pyarrow.record_batch({"position": marker["position"], "is_begin": is_begin})


Find = Callable[[pyarrow.Table, list[tuple[int, int]], dict[str, str]], Iterator[pyarrow.Table]]
"""Computes rows from all records of some topics; has the parameters of `partition_changes`."""


Work = Callable[[Batches], Iterator[pyarrow.RecordBatch]]


def changes(
    batches: Batches, find: Find = partition_changes, others: Work | None = None
) -> Iterator[pyarrow.RecordBatch]:
    """Return the rows computed from all records of a log, which must be in order.

    Args:
        find: Computes the rows of partitions.
        others: Computes the rows of other objects from the other records; None if not needed.
    """
    tables = list(_some(batches))
    if not tables:
        return
    records = pyarrow.concat_tables(tables)
    rare = records.filter(records["record"].is_valid())
    if others is not None:
        yield from others(rare.to_batches())
    context = known(rare.to_batches())
    yield from _topic_changes(records.filter(records["topic_id"].is_valid()), context, find)


def split_by_topic(batches: Batches) -> Iterator[pyarrow.RecordBatch]:
    """Pack records for the computation of changes, by bucket.

    Each topic's records are in one of several buckets; all other records are in a separate bucket.
    """
    for some in _some(batches):
        others = some.filter(some["record"].is_valid())
        yield from packed(others.select(["position", "record", *_ORIGIN]))
        yield from packed_by_topic(some.filter(some["topic_id"].is_valid()))


def pack_others(batches: Batches) -> Iterator[pyarrow.RecordBatch]:
    """Pack records other than those of partitions for the computation of changes, in one bucket."""
    for some in _some(batches):
        yield from packed(some)


def other_changes(
    batches: Batches, kept_from: int = 0, columns: Sequence[str] = CHANGES.names
) -> Iterator[pyarrow.RecordBatch]:
    """Return the changes of all objects except partitions; the records must be in order."""
    return selected(Changes(kept_from).of_all(said(unpacked(batches))), CHANGES, columns)


def other_objects(
    batches: Batches, columns: Sequence[str] = OBJECTS.names
) -> Iterator[pyarrow.RecordBatch]:
    """Return one row per record and changed object, except partitions; records must be in order."""
    found = changed_objects(Changes().of_all(said(unpacked(batches))))
    return selected(found, OBJECTS, columns)


def other_net_changes(
    batches: Batches, first: int, columns: Sequence[str] = NET.names
) -> Iterator[pyarrow.RecordBatch]:
    """Return the net changes of all objects except partitions from offset `first` on."""
    found = net_changes(Changes().of_all(said(unpacked(batches))), first)
    return selected(found, NET, columns)


def other_sums(
    batches: Batches, *, first: int, add_up: AddUp, columns: Sequence[str]
) -> Iterator[pyarrow.RecordBatch]:
    """Return the totals of the changes from offset `first` on, without those of partitions."""
    objects = pyarrow.Table.from_batches(other_objects(batches), OBJECTS)
    yield from summed_others(objects, first=first, add_up=add_up, columns=columns).to_batches()


def topic_changes(
    batches: Batches, context: Context, find: Find = partition_changes
) -> Iterator[pyarrow.RecordBatch]:
    """Return the rows of partitions, given all records of some topics, by bucket and in order."""
    values = (row for batch in batches for row in _slices(batch))
    for _, bucket in groupby(values, key=lambda row: row["bucket"][0].as_py()):
        yield from _topic_changes(pyarrow.Table.from_batches(unpacked(bucket)), context, find)


def _topic_changes(
    records: pyarrow.Table, context: Context, find: Find
) -> Iterator[pyarrow.RecordBatch]:
    for rows in find(records, context.undone, context.spaces):
        yield from rows.to_batches(max_chunksize=_ROWS_A_BATCH)


def _slices(batch: pyarrow.RecordBatch) -> Iterator[pyarrow.RecordBatch]:
    for at in range(batch.num_rows):
        yield batch.slice(at, 1)


def _some(batches: Batches) -> Iterator[pyarrow.Table]:
    """Combine batches into tables of many rows."""
    waiting: list[pyarrow.RecordBatch] = []
    for batch in batches:
        waiting.append(batch)
        if sum(each.num_rows for each in waiting) >= _ROWS_AT_ONCE:
            yield pyarrow.Table.from_batches(waiting)
            waiting = []
    if waiting:
        yield pyarrow.Table.from_batches(waiting)


def selected(
    rows: Iterator[Row], schema: pyarrow.Schema, columns: Sequence[str]
) -> Iterator[pyarrow.RecordBatch]:
    """Yield record batches with `columns` of `rows`; `schema` describes all columns of `rows`."""
    while some := list(islice(rows, _ROWS_A_BATCH)):
        values = dict(zip(schema.names, zip(*some, strict=True), strict=True))
        arrays = [pyarrow.array(values[name], schema.field(name).type) for name in columns]
        yield pyarrow.RecordBatch.from_arrays(arrays, names=list(columns))


def said(batches: Batches) -> Iterator[Said]:
    """Yield the records that are not of partitions, from batches with the columns of the origin."""
    # Numbers with a fraction stay as Spark wrote them.
    decoder = msgspec.json.Decoder(dict[str, dict[str, Any]], float_hook=str)
    # To look for cycles among all the rows, which have none, takes a third of the time.
    gc.disable()
    try:
        for batch in batches:
            columns = (batch[name].to_pylist() for name in ("position", "record", *_ORIGIN))
            for position, text, timestamp, principal, command, reason in zip(*columns, strict=True):
                ((name, fields),) = decoder.decode(text).items()
                yield Said(position, timestamp, principal, command, reason, name, fields)
    finally:
        gc.enable()


def _applied(batches: Batches, fold: TransactionFold | None = None) -> Objects:
    """Apply records and return the resulting objects; add records of partitions to `fold`."""
    objects = Objects()
    objects.apply_all(_records(batches, fold))
    return objects


def _records(
    batches: Batches, fold: TransactionFold | None
) -> Iterator[tuple[int, str, dict[str, Any]]]:
    decoder = msgspec.json.Decoder(dict[str, dict[str, Any]])
    for batch in unpacked(batches):
        if fold is not None:
            _add(fold, batch)
            batch = batch.filter(batch["record"].is_valid())
        rows = zip(batch["position"].to_pylist(), batch["record"].to_pylist(), strict=True)
        for position, text in rows:
            ((name, fields),) = decoder.decode(text).items()
            yield position, name, fields


def _add(fold: TransactionFold, batch: pyarrow.RecordBatch) -> None:
    """Add the rows of partitions and the transaction markers of a batch to a fold, in order."""
    is_marker = pc.match_substring_regex(batch["record"], _MARKER).fill_null(False)
    done = 0
    for at in pc.indices_nonzero(is_marker).to_pylist():
        fold.add(_rows(batch.slice(done, at - done)))
        fold.mark(batch["record"][at].as_py().split('"', 2)[1])
        done = at + 1
    fold.add(_rows(batch.slice(done)))


def _rows(batch: pyarrow.RecordBatch) -> pyarrow.RecordBatch:
    rows = batch.filter(batch["record"].is_null())
    return rows.select(SCHEMA.names).cast(SCHEMA) if "born" in rows.schema.names else rows_of(rows)
