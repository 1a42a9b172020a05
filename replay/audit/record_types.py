"""The record types that the folds need, and the fields to decode from them."""

from collections.abc import Collection

import pyarrow

from records import registry
from records.avro.schema import envelope_schema
from replay.audit.decoding.columns import Wanted
from replay.audit.decoding.log_scan import POSITION, Task, tasks
from replay.audit.fold.event_table import FIELDS
from replay.audit.fold.objects import ABORT, BEGIN, END
from replay.audit.fold.partitions import PARTITION
from replay.audit.log_files import LogFiles

BULK = frozenset({"PartitionRecord", "PartitionChangeRecord"})
"""Types of the most frequent records; read by a separate scan and never cached."""

_SILENT = frozenset(
    {
        "LeaderChangeMessage",
        "NoOpRecord",
        "NoOpRunRecord",
        "SnapshotFooterRecord",
        "SnapshotHeaderRecord",
        "UnknownRecord",
    }
)
"""Types of records without effect on the state."""

RARE = frozenset(registry.BY_NAME) - BULK - _SILENT
"""All types that are neither in BULK nor without effect on the state."""

_WHOLE_ONLY = ("leader_epoch", "partition_epoch")
_OF_TOPIC = (
    *("TopicRecord", "MoveTopicRecord", "RemoveTopicRecord", "RemovePartitionsRecord"),
    *("DeleteTopicPartitionsRecord", "CancelDeleteTopicPartitionsRecord"),
)
_ORIGIN = pyarrow.schema(
    [
        ("timestamp", pyarrow.int64()),
        *((name, pyarrow.string()) for name in ("principal", "command", "reason")),
    ]
)
_UNION = "payload"

MARKERS = frozenset({BEGIN, END, ABORT})

OF_TOPICS = frozenset({*_OF_TOPIC, *MARKERS, "NamespaceRecord"})
"""Types of other records that the changes of partitions depend on."""


def scan_tasks(files: LogFiles, at: int) -> tuple[Task, ...]:
    """Return the tasks that read all records up to an offset, inclusive; the base comes first."""
    paths = files.in_range(files.base_end_offset, at + 1)
    of_log = tasks([files.place(path) for path in paths])
    if files.base is None:
        return of_log
    # The base's rows come before every replayed record. Among themselves they have no order,
    # because each is the whole state of its object.
    before = files.base_end_offset - 1
    of_base = tasks([files.place(files.base)])
    return (*(Task(each.ranges, before) for each in of_base), *of_log)


def wanted_records(
    types: frozenset[str], *, with_origin: bool, fields: Collection[str] = FIELDS
) -> Wanted:
    """Return the description of what to decode from records of some types.

    Args:
        with_origin: Also decode timestamp, principal, command and reason.
        fields: The fields in `FIELDS` to decode from records of partitions.
    """
    of_partitions = [each for each in PARTITION if each.name not in {*FIELDS} - {*fields}]
    columns = pyarrow.schema(
        [(POSITION, pyarrow.int64()), *of_partitions, *(_ORIGIN if with_origin else ())]
    )
    return Wanted(
        types=columns,
        paths={name: _paths(name) for name in columns.names},
        union=_UNION,
        kept=types,
        in_json=types - BULK,
        schema=envelope_schema(),
    )


def _paths(column: str) -> tuple[str, ...]:
    """Return the paths of the fields from which a column is read."""
    if column == POSITION:
        return ("offset",)
    if column == "timestamp":
        return ("timestamp",)
    if column in _ORIGIN.names:
        return (f"origin.{column}",)
    records = ["PartitionRecord"]
    if column not in _WHOLE_ONLY:
        records.append("PartitionChangeRecord")
    if column == "topic_id":
        records.extend(_OF_TOPIC)
    return tuple(f"{_UNION}.{record}.{column}" for record in records)
