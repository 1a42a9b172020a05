"""Selects what to decode from the records of a log, and builds Arrow columns from the values."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
import pyarrow

from replay.audit.decoding.schemas import field_type

JSON = "record"
"""Name of the column that has records as JSON."""


@dataclass(frozen=True)
class Wanted:
    """The records and the columns that a task decodes.

    Attributes:
        types: Arrow types of the columns.
        paths: By column, the paths of the fields from which it is read; a record has at most one of
            these fields. A path is field names joined by dots; after a field whose type is a union
            of records, the record's name follows.
        union: Name of the field whose type is a union of records.
        kept: Names of the record types in the union to decode; records of other types are skipped.
        in_json: The types in `kept` whose records are also returned as JSON in the column `record`:
            an object of the record's name and its fields, without null fields; bytes are in base64,
            and numbers that are not finite are text.
        schema: Schema to read the records with; supplies the defaults of fields that a file lacks.
    """

    types: pyarrow.Schema
    paths: Mapping[str, tuple[str, ...]]
    union: str
    kept: frozenset[str]
    in_json: frozenset[str]
    schema: Mapping[str, Any]

    def by_path(self) -> Iterator[tuple[str, int]]:
        """Yield each path with the index of its column."""
        for number, name in enumerate(self.types.names):
            for path in self.paths[name]:
                yield path, number

    def defaults(self) -> dict[str, Any]:
        """Return, by path, the defaults of the fields of the union's records that are columns."""
        paths = dict(self.by_path())
        fields = {
            f"{self.union}.{record['name']}.{field['name']}": field.get("default")
            for record in field_type(self.schema, self.union)
            for field in record["fields"]
        }
        return {path: default for path, default in fields.items() if path in paths}

    def batch(self, columns: list[pyarrow.Array], records: pyarrow.Array) -> pyarrow.RecordBatch:
        """Return a batch of the columns, followed by the records in JSON."""
        return pyarrow.record_batch([*columns, records], names=[*self.types.names, JSON])


def json_text(name: str, fields: Mapping[str, Any]) -> str:
    """Return a record as JSON, in the form that `Wanted.in_json` describes."""
    return _encoder.encode({name: _present(fields)}).decode()


def _present(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _present(each) for name, each in value.items() if each is not None}
    if isinstance(value, tuple):  # a record of a union, with its name
        return _present(value[1])
    if isinstance(value, list):
        return [_present(each) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        # JSON has no number for it; Spark reads these names.
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value


_encoder = msgspec.json.Encoder()
