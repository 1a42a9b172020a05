"""Records as flat rows for Arrow: the columns of the view `log`, with the record as JSON.

New record types do not change the schema, so a stream continues after an upgrade.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from operator import attrgetter
from typing import Any

import msgspec
import pyarrow
from pyspark.sql import types as T

from records.envelope import Envelope
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
_US_A_MS = 1_000


def arrow_batches(
    rows: Iterable[Envelope],
    confirmed_end: int,
    columns: Sequence[str],
    *,
    show_secrets: bool,
) -> Iterator[pyarrow.RecordBatch]:
    """Yield rows of the log as Arrow batches.

    Args:
        confirmed_end: Offset from which Kafka may still replace records of a mirror.
        columns: Names of the columns of `SCHEMA` to return.
    """
    values = _VALUES | {
        "confirmed": lambda row: row.offset < confirmed_end,
        "data": _with_secrets if show_secrets else _without_secrets,
    }
    schema = pyarrow.schema([_ARROW_SCHEMA.field(name) for name in columns])
    rows = iter(rows)
    while some := list(islice(rows, _ROWS_A_BATCH)):
        arrays = [
            pyarrow.array(map(values[field.name], some), field.type, size=len(some))
            for field in schema
        ]
        yield pyarrow.RecordBatch.from_arrays(arrays, schema=schema)


def gap_batch(from_offset: int, to_offset: int, columns: Sequence[str]) -> pyarrow.RecordBatch:
    """Return a batch of one row that stands for the records at [from_offset, to_offset).

    Used for records that the log has deleted.
    """
    data = _json({"from_offset": from_offset, "to_offset": to_offset})
    row = {"offset": from_offset, "type": GAP, "data": data, "confirmed": True}
    schema = pyarrow.schema([_ARROW_SCHEMA.field(name) for name in columns])
    return pyarrow.RecordBatch.from_pylist([row], schema)


def _origin(name: str) -> Callable[[Envelope], Any]:
    value = attrgetter(name)
    return lambda row: None if row.origin is None else value(row.origin)


def _topic_id(row: Envelope) -> str | None:
    topic_id = getattr(row.payload, "topic_id", None)
    return None if topic_id is None else uuid_text(topic_id)


def _with_secrets(row: Envelope) -> str:
    return _json(to_json(row.payload))


def _without_secrets(row: Envelope) -> str:
    return _json(redact_record(type(row.payload).__name__, to_json(row.payload)))


def _json(fields: dict[str, Any]) -> str:
    return msgspec.json.encode(fields).decode()


_VALUES: dict[str, Callable[[Envelope], Any]] = {
    **{name: attrgetter(name) for name in ("offset", "leader_epoch", "timestamp")},
    **{name: attrgetter(name) for name in ("batch_offset", "record_version")},
    **{name: _origin(name) for name in ("principal", "command", "reason")},
    **{name: _origin(name) for name in ("request_id", "client", "trace_parent")},
    "time": lambda row: row.timestamp * _US_A_MS,
    "type": lambda row: type(row.payload).__name__,
    "topic_id": _topic_id,
    "partition_id": lambda row: getattr(row.payload, "partition_id", None),
}
"""Functions that return the values of columns of `SCHEMA`; `arrow_batches` has the others."""
