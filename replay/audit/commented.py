"""Frames and schemas with comments: Spark keeps a column's comment in the column's metadata."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from replay.audit.comments import Comments


def commented(frame: DataFrame, comments: Comments) -> DataFrame:
    """Return a frame with a comment on each column that has one."""
    columns = (_column(name, comments) for name in frame.columns)
    return frame.select(*columns)


def commented_schema(schema: T.StructType, comments: Comments) -> T.StructType:
    """Return a schema with a comment on each column that has one."""
    return T.StructType(
        [
            T.StructField(each.name, each.dataType, each.nullable, _metadata(each.name, comments))
            for each in schema.fields
        ]
    )


def _column(name: str, comments: Comments) -> F.Column:
    return F.col(name).alias(name, metadata=_metadata(name, comments))


def _metadata(name: str, comments: Comments) -> dict[str, str]:
    return {"comment": comments[name]} if name in comments else {}
