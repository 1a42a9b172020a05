"""Functions that Spark's Python workers run on batches of records."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import msgspec
import pyarrow
import pyarrow.compute as pc

from replay.audit.fold.changes import Changes, Row, Said
from replay.audit.fold.objects import ABORT, BEGIN, END, Objects
from replay.audit.fold.partitions import SCHEMA, ended, rows_of
from replay.audit.fold.texts import Sums
from replay.audit.fold.transactions import TransactionFold

_ROWS_A_BATCH = 10_000
_ROWS_A_STREAM = 500_000

Batches = Iterable[pyarrow.RecordBatch]


PACKED_SQL = "position long, rank long, rows binary"
"""The columns of `fold_range`: `rows` is an Arrow stream of the columns `_FOLDED`."""

_FOLDED = pyarrow.schema([("record", pyarrow.string()), *SCHEMA])
_MARKER = rf'^\{{"({BEGIN}|{END}|{ABORT})"'
_FIRST = (r'^\{"NamespaceRecord"', r'^\{"TopicRecord"')
"""In a base, whose records have no order, other records need these."""


def fold_range(batches: Batches) -> Iterator[pyarrow.RecordBatch]:
    """Fold the records of partitions in a range of the log; pass on all others.

    The result is packed, so that Spark moves it without converting its rows.

    Args:
        batches: Records in order: position, record (JSON; null for those of partitions), and the
            columns of `rows_of`.

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
    rows = rows.sort_by("position")
    if not rows.num_rows:
        return
    first, last = rows["position"][0], rows["position"][-1]
    ranks = _ranked(rows) if first == last else [rows]
    for rank, some in enumerate(ranks):
        for start in range(0, some.num_rows, _ROWS_A_STREAM):
            part = some.slice(start, _ROWS_A_STREAM)
            columns = [[part["position"][0].as_py()], [rank], [_packed(part)]]
            yield pyarrow.record_batch(columns, names=["position", "rank", "rows"])


def _unpacked(batches: Batches) -> Iterator[pyarrow.RecordBatch]:
    """Yield batches as they are, or the rows that `fold_range` packed in them."""
    for batch in batches:
        if "rows" not in batch.schema.names:
            yield batch
            continue
        for stream in batch["rows"]:
            with pyarrow.ipc.open_stream(stream.as_buffer()) as reader:
                yield from reader


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
    """Return the partitions at the end of a log; takes the same batches as `digest`."""
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
    """What the changes of partitions depend on in other records.

    Attributes:
        undone: The first and the last position of each transaction that was aborted or is still
            open.
        spaces: The names of all namespaces that were ever created, by id.
    """

    undone: list[tuple[int, int]] = msgspec.field(default_factory=list)
    spaces: dict[str, str] = msgspec.field(default_factory=dict)


def context(batches: Batches) -> Iterator[pyarrow.RecordBatch]:
    """Apply records (position, JSON) in order, and return a `Context` as JSON in one row."""
    objects = _applied(batches)
    found = Context(undone=objects.undone, spaces=objects.names.spaces)
    yield pyarrow.record_batch({"context": [msgspec.json.encode(found).decode()]})


CHANGES = pyarrow.schema(
    [
        ("offset", pyarrow.int64()),
        ("timestamp", pyarrow.int64()),
        *((name, pyarrow.string()) for name in ("kind", "id", "name", "field", "before", "after")),
        *((name, pyarrow.string()) for name in ("record", "principal", "command", "reason")),
        ("in_effect", pyarrow.bool_()),
    ]
)
_SQL_TYPES = {pyarrow.int64(): "long", pyarrow.string(): "string", pyarrow.bool_(): "boolean"}
CHANGES_SQL = ", ".join(f"{field.name} {_SQL_TYPES[field.type]}" for field in CHANGES)


def changes(batches: Batches) -> Iterator[pyarrow.RecordBatch]:
    """Return the changes of records, which are in order.

    The records are all of the log, or all except those of partitions.
    """
    return _changes(Changes({}).of_all(_said(batches)))


def topic_changes(
    batches: Batches, undone: list[tuple[int, int]], spaces: dict[str, str]
) -> Iterator[pyarrow.RecordBatch]:
    """Return the changes of partitions; takes all records, in order, of some topics.

    Args:
        undone: The first and the last position of each aborted or still open transaction.
        spaces: The names of namespaces, by id.
    """
    rows = Changes(spaces).of_topics(_said(batches), undone)
    return _changes(row for row in rows if row[2] == "partitions")


def _changes(rows: Iterator[Row]) -> Iterator[pyarrow.RecordBatch]:
    while some := list(islice(rows, _ROWS_A_BATCH)):
        columns = zip(*some, strict=True)
        arrays = [
            pyarrow.array(column, field.type)
            for column, field in zip(columns, CHANGES, strict=True)
        ]
        yield pyarrow.RecordBatch.from_arrays(arrays, schema=CHANGES)


def _said(batches: Batches) -> Iterator[Said]:
    # Numbers with a fraction stay as Spark wrote them.
    decoder = msgspec.json.Decoder(dict[str, dict[str, Any]], float_hook=str)
    for batch in batches:
        rows = zip(*(column.to_pylist() for column in batch.columns), strict=True)
        for position, text, timestamp, principal, command, reason in rows:
            ((name, fields),) = decoder.decode(text).items()
            yield Said(position, timestamp, principal, command, reason, name, fields)


def _applied(batches: Batches, fold: TransactionFold | None = None) -> Objects:
    """Apply records; add those of partitions, if there are any, to a fold."""
    objects = Objects()
    objects.apply_all(_records(batches, fold))
    return objects


def _records(
    batches: Batches, fold: TransactionFold | None
) -> Iterator[tuple[int, str, dict[str, Any]]]:
    decoder = msgspec.json.Decoder(dict[str, dict[str, Any]])
    for batch in _unpacked(batches):
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


def _ranked(rows: pyarrow.Table) -> list[pyarrow.Table]:
    """Split the records of a base, which have one position, by the order they are needed in."""
    ranks = []
    for pattern in _FIRST:
        is_first = pc.match_substring_regex(rows["record"], pattern).fill_null(False)
        ranks.append(rows.filter(is_first))
        rows = rows.filter(pc.invert(is_first))
    return [*ranks, rows]


def _packed(rows: pyarrow.Table) -> bytes:
    sink = pyarrow.BufferOutputStream()
    options = pyarrow.ipc.IpcWriteOptions(compression="lz4")
    with pyarrow.ipc.new_stream(sink, _FOLDED, options=options) as writer:
        writer.write_table(rows)
    return bytes(sink.getvalue())
