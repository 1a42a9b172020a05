"""Fallback segment reader: fastavro in Spark's Python workers, by byte ranges.

Used for files that Spark's own reader cannot open: objects in a bucket, and partly committed
segments if no folder for a copy is seen by all nodes. Many times slower, but independent of Spark's
internals, so it is also used where Spark's Avro reader is missing.
"""

import io
import itertools
import json
from collections.abc import Iterator
from typing import Any

import fastavro
import pyarrow
from pyspark.sql import types as T
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema

from metadata_log.files.fs import ReadableFile
from metadata_log.stores.store import open_store
from records import registry
from replay.audit.avro_types import UNION_MEMBER_PREFIX, struct_type, with_aliases

_ROWS_A_BATCH = 1_000
_BUFFER_SIZE = 1024 * 1024


class SegmentSource(DataSource):  # type: ignore[misc]  # mypy does not follow PySpark's imports
    """A batch data source over segment files.

    Options: `files`, a JSON list of [path or s3:// URL, committed size in bytes], and `avroSchema`,
    the schema to read them with.
    """

    @classmethod
    def name(cls) -> str:
        return "metalog_segments"

    def schema(self) -> T.StructType:
        return struct_type(self._avro_schema)

    def reader(self, schema: T.StructType) -> "_SegmentReader":
        return _SegmentReader(json.loads(self.options["files"]), schema, self._avro_schema)

    @property
    def _avro_schema(self) -> dict[str, Any]:
        schema: dict[str, Any] = json.loads(self.options["avroSchema"])
        return schema


class _SegmentReader(DataSourceReader):  # type: ignore[misc]
    def __init__(
        self, files: list[tuple[str, int]], schema: T.StructType, avro_schema: dict[str, Any]
    ) -> None:
        self._files = files
        self._schema = schema
        self._avro_schema = avro_schema

    def partitions(self) -> list[InputPartition]:
        return [InputPartition(file) for file in self._files]

    def read(self, partition: InputPartition) -> Iterator[pyarrow.RecordBatch]:
        arrow_schema = to_arrow_schema(self._schema)
        with _opened(*partition.value) as segment:
            rows = fastavro.reader(
                segment,
                reader_schema=with_aliases(self._avro_schema, registry.BY_NAME),
                return_record_name=True,
                return_record_name_override=True,
            )
            while batch := [_as_struct(row) for row in itertools.islice(rows, _ROWS_A_BATCH)]:
                yield pyarrow.RecordBatch.from_pylist(batch, arrow_schema)


def _opened(place: str, size: int) -> io.BufferedReader:
    directory, _, name = place.rpartition("/")
    store = open_store(directory)
    file = store.fs.open(store.directory / name)
    return io.BufferedReader(_Start(file, size), _BUFFER_SIZE)


class _Start(io.RawIOBase):
    """The first bytes of a file, as a sequential stream."""

    def __init__(self, file: ReadableFile, size: int) -> None:
        self._file = file
        self._left = size
        self._position = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._file.pread(min(len(buffer), self._left), self._position)
        buffer[: len(data)] = data
        self._position += len(data)
        self._left -= len(data)
        return len(data)

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()


def _as_struct(row: Any) -> dict[str, Any]:
    """Convert the payload, a pair of type name and fields, to a struct with one member."""
    name, fields = row["payload"]
    return {**row, "payload": {UNION_MEMBER_PREFIX + name: fields}}
