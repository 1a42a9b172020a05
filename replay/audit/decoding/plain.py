"""Decodes blocks with fastavro, for small ranges: slower than `compiled`, but starts at once."""

import io
from collections.abc import Iterator
from typing import Any

import fastavro
import pyarrow

from records.errors import CorruptLogError
from replay.audit.decoding.blocks import Block, Segment
from replay.audit.decoding.columns import Wanted, json_text

_FAILURES = (ArithmeticError, LookupError, EOFError, TypeError, ValueError, MemoryError)
"""Exceptions that fastavro raises for bytes that do not fit the schema."""


class Decoder:
    """Decodes segments with fastavro; has the same methods as `compiled.Decoder`."""

    def __init__(self, schema: Any, wanted: Wanted) -> None:
        self._wanted = wanted
        self._paths = [
            [path.split(".") for path in wanted.paths[name]] for name in wanted.types.names
        ]
        try:
            self._written = fastavro.parse_schema(schema)
        except (fastavro.schema.SchemaParseException, *_FAILURES) as error:
            raise CorruptLogError(f"not a valid Avro schema: {error}") from error
        self._read = None if schema == wanted.schema else fastavro.parse_schema(dict(wanted.schema))

    def batches(self, segment: Segment) -> Iterator[pyarrow.RecordBatch]:
        """Yield the columns of the records of a segment with this decoder's schema."""
        for block in segment.blocks():
            kept = [
                row
                for row in self._rows(segment, block)
                if row[self._wanted.union][0] in self._wanted.kept
            ]
            try:
                columns = [
                    pyarrow.array([_value(row, sources) for row in kept], type_)
                    for sources, type_ in zip(self._paths, self._wanted.types.types, strict=True)
                ]
            except _FAILURES as error:
                segment.fail(block, f"a value does not fit its type: {error}", 0)
            yield self._wanted.batch(columns, self._records(kept))

    def _records(self, rows: list[dict[str, Any]]) -> pyarrow.Array:
        records = (row[self._wanted.union] for row in rows)
        texts = [
            json_text(name, fields) if name in self._wanted.in_json else None
            for name, fields in records
        ]
        return pyarrow.array(texts, pyarrow.string())

    def _rows(self, segment: Segment, block: Block) -> list[dict[str, Any]]:
        stream = io.BytesIO(block.octets)
        try:
            rows = [
                fastavro.schemaless_reader(
                    stream,
                    self._written,
                    self._read,
                    return_record_name=True,
                    return_record_name_override=True,
                )
                for _ in range(block.rows)
            ]
        except _FAILURES as error:
            segment.fail(block, f"{error!r}", stream.tell())
        if stream.tell() != len(block.octets):
            segment.fail(block, "the records do not end with the block", stream.tell())
        return rows


def _value(row: Any, sources: list[list[str]]) -> Any:
    """Return the value at the first of some paths that the record has, or None."""
    for source in sources:
        found = row
        for part in source:
            if isinstance(found, tuple):
                name, fields = found
                found = fields if name == part else None
            else:
                found = found[part]
            if found is None:
                break
        else:
            return found
    return None
