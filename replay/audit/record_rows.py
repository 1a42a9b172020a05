"""Records as flat rows for Arrow: the columns of the view `log`, with the record as JSON.

New record types do not change the schema, so a stream continues after an upgrade.
"""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import msgspec
import pyarrow
from pyspark.sql import types as T

from records.base import Record
from records.envelope import Envelope, Origin
from records.json import to_json
from records.secrets import redact_record
from records.text import uuid_text

SCHEMA = T.StructType(
    [
        T.StructField("offset", T.LongType()),
        T.StructField("leader_epoch", T.IntegerType()),
        T.StructField("time", T.TimestampType()),
        T.StructField("timestamp", T.LongType()),
        T.StructField("batch_offset", T.LongType()),
        T.StructField("record_version", T.IntegerType()),
        T.StructField("type", T.StringType()),
        T.StructField("topic_id", T.StringType()),
        T.StructField("partition_id", T.IntegerType()),
        T.StructField("principal", T.StringType()),
        T.StructField("command", T.StringType()),
        T.StructField("reason", T.StringType()),
        T.StructField("request_id", T.StringType()),
        T.StructField("client", T.StringType()),
        T.StructField("trace_parent", T.StringType()),
        T.StructField("data", T.StringType()),
        T.StructField("confirmed", T.BooleanType()),
    ]
)
"""The columns; all are nullable, because a gap's row has only offset, type, data and confirmed."""

GAP = "HistoryGap"
"""The `type` of a row that stands for records that are no longer kept."""

_ARROW_TYPES = {
    T.LongType(): pyarrow.int64(),
    T.IntegerType(): pyarrow.int32(),
    T.StringType(): pyarrow.string(),
    T.TimestampType(): pyarrow.timestamp("us", tz="UTC"),
    T.BooleanType(): pyarrow.bool_(),
}
_ARROW_SCHEMA = pyarrow.schema(
    [(field.name, _ARROW_TYPES[field.dataType]) for field in SCHEMA.fields]
)
_ROWS_A_BATCH = 5_000
_NO_ORIGIN = Origin()
_US_A_MS = 1_000


def arrow_batches(
    rows: Iterable[Envelope], confirmed_end: int, *, show_secrets: bool
) -> Iterator[pyarrow.RecordBatch]:
    """Yield rows of the log as Arrow batches of `SCHEMA`.

    Args:
        confirmed_end: Offset from which Kafka may still replace records of a mirror.
    """
    flat = (_flat(row, confirmed_end, show_secrets=show_secrets) for row in rows)
    while some := list(islice(flat, _ROWS_A_BATCH)):
        yield _batch(some)


def gap_batch(from_offset: int, to_offset: int) -> pyarrow.RecordBatch:
    """Return a batch of one row that stands for the records at [from_offset, to_offset).

    Used for records that the log has deleted.
    """
    data = _json({"from_offset": from_offset, "to_offset": to_offset})
    row = dict.fromkeys(SCHEMA.names) | {"offset": from_offset, "type": GAP, "data": data}
    return _batch([tuple({**row, "confirmed": True}.values())])


def _batch(rows: list[tuple[Any, ...]]) -> pyarrow.RecordBatch:
    columns = zip(*rows, strict=True)
    arrays = [
        pyarrow.array(column, type=field.type)
        for column, field in zip(columns, _ARROW_SCHEMA, strict=True)
    ]
    return pyarrow.RecordBatch.from_arrays(arrays, schema=_ARROW_SCHEMA)


def _flat(row: Envelope, confirmed_end: int, *, show_secrets: bool) -> tuple[Any, ...]:
    record, origin = row.payload, row.origin or _NO_ORIGIN
    name = type(record).__name__
    fields = to_json(record)
    topic_id = getattr(record, "topic_id", None)
    return (
        row.offset,
        row.leader_epoch,
        row.timestamp * _US_A_MS,
        row.timestamp,
        row.batch_offset,
        row.record_version,
        name,
        None if topic_id is None else uuid_text(topic_id),
        _partition_id(record),
        origin.principal,
        origin.command,
        origin.reason,
        origin.request_id,
        origin.client,
        origin.trace_parent,
        _json(fields if show_secrets else redact_record(name, fields)),
        row.offset < confirmed_end,
    )


def _partition_id(record: Record) -> int | None:
    return getattr(record, "partition_id", None)


def _json(fields: dict[str, Any]) -> str:
    return msgspec.json.encode(fields).decode()
