"""The log as a Spark data source, batch and streaming: a directory, or an archive in a bucket.

    register(spark)
    spark.read.format("metalog").option("log", "/srv/log").option("relation", "topics").load()

docs/streaming.md describes the options and the columns.
"""

from typing import TYPE_CHECKING

from pyspark.sql import types as T
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader

from replay.audit.commented import commented_schema
from replay.audit.comments import comments_of
from replay.audit.record_rows import SCHEMA
from replay.audit.source.change_stream import ChangeStream
from replay.audit.source.options import CHANGES, RECORDS, STREAMED, Options, invalid
from replay.audit.source.record_stream import RecordStream
from replay.audit.source.records import FilteringRecordReader, RecordReader
from replay.audit.source.relations import (
    FilteringRelationReader,
    RelationReader,
    relation_schema,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_PUSHES_FILTERS = "spark.sql.python.filterPushdown.enabled"


def register(spark: "SparkSession") -> None:
    """Register the format `metalog` in a session, and let the session push filters down to it."""
    spark.conf.set(_PUSHES_FILTERS, "true")
    spark.dataSource.register(FilteringLogSource)


class LogSource(DataSource):  # type: ignore[misc]  # mypy does not follow PySpark's imports
    """A relation of a log; by default its records, with the columns of `record_rows.SCHEMA`.

    Filters are applied by Spark alone, so this source can be registered in any session.
    """

    @classmethod
    def name(cls) -> str:
        return "metalog"

    def schema(self) -> T.StructType:
        options = Options.parse(self.options)
        return commented_schema(_schema(options), comments_of(options.relation))

    def reader(self, schema: T.StructType) -> DataSourceReader:
        options = Options.parse(self.options)
        return RecordReader(options) if options.relation == RECORDS else RelationReader(options)

    def streamReader(self, schema: T.StructType) -> DataSourceStreamReader:  # noqa: N802
        options = Options.parse(self.options)
        if options.relation not in STREAMED:
            raise invalid(
                f"{options.relation} cannot be streamed, because its rows can change later; stream "
                f"{' or '.join(STREAMED)}, or read {options.relation} as a batch"
            )
        return ChangeStream(options) if options.relation == CHANGES else RecordStream(options)


def _schema(options: Options) -> T.StructType:
    if options.relation == RECORDS:
        return T.StructType([SCHEMA[name] for name in options.chosen(SCHEMA.names)])
    return relation_schema(options)


class FilteringLogSource(LogSource):
    """A `LogSource` for a session that pushes filters down to the source."""

    def reader(self, schema: T.StructType) -> DataSourceReader:
        options = Options.parse(self.options)
        if options.relation == RECORDS:
            return FilteringRecordReader(options)
        return FilteringRelationReader(options)
