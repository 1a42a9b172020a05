"""The state at an offset, computed by Spark.

docs/replay.md describes the effect of each record. This module implements it independently of
`replay/image`, without using any of that code. Spark reads the log; its Python workers apply the
records (fold/).
"""

from functools import partial

import msgspec
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.pandas.types import from_arrow_schema

from records.avro.schema import envelope_schema
from replay.audit.avro_types import UNION_MEMBER_PREFIX, struct_type
from replay.audit.fold import workers
from replay.audit.fold.packed_rows import PACKED_SQL
from replay.audit.fold.partitions import PARTITION
from replay.audit.history import History
from replay.audit.part_fields import COLUMNS, OF_PARTITIONS, RECORDS
from replay.audit.record_types import BULK, RARE
from replay.audit.records import Work, worked


def sums(history: History) -> dict[str, tuple[int, ...]]:
    """Return, by part, the number of objects and the four lanes of docs/digest.md.

    Parts without objects may be missing.
    """
    rows = _folded(history, BULK | RARE, workers.digest, "sums string").collect()
    # Without any task there is no row.
    return msgspec.json.decode(rows[0].sums, type=dict[str, tuple[int, ...]]) if rows else {}


def part(history: History, name: str) -> DataFrame:
    """Return the objects of one part.

    Returns:
        A column per field, with the records' field names and types. Ids and bytes are binary; the
        order of lists is unchanged.
    """
    if name == "partitions":
        schema = from_arrow_schema(PARTITION)
        return _folded(history, BULK | OF_PARTITIONS, workers.partitions_of, schema)
    find = partial(workers.objects_of, part=name)
    texts = _folded(history, RARE, find, "object string")
    return texts.select(F.from_json("object", _type(name)).alias("object")).select("object.*")


def _folded(
    history: History, types: frozenset[str], work: Work, schema: str | T.StructType
) -> DataFrame:
    """Call `work` in one task with all records of some types, in order; return its results.

    If several tasks read the log, each of them first folds the records of partitions in its range.
    """
    if history.is_one_task:
        return worked(history, types, work, schema)
    packed = worked(history, types, workers.fold_range, PACKED_SQL)
    ordered = packed.repartition(1).sortWithinPartitions("position", "rank")
    return ordered.mapInArrow(work, schema)


def _type(name: str) -> T.StructType:
    payload = struct_type(envelope_schema())["payload"].dataType
    if name == "voters":
        return payload[UNION_MEMBER_PREFIX + "VotersRecord"].dataType["voters"].dataType.elementType
    record = payload[UNION_MEMBER_PREFIX + RECORDS[name]].dataType
    if name not in COLUMNS:
        return record
    types = {field.name: field.dataType for field in record} | {"partition_id": T.IntegerType()}
    return T.StructType([T.StructField(each, types[each]) for each in COLUMNS[name]])
