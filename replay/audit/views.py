"""The log and the state as SQL views: flat columns, ids as text of 22 characters."""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T

from records import registry
from replay.audit.avro_types import UNION_MEMBER_PREFIX
from replay.audit.digest import id_text
from replay.audit.history import History
from replay.audit.log_files import LogFiles
from replay.audit.log_frame import open_log
from replay.audit.payload_ids import with_ids_as_text
from replay.audit.redaction import redact_part
from replay.audit.selection import Selection
from replay.audit.state import part

# Equal changes are counted before their lists are parsed. The hour of a change has a row in any
# case: one without a broker.
BROKER_MOVES_SQL = """
    SELECT hour, bool_or(in_range) AS in_range, move.broker AS broker,
           sum(if(field = 'replicas', move.count, 0)) AS replicas,
           sum(if(field = 'leader', move.count, 0)) AS leaders
    FROM (SELECT hour, in_range, field, explode(concat(
                     array(struct(CAST(null AS int) AS broker, 0L AS count)),
                     coalesce(transform(from_json(before, 'array<int>'),
                                        broker -> struct(broker, -count AS count)), array()),
                     coalesce(transform(from_json(after, 'array<int>'),
                                        broker -> struct(broker, count)), array()))) AS move
          FROM (SELECT hour, in_range, field, if(field = 'leader', '[' || before || ']', before)
                           AS before,
                       if(field = 'leader', '[' || after || ']', after) AS after,
                       count(*) AS count
                FROM all_changes
                WHERE kind = 'partitions' AND field IN ('replicas', 'leader') AND in_effect
                GROUP BY ALL))
    GROUP BY hour, move.broker
"""

BROKER_MOVES = Selection.of_sql(BROKER_MOVES_SQL, ("partitions",), ("replicas", "leader"))
"""The part of the changes that `BROKER_MOVES_SQL` reads."""

_ORIGIN = ("principal", "command", "reason", "request_id", "client", "trace_parent")


def member(name: str) -> str:
    """Return the payload column of a record type, which is null in rows of other types."""
    return f"payload.{UNION_MEMBER_PREFIX}{name}"


def log_view(
    spark: SparkSession, files: LogFiles, start: int, end: int, *, show_secrets: bool = False
) -> DataFrame:
    """Return the records at offsets in [start, end) with convenient columns.

    Args:
        show_secrets: As in `open_log`.

    Returns:
        offset long, leader_epoch int, time timestamp (UTC), timestamp long (ms), batch_offset
        long, record_version int, type string, topic_id string (null for records without a topic),
        partition_id int, principal, command, reason, request_id, client, trace_parent, and
        payload, the struct with one member per record type, its ids as text.
    """
    rows = open_log(spark, files, start=start, end=end, show_secrets=show_secrets)
    payload = rows.schema["payload"].dataType
    assert isinstance(payload, T.StructType)
    return rows.selectExpr(
        "offset",
        "leader_epoch",
        "timestamp_millis(timestamp) AS time",
        "timestamp",
        "batch_offset",
        "record_version",
        f"{_type()} AS type",
        f"{id_text(_common_field('topic_id'))} AS topic_id",
        f"{_common_field('partition_id')} AS partition_id",
        *(f"origin.{name}" for name in _ORIGIN),
        f"{with_ids_as_text(payload)} AS payload",
    )


def part_view(history: History, name: str, *, show_secrets: bool = False) -> DataFrame:
    """Return a part of the state with its ids as text; secrets are redacted by default."""
    found = part(history, name)
    return _readable(found if show_secrets else redact_part(name, found))


def _type() -> str:
    names = [cls.__name__ for cls in registry.RECORD_TYPES]
    cases = " ".join(f"WHEN {member(name)} IS NOT null THEN '{name}'" for name in names)
    return f"CASE {cases} END"


def _common_field(field: str) -> str:
    """Return SQL of one column for a field that several record types share."""
    names = [cls.__name__ for cls in registry.RECORD_TYPES if field in cls.__struct_fields__]
    return f"coalesce({', '.join(f'{member(name)}.{field}' for name in names)})"


def _readable(frame: DataFrame) -> DataFrame:
    """Return a part of the state with its ids as text; other binary fields stay as they are."""
    return frame.selectExpr(*map(_readable_column, frame.schema.fields))


def _readable_column(field: T.StructField) -> str:
    name: str = field.name
    match field.dataType:
        case T.ArrayType(elementType=T.BinaryType()):  # of ids of directories
            return f"transform({name}, each -> {id_text('each')}) AS {name}"
        case T.BinaryType() if name == "id" or name.endswith("_id"):
            return f"{id_text(name)} AS {name}"
    return name
