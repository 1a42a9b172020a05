"""Builds the table of the events of partitions: one row per record or removal of a partition."""

from collections import defaultdict

import msgspec
import numpy
import pyarrow
import pyarrow.compute as pc

from replay.audit.fold.objects import FOR_EVER
from replay.audit.fold.partitions import set_values
from replay.audit.fold.plans import BEGIN, CANCEL, REMOVAL
from replay.audit.fold.topic_names import Fields

FIELDS = (
    *("replicas", "isr", "removing_replicas", "adding_replicas", "leader"),
    *("leader_recovery_state", "directories", "eligible_leader_replicas", "last_known_elr", "mode"),
)
ORIGIN = ("principal", "command", "reason")

SAID = ("position", "timestamp", *ORIGIN, "topic_id")
"""Columns that an event takes over from its record."""


def with_spans(records: pyarrow.Table, undone: list[tuple[int, int]]) -> pyarrow.Table:
    """Drop the records of a transaction that is still open, and add the column `span`.

    `span` is the number of the aborted transaction that the record belongs to, or -1.
    """
    positions = records["position"].to_numpy()
    begins, ends = numpy.array([(-1, -1), *undone]).T
    span = numpy.searchsorted(begins, positions, "right") - 1
    span[positions > ends[span]] = -1
    is_open = (span >= 0) & (ends[span] == FOR_EVER)
    records = records.append_column("span", pyarrow.array(span))
    return records.filter(pyarrow.array(~is_open)) if is_open.any() else records


RECORDS = ("PartitionRecord", "PartitionChangeRecord", "RemoveTopicRecord", REMOVAL, BEGIN, CANCEL)
"""The types of the records of events, by their numbers in the column `record`."""

_Names = dict[bytes, list[tuple[int, str]]]
"""By topic id, each position at which the topic took a name (ascending), and the full name."""

_Removals = list[tuple[int, str, int]]
"""Index and type of each record that plans, cancels or does a removal, and the partition's id."""

BEGUN, OVER, NO_PLAN = 1, 0, -1
"""Effect of an event on the plan to remove its partition: planned, ended, unaffected."""

_PLANNED = {BEGIN: BEGUN, CANCEL: OVER}


def names_and_removals(records: pyarrow.Table, spaces: dict[str, str]) -> tuple[_Names, _Removals]:
    """Return the topic names in effect and the partition removals, from the records of topics."""
    names: _Names = defaultdict(list)
    removals: _Removals = []
    decoder = msgspec.json.Decoder(dict[str, Fields])
    (rows,) = numpy.nonzero(records["record"].is_valid().to_numpy())
    others = records.select(["position", "record", "topic_id", "span"]).take(pyarrow.array(rows))
    is_removal = pc.starts_with(others["record"], '{"RemoveTopicRecord"')
    known = _partition_ids(records, others.filter(is_removal)["topic_id"])
    for row, other in zip(rows.tolist(), others.to_pylist(), strict=True):
        ((name, fields),) = decoder.decode(other["record"]).items()
        if name == "RemoveTopicRecord":
            removals += [(row, name, each) for each in known.get(other["topic_id"], ())]
        elif name in (REMOVAL, *_PLANNED):
            removals += [(row, name, each) for each in fields["partition_ids"]]
        elif other["span"] < 0:
            space = spaces.get(fields.get("namespace_id", ""))
            full_name = fields["name"] if space is None else f"{space}:{fields['name']}"
            names[other["topic_id"]].append((other["position"], full_name))
    return names, removals


def _partition_ids(records: pyarrow.Table, topics: pyarrow.ChunkedArray) -> dict[bytes, list[int]]:
    """Return, by topic, the ids of all partitions of some topics that occur in the records."""
    is_one = pc.and_(records["record"].is_null(), pc.is_in(records["topic_id"], topics))
    keys = records.select(["topic_id", "partition_id"]).filter(is_one)
    found = defaultdict(list)
    for key in keys.group_by(["topic_id", "partition_id"]).aggregate([]).to_pylist():
        found[key["topic_id"]].append(key["partition_id"])
    return found


def event_table(records: pyarrow.Table, removals: _Removals) -> pyarrow.RecordBatch:
    """Return the table of events, one row each.

    The columns are those of `SAID`, partition_id, those of `FIELDS` that the records have, record
    (an index in `RECORDS`), span, is_removal and planned.
    """
    of_partitions = _batch(records.filter(records["record"].is_null()))
    values = set_values(of_partitions)
    kept = pyarrow.table({name: of_partitions[name] for name in (*SAID, "span")})
    is_change = values["leader_epoch"].is_null()
    kept = kept.append_column("record", is_change.cast(pyarrow.int32()))
    for name in ("partition_id", *FIELDS):
        if name in values:
            kept = kept.append_column(name, values[name])
    rows, types, ids = zip(*removals, strict=True) if removals else ((), (), ())
    gone = records.select([*SAID, "span"]).take(pyarrow.array(rows, pyarrow.int64()))
    numbers = [RECORDS.index(name) for name in types]
    gone = gone.append_column("record", pyarrow.array(numbers, pyarrow.int32()))
    gone = gone.append_column("partition_id", pyarrow.array(ids, pyarrow.int32()))
    planned = numpy.full(kept.num_rows + gone.num_rows, NO_PLAN)
    planned[kept.num_rows :] = [_PLANNED.get(name, OVER) for name in types]
    is_removal = numpy.zeros(len(planned), bool)
    is_removal[kept.num_rows :] = [name not in _PLANNED for name in types]
    events = pyarrow.concat_tables([kept, gone], promote_options="default")
    events = events.append_column("is_removal", pyarrow.array(is_removal))
    return _batch(events.append_column("planned", pyarrow.array(planned)))


def _batch(table: pyarrow.Table) -> pyarrow.RecordBatch:
    arrays = [column.combine_chunks() for column in table.columns]
    return pyarrow.record_batch(arrays, names=table.column_names)
