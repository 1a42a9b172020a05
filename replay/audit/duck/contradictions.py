"""The view `contradictions`, from the records of a log."""

from collections.abc import Iterable, Iterator

import pyarrow

from replay.audit.duck.records import Records
from replay.audit.fold import workers
from replay.audit.fold.contradictions import (
    Contradiction,
    Partition,
    first_contradiction,
    misplaced_marker,
)
from replay.audit.fold.event_table import with_spans
from replay.audit.fold.objects import CONTROL
from replay.audit.fold.said import Said
from replay.audit.fold.texts import id_text
from replay.audit.record_types import BULK, MARKERS, RARE

_FIRST = ("NamespaceRecord", "TopicRecord")
"""Types to apply first in a base, whose records have no order, because other records need them."""


def contradictions_table(records: Records, at: int) -> pyarrow.Table:
    """Return the first record up to an offset that contradicts the state before it, or no row."""
    replayed_from = records.files.base_end_offset
    batches = records.of_types(at, RARE | BULK)
    others = list(workers.said(records.others(at)))
    undone = workers.known(records.others(at)).undone
    found = [
        first_contradiction(_in_effect(batches, others, undone), replayed_from),
        misplaced_marker(said for said in others if said.name in MARKERS),
    ]
    first = [each for each in found if each is not None and each.position >= replayed_from]
    rows = sorted(first, key=lambda each: (each.position, each.what))[:1]
    columns = zip(*rows, strict=True) if rows else [()] * len(Contradiction._fields)
    names = ("offset", "timestamp", "record", "object", "what")
    types = (pyarrow.int64(), pyarrow.int64(), *[pyarrow.string()] * 3)
    arrays = [pyarrow.array(c, t) for c, t in zip(columns, types, strict=True)]
    return pyarrow.table(arrays, names=list(names))


def _in_effect(
    batches: Iterable[pyarrow.RecordBatch], others: list[Said], undone: list[tuple[int, int]]
) -> list[Said | Partition]:
    """Return the records in effect, in order; in a base, those that others need come first."""
    kept = [said for said in others if said.name in CONTROL or not _is_undone(said, undone)]
    return sorted([*kept, *_partitions(batches, undone)], key=_rank)


def _rank(record: Said | Partition) -> tuple[int, int]:
    return record.position, _FIRST.index(record.name) if record.name in _FIRST else len(_FIRST)


def _is_undone(said: Said, undone: list[tuple[int, int]]) -> bool:
    return any(first <= said.position <= last for first, last in undone)


def _partitions(
    batches: Iterable[pyarrow.RecordBatch], undone: list[tuple[int, int]]
) -> Iterator[Partition]:
    for batch in batches:
        rows = pyarrow.Table.from_batches([batch])
        kept = with_spans(rows.filter(rows["record"].is_null()), undone)
        # A PartitionChangeRecord has no epochs.
        columns = (kept[name].to_pylist() for name in ("position", "timestamp", "topic_id"))
        numbers = kept["partition_id"].to_pylist()
        wholes = kept["leader_epoch"].is_valid().to_pylist()
        spans = kept["span"].to_pylist()
        rows_ = zip(*columns, numbers, wholes, spans, strict=True)
        for position, timestamp, topic_id, number, is_whole, span in rows_:
            if span < 0:
                yield Partition(position, timestamp, id_text(topic_id), number, is_whole)
