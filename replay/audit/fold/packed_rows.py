"""Packs many rows into one binary value, so that Spark moves rows between tasks unconverted."""

from collections.abc import Iterable, Iterator
from zlib import crc32

import numpy
import pyarrow
import pyarrow.compute as pc

PACKED_SQL = "bucket long, position long, rank long, rows binary"
"""The columns of packed rows; sort by position and rank to get the rows in order."""

OTHERS = -1
"""The bucket of rows that are not split by topic."""

_BUCKETS = 64
_ROWS_MAX = 500_000
_FIRST = (r'^\{"NamespaceRecord"', r'^\{"TopicRecord"')
"""Types to apply first in a base, whose records have no order, because other records need them."""


_SQL_TYPES = {
    pyarrow.bool_(): "boolean",
    pyarrow.int32(): "int",
    pyarrow.int64(): "long",
    pyarrow.string(): "string",
    pyarrow.list_(pyarrow.int32()): "array<int>",
    pyarrow.list_(pyarrow.int64()): "array<long>",
    pyarrow.list_(pyarrow.string()): "array<string>",
}


def columns_sql(schema: pyarrow.Schema, names: Iterable[str]) -> str:
    """Return the declaration of some columns of a schema in Spark's SQL, such as `id string`."""
    return ", ".join(f"{name} {_SQL_TYPES[schema.field(name).type]}" for name in names)


def packed(rows: pyarrow.Table, bucket: int = OTHERS) -> Iterator[pyarrow.RecordBatch]:
    """Yield rows packed into the columns of `PACKED_SQL`; the rows must be in order."""
    for rank, some in enumerate(_ranked(rows)):
        for start in range(0, some.num_rows, _ROWS_MAX):
            part = some.slice(start, _ROWS_MAX)
            value = [bucket, part["position"][0].as_py(), rank, _stream(part)]
            names = ["bucket", "position", "rank", "rows"]
            yield pyarrow.record_batch([[each] for each in value], names=names)


def packed_by_topic(rows: pyarrow.Table) -> Iterator[pyarrow.RecordBatch]:
    """Yield rows packed like `packed`, but distributed over several buckets by topic."""
    topics = rows["topic_id"].combine_chunks().dictionary_encode()
    numbers = [crc32(topic_id) % _BUCKETS for topic_id in topics.dictionary.to_pylist()]
    buckets = numpy.array(numbers, numpy.int64)[topics.indices.to_numpy()]
    order = numpy.argsort(buckets, kind="stable")
    rows = rows.take(pyarrow.array(order))
    bounds = numpy.searchsorted(buckets[order], numpy.arange(_BUCKETS + 1)).tolist()
    for bucket in range(_BUCKETS):
        start, end = bounds[bucket : bucket + 2]
        yield from packed(rows.slice(start, end - start), bucket)


def unpacked(batches: Iterable[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
    """Yield the rows in packed batches; other batches are yielded unchanged."""
    for batch in batches:
        if "rows" not in batch.schema.names:
            yield batch
            continue
        for stream in batch["rows"]:
            with pyarrow.ipc.open_stream(stream.as_buffer()) as reader:
                yield from reader


def _ranked(rows: pyarrow.Table) -> list[pyarrow.Table]:
    """Split rows into parts that must be applied in this order.

    Rows of a base all have the same position: namespaces and topics come first, because other
    records need them. Rows of the log are one part.
    """
    if not rows.num_rows or rows["position"][0] != rows["position"][-1]:
        return [rows]
    parts = []
    for pattern in _FIRST:
        is_first = pc.match_substring_regex(rows["record"], pattern).fill_null(False)
        parts.append(rows.filter(is_first))
        rows = rows.filter(pc.invert(is_first))
    return [*parts, rows]


def _stream(rows: pyarrow.Table) -> bytes:
    sink = pyarrow.BufferOutputStream()
    options = pyarrow.ipc.IpcWriteOptions(compression="lz4")
    with pyarrow.ipc.new_stream(sink, rows.schema, options=options) as writer:
        writer.write_table(rows)
    return bytes(sink.getvalue())
