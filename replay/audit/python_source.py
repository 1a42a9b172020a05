"""Segments read by fastavro in Spark's Python workers; the fallback without Spark's own reader.

Many times slower, but independent of Spark's internals.
"""

import itertools
import json
from collections.abc import Iterator
from typing import Any

import fastavro
import pyarrow
from pyspark.sql import types as T
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema

from replay.audit.avro_types import UNION_MEMBER_PREFIX, struct_type

_ROWS_A_BATCH = 1_000


class SegmentSource(DataSource):  # type: ignore[misc]  # mypy does not follow PySpark's imports
    """A batch source over files.

    Options: `paths`, a JSON list of file URIs, and `schema`, the Avro schema to read them with.
    """

    @classmethod
    def name(cls) -> str:
        return "metalog_segments"

    def schema(self) -> T.StructType:
        return struct_type(self._avro_schema)

    def reader(self, schema: T.StructType) -> "_SegmentReader":
        return _SegmentReader(json.loads(self.options["paths"]), schema, self._avro_schema)

    @property
    def _avro_schema(self) -> dict[str, Any]:
        schema: dict[str, Any] = json.loads(self.options["schema"])
        return schema


class _SegmentReader(DataSourceReader):  # type: ignore[misc]
    def __init__(
        self, locations: list[str], schema: T.StructType, avro_schema: dict[str, Any]
    ) -> None:
        self._locations = locations
        self._schema = schema
        self._avro_schema = avro_schema

    def partitions(self) -> list[InputPartition]:
        return [InputPartition(location) for location in self._locations]

    def read(self, partition: InputPartition) -> Iterator[pyarrow.RecordBatch]:
        arrow_schema = to_arrow_schema(self._schema)
        with open(partition.value.removeprefix("file://"), "rb") as segment:
            rows = fastavro.reader(
                segment,
                reader_schema=self._avro_schema,
                return_record_name=True,
                return_record_name_override=True,
            )
            while batch := [_as_struct(row) for row in itertools.islice(rows, _ROWS_A_BATCH)]:
                yield pyarrow.RecordBatch.from_pylist(batch, arrow_schema)


def _as_struct(row: Any) -> dict[str, Any]:
    """Convert the payload, a pair of type name and fields, to a struct with one member."""
    name, fields = row["payload"]
    return {**row, "payload": {UNION_MEMBER_PREFIX + name: fields}}
