"""Functions that Spark's Python workers run on batches of records."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import msgspec
import pyarrow

from replay.audit.fold.changes import Changes, Row, Said
from replay.audit.fold.objects import Ends, Objects
from replay.audit.fold.partitions import ended, folded
from replay.audit.fold.texts import Sums

_ROWS_A_BATCH = 10_000

Batches = Iterable[pyarrow.RecordBatch]


class Found(msgspec.Struct):
    """Result of applying all records except those of partitions.

    Attributes:
        sums: By part, the number of objects and the four lanes of the digest.
        undone: The first and the last position of each transaction that was aborted or is still
            open.
        ends: Removals of partitions and clearings of their ELR.
        spaces: The names of all namespaces that were ever created, by id.
    """

    sums: dict[str, list[int]] = msgspec.field(default_factory=dict)
    undone: list[tuple[int, int]] = msgspec.field(default_factory=list)
    ends: Ends = msgspec.field(default_factory=Ends)
    spaces: dict[str, str] = msgspec.field(default_factory=dict)


def digest_objects(batches: Batches) -> Iterator[pyarrow.RecordBatch]:
    """Apply records (position, JSON) in order, and return `Found` as JSON in one row."""
    objects = _applied(batches)
    sums: dict[str, Sums] = {}
    for part, each in objects.objects():
        if part not in sums:
            sums[part] = Sums(part)
        sums[part].add(each)
    numbers = {part: each.numbers() for part, each in sums.items()}
    found = Found(
        sums=numbers, undone=objects.undone, ends=objects.ends, spaces=objects.names.spaces
    )
    yield pyarrow.record_batch({"found": [msgspec.json.encode(found).decode()]})


def objects_of(batches: Batches, part: str) -> Iterator[pyarrow.RecordBatch]:
    """Apply records (position, JSON) in order, and return the objects of a part as JSON."""
    objects = (each for name, each in _applied(batches).objects() if name == part)
    texts = (msgspec.json.encode(each).decode() for each in objects)
    while some := list(islice(texts, _ROWS_A_BATCH)):
        yield pyarrow.record_batch({"object": some})


def fold_partitions(batches: Batches) -> Iterator[pyarrow.RecordBatch]:
    """Fold the partition rows of one range of the log, into one row per partition."""
    yield from folded(batches).to_batches()


def end_partitions(batches: Batches, ends: Ends) -> Iterator[pyarrow.RecordBatch]:
    """Fold partition rows, and return the partitions that exist at the end of the log."""
    yield from ended(folded(batches), ends)


def digest_partitions(batches: Batches, ends: Ends) -> Iterator[pyarrow.RecordBatch]:
    """Fold partition rows; return one row with the number of partitions and the digest's lanes."""
    sums = Sums("partitions")
    for batch in ended(folded(batches), ends):
        sums.add_batch(batch)
    yield pyarrow.record_batch({"numbers": [list(map(str, sums.numbers()))]})


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


def _applied(batches: Batches) -> Objects:
    objects = Objects()
    objects.apply_all(_records(batches))
    return objects


def _records(batches: Batches) -> Iterator[tuple[int, str, dict[str, Any]]]:
    decoder = msgspec.json.Decoder(dict[str, dict[str, Any]])
    for batch in batches:
        positions, texts = (column.to_pylist() for column in batch.columns)
        for position, text in zip(positions, texts, strict=True):
            ((name, fields),) = decoder.decode(text).items()
            yield position, name, fields
