"""The records of a history, decoded in Spark's Python workers for the folds (fold/)."""

from collections.abc import Callable, Collection, Iterable, Iterator
from functools import partial
from itertools import chain

import pyarrow
from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from replay.audit.decoding.log_scan import LogScan
from replay.audit.fold import workers
from replay.audit.fold.event_table import FIELDS
from replay.audit.history import History
from replay.audit.record_types import MARKERS, wanted_records

Batches = Iterable[pyarrow.RecordBatch]
Work = Callable[[Batches], Iterator[pyarrow.RecordBatch]]


def worked(
    history: History,
    types: frozenset[str],
    work: Work,
    schema: str | StructType,
    *,
    with_origin: bool = False,
    fields: Collection[str] = FIELDS,
) -> DataFrame:
    """Call `work` in each task with the task's records of some types; return all results.

    `work` gets the records in order, including those that took no effect, as batches with these
    columns: position; record, a JSON object of the record's type and its fields, null for records
    of partitions; the fields of records of partitions, with null epochs in a PartitionChangeRecord;
    topic_id, which other records of a topic have too; and with `with_origin` also timestamp,
    principal, command and reason.

    Args:
        types: The types of the records.
        work: A function that can be pickled.
        schema: The schema of the results of `work`, in a form that Spark accepts.
        fields: The fields in `FIELDS` that `work` needs.
    """
    wanted = wanted_records(types, with_origin=with_origin, fields=fields)
    reading = history.reading(wanted)
    count = len(reading.tasks)
    numbers = history.spark.range(0, count, 1, max(count, 1))
    return numbers.mapInArrow(partial(_work, reading=reading, work=work), schema)


def effect_of(history: History, first: int) -> int:
    """Return the first offset whose record takes effect at or after `first`.

    This is `first` itself or, if a transaction is open at `first`, the transaction's start, because
    all records of a transaction take effect at its end.
    """
    if first <= history.replayed_from:
        return first
    work = partial(workers.last_marker, before=first)
    rows = worked(history, MARKERS, work, "position long, is_begin boolean").collect()
    last = max(rows, default=None)
    return last.position if last is not None and last.is_begin else first


def _work(numbers: Batches, reading: LogScan, work: Work) -> Iterator[pyarrow.RecordBatch]:
    """Call `work` with the records of the tasks whose numbers are given."""
    found = [number for batch in numbers for number in batch["id"].to_pylist()]
    return work(chain.from_iterable(map(reading.batches, found)))
