"""The committed log as a DataFrame, read by Spark's own Avro reader.

Segments are plain Avro Object Container Files and are read in place. Spark does not know which
records are committed, so a segment with uncommitted records is read from a copy that ends at its
committed size. On a cluster that has no folder seen by all nodes, the workers read such a segment
directly (python_source.py), as they do with objects in a bucket.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from records.avro.schema import envelope_schema
from replay.audit.avro_types import struct_type
from replay.audit.log_files import LogFiles
from replay.audit.pruning import VIEW_OPTION
from replay.audit.python_source import SegmentSource
from replay.audit.redaction import redact_log

# Tried in this order: the first needs a jar that PySpark's wheel lacks; the second is in the wheel,
# but internal to Spark, so a later release may move it.
READERS = ("avro", "org.apache.spark.sql.avro.AvroFileFormat")

_READER_MISSING = ("AVRO_DATA_SOURCE_NOT_ENABLED", "DATA_SOURCE_NOT_FOUND")

_OPTIONS = {
    # Names the members of the payload by record type instead of by position in the union.
    "enableStableIdentifiersForUnionType": "true",
    # A log directory's name may hold characters of a glob pattern.
    "__globPaths__": "false",
}


def open_log(
    spark: SparkSession,
    files: LogFiles,
    *,
    start: int = 0,
    end: int | None = None,
    show_secrets: bool = False,
) -> DataFrame:
    """Return the committed records at offsets in [start, end), by default to the end of the log.

    Segments outside the range are not opened.

    Args:
        files: Must be frozen if any segment contains more than is committed.
        show_secrets: Keep secret values (`records.secrets`). If false, they are replaced by
            `(redacted)`, their columns are strings, and `extra` and `asked` are left out.

    Returns:
        One row per record, in no order: the fields of the envelope (`offset` long, `leader_epoch`
        int, `timestamp` long in ms, ...) and `payload`, a struct with one member per record type,
        such as `payload.member_TopicRecord`; exactly one member is not null.
    """
    rows = read_log(spark, files, start=start, end=end, options={VIEW_OPTION: "log"})
    return rows if show_secrets else redact_log(rows)


def read_log(
    spark: SparkSession,
    files: LogFiles,
    *,
    start: int = 0,
    end: int | None = None,
    schema: Mapping[str, Any] | None = None,
    options: Mapping[str, str] | None = None,
) -> DataFrame:
    """Return the same records as `open_log`, but with secrets, because the state includes them.

    Args:
        schema: Part of the envelope's schema that includes `offset`: fewer fields make the scan and
            the planning of a query faster.
        options: More options of Spark's reader.
    """
    assert not files.cut, "freeze the files first: a segment holds more than is committed"
    end = files.end_offset if end is None else min(end, files.end_offset)
    rows = _read(spark, files, files.in_range(start, end), schema, options)
    return rows.where(f"offset >= {start} AND offset < {end}")


def read_around(
    spark: SparkSession, files: LogFiles, offsets: Iterable[int], schema: Mapping[str, Any]
) -> DataFrame:
    """Return all committed records of the segments that contain one of the offsets."""
    paths = dict.fromkeys(path for at in offsets for path in files.in_range(at, at + 1))
    return _read(spark, files, list(paths), schema).where(f"offset < {files.end_offset}")


def read_base(
    spark: SparkSession, files: LogFiles, schema: Mapping[str, Any] | None = None
) -> DataFrame:
    """Return the rows of the base checkpoint, secrets included; no rows if there is no base.

    Returns:
        The columns of `open_log`; `offset` counts from 0 within the checkpoint.
    """
    return _read(spark, files, [] if files.base is None else [files.base], schema)


def _read(
    spark: SparkSession,
    files: LogFiles,
    paths: Sequence[Path],
    schema: Mapping[str, Any] | None,
    options: Mapping[str, str] | None = None,
) -> DataFrame:
    schema = envelope_schema() if schema is None else schema
    options = {**_OPTIONS, **(options or {}), "avroSchema": json.dumps(schema)}
    ranged = [[str(path), files.by_ranges[path]] for path in paths if path in files.by_ranges]
    in_place = [files.local(path).absolute() for path in paths if path not in files.by_ranges]
    frames = []
    if in_place:
        frames.append(_read_in_place(spark, in_place, options))
    if ranged:
        frames.append(_read_by_ranges(spark, ranged, options))
    if not frames:
        return spark.createDataFrame([], struct_type(schema)).where("false")
    return reduce(DataFrame.union, frames)


def _read_in_place(
    spark: SparkSession, paths: Sequence[Path], options: Mapping[str, str]
) -> DataFrame:
    for reader in READERS:
        try:
            locations = [f"file://{path}" for path in paths]
            frame = spark.read.format(reader).options(**options).load(locations)
            frame.schema  # noqa: B018  Spark Connect reports errors only now
        except Exception as error:
            if not any(code in str(error) for code in _READER_MISSING):
                raise
        else:
            return frame
    sizes = [[str(path), path.stat().st_size] for path in paths]
    return _read_by_ranges(spark, sizes, options)


def _read_by_ranges(
    spark: SparkSession, sizes: list[list[Any]], options: Mapping[str, str]
) -> DataFrame:
    spark.dataSource.register(SegmentSource)
    source = spark.read.format(SegmentSource.name())
    return source.options(**options, files=json.dumps(sizes)).load()
