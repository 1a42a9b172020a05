"""Relations of an audit as a batch: the changes, the parts of the state, and all other views.

One task computes a relation, in DuckDB (duck/): a Python source cannot exchange rows between tasks.
For a large log the library is faster, because its plans use all workers.
"""

import dataclasses
from collections.abc import Collection, Iterator
from functools import cache

import pyarrow
import pyarrow.compute as pc
from pyspark.sql import types as T
from pyspark.sql.datasource import DataSourceReader, Filter, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

from metadata_log.reader.log_reader import LogReader
from replay.audit.committed_files import readable_files
from replay.audit.duck.engine import DuckAudit
from replay.audit.log_files import LogFiles
from replay.audit.queries.asking import Range
from replay.audit.selection import Selection
from replay.audit.source.filters import PushedFilters, bounds_of, names_of
from replay.audit.source.options import CHANGES, Options
from replay.audit.source.recording import Recording
from replay.audit.source.records import Span

_ROWS_A_BATCH = 10_000
_OF_RECORDS = (CHANGES, "changed_objects")
"""The relations whose rows are of one record each, read from all parts of a recording; other rows
depend on the whole range.
"""


def relation_schema(options: Options) -> T.StructType:
    """Return the columns of a relation.

    Raises:
        RequestError: INVALID_REQUEST: the option `columns` names a column that the relation lacks.
        UnavailableError: DuckDB is not installed.
    """
    schema = _schema(options.relation)
    return T.StructType([schema[name] for name in options.chosen(schema.names)])


class RelationReader(DataSourceReader):  # type: ignore[misc]
    """Reads a relation over a range of offsets."""

    filters: tuple[Filter, ...] = ()

    def __init__(self, options: Options) -> None:
        self._options = options

    def partitions(self) -> list[InputPartition]:
        with LogReader.open(self._options.log) as reader:
            if self._options.relation not in _OF_RECORDS:
                offsets = self._options.range_of(reader)
                return [Span(offsets.first, offsets.last + 1)]
            with Recording.of(reader) as recording:
                offsets = self._options.range_of(recording)
                # Rows at the end need the range's end: it says how a transaction ended.
                first = max(offsets.first, bounds_of(self.filters).first)
                parts = recording.stretches(first, offsets.last + 1)
        found = [Span(part.first, part.end, log=part.log) for part in parts if part.is_kept]
        return [*found] or [Span(first, first)]

    def read(self, partition: Span) -> Iterator[pyarrow.RecordBatch]:
        offsets = Range(partition.first, partition.end - 1)
        kinds = None
        if self._options.relation in _OF_RECORDS:
            kinds = names_of(self.filters, "kind")
        options = dataclasses.replace(self._options, log=partition.log or self._options.log)
        return read_relation(options, offsets, kinds)


class FilteringRelationReader(PushedFilters, RelationReader):
    """A `RelationReader` for sessions that push filters down."""


def read_relation(
    options: Options, offsets: Range, kinds: Collection[str] | None = None
) -> Iterator[pyarrow.RecordBatch]:
    """Yield the rows of a relation.

    Args:
        kinds: The kinds of objects that are needed; None: all.
    """
    schema = relation_schema(options)
    words = frozenset({*schema.names, "offset"})
    selection = Selection(kinds=tuple(sorted(kinds or ())), words=words)
    with LogReader.open(options.log) as reader:
        rows = computed(reader, options, options.relation, offsets, selection)
        if kinds is not None:
            rows = rows.filter(pc.is_in(rows["kind"], pyarrow.array(sorted(kinds), "string")))
        if options.relation == CHANGES:
            rows = _with_confirmed(reader, rows)
    yield from typed(rows, schema)


def changes_rows(
    reader: LogReader, options: Options, changes: pyarrow.Table
) -> Iterator[pyarrow.RecordBatch]:
    """Yield changes, given with the columns of `fold.changes.CHANGES`, as rows of the relation."""
    with _audit_of_nothing() as opened:
        rows = opened.changes(changes, show_secrets=options.show_secrets)
    return typed(_with_confirmed(reader, rows), relation_schema(options))


def _with_confirmed(reader: LogReader, rows: pyarrow.Table) -> pyarrow.Table:
    return rows.append_column("confirmed", pc.less(rows["offset"], reader.confirmed_end))


def computed(
    reader: LogReader, options: Options, view: str, offsets: Range, selection: Selection
) -> pyarrow.Table:
    """Return a view over a range of offsets."""
    files = readable_files(reader, None, lambda path, size: None)
    with DuckAudit(files) as opened:
        return opened.view(view, offsets, selection=selection, show_secrets=options.show_secrets)


def typed(rows: pyarrow.Table, schema: T.StructType) -> Iterator[pyarrow.RecordBatch]:
    """Yield some columns of a table as batches, with the types in which Spark expects them."""
    wanted = to_arrow_schema(schema, timezone="UTC")
    chosen = rows.select(wanted.names).cast(wanted)
    return iter(chosen.to_batches(max_chunksize=_ROWS_A_BATCH))


@cache
def _schema(relation: str) -> T.StructType:
    """Return the columns of a relation, found by computing the relation of an empty log."""
    with _audit_of_nothing() as opened:
        found = from_arrow_schema(opened.view(relation, Range(0, -1)).schema)
    return found.add("confirmed", "boolean") if relation == CHANGES else found


def _audit_of_nothing() -> DuckAudit:
    return DuckAudit(LogFiles(segments=(), end_offset=0))
