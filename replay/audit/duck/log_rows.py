"""The view `log`: each record in a range, with its fields as JSON."""

from collections.abc import Iterator
from typing import Any

import msgspec
import pyarrow

from records import registry
from records.avro.schema import envelope_schema
from records.secrets import redact_record
from replay.audit.decoding.columns import JSON, Wanted
from replay.audit.decoding.log_scan import POSITION, LogScan, tasks
from replay.audit.duck.arrow_types import arrow_value
from replay.audit.log_files import LogFiles
from replay.audit.queries.asking import Range

_ORIGIN = ("principal", "command", "reason", "request_id", "client", "trace_parent")
_ENVELOPE = pyarrow.schema(
    [
        (POSITION, pyarrow.int64()),
        ("leader_epoch", pyarrow.int32()),
        ("timestamp", pyarrow.int64()),
        ("batch_offset", pyarrow.int64()),
        ("record_version", pyarrow.int32()),
        *((name, pyarrow.string()) for name in _ORIGIN),
    ]
)
_HIDDEN = "placeholder"
"""A field that exists only because an Avro record must have one."""

_DATA = pyarrow.schema(
    [
        ("type", pyarrow.string()),
        ("topic_id", pyarrow.string()),
        ("partition_id", pyarrow.int32()),
        ("data", pyarrow.string()),
    ]
)


def log_table(files: LogFiles, offsets: Range, *, show_secrets: bool) -> pyarrow.Table:
    """Return the records in a range.

    Returns:
        offset int64, leader_epoch int32, time timestamp (UTC), timestamp int64 (ms), batch_offset
        int64, record_version int32, type string, topic_id string (null for records without a
        topic), partition_id int32, principal, command, reason, request_id, client, trace_parent,
        and data, the record's fields as JSON with ids as text; secrets are redacted by default.
    """
    every = frozenset(registry.BY_NAME)
    wanted = Wanted(
        types=_ENVELOPE,
        paths={name: _paths(name) for name in _ENVELOPE.names},
        union="payload",
        kept=every,
        in_json=every,
        schema=envelope_schema(),
    )
    paths = files.in_range(offsets.first, offsets.last + 1)
    parts = tasks([files.place(path) for path in paths])
    scan = LogScan(parts, wanted, offsets.first, offsets.last + 1)
    batches = [each for number in range(len(parts)) for each in scan.batches(number)]
    schema = pyarrow.schema([*_ENVELOPE, (JSON, pyarrow.string())])
    rows = pyarrow.Table.from_batches(batches, schema)
    data = list(_data(rows[JSON].to_pylist(), show_secrets=show_secrets))
    columns = zip(*data, strict=True) if data else [()] * len(_DATA)
    arrays = [pyarrow.array(c, f.type) for c, f in zip(columns, _DATA, strict=True)]
    times = rows["timestamp"].cast(pyarrow.timestamp("ms")).cast(pyarrow.timestamp("us", "UTC"))
    found: dict[str, Any] = {name: rows[name] for name in _ENVELOPE.names}
    found |= dict(zip(_DATA.names, arrays, strict=True)) | {"time": times}
    found["offset"] = found[POSITION]
    return pyarrow.table({name: found[name] for name in _COLUMNS})


_COLUMNS = (
    *("offset", "leader_epoch", "time", "timestamp", "batch_offset", "record_version"),
    *("type", "topic_id", "partition_id", *_ORIGIN, "data"),
)


def _paths(column: str) -> tuple[str, ...]:
    if column == POSITION:
        return ("offset",)
    return (f"origin.{column}",) if column in _ORIGIN else (column,)


def _data(
    texts: list[str], *, show_secrets: bool
) -> Iterator[tuple[str, str | None, int | None, str]]:
    """Yield the values of `_DATA` for records as JSON objects of a type and its fields."""
    for text in texts:
        ((name, written),) = msgspec.json.decode(text).items()
        fields = arrow_value(written, registry.schema(name), {})
        fields.pop(_HIDDEN, None)
        shown = fields if show_secrets else redact_record(name, fields)
        data = msgspec.json.encode(shown).decode()
        yield name, fields.get("topic_id"), fields.get("partition_id"), data
