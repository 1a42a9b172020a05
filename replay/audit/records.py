"""Records as the folds in Spark's Python workers take them."""

from pyspark.sql import DataFrame

from replay.audit.fold.partitions import PARTITION
from replay.audit.history import BULK, History

_WHOLE_ONLY = ("leader_epoch", "partition_epoch")
_OF_TOPIC = ("TopicRecord", "MoveTopicRecord", "RemoveTopicRecord", "RemovePartitionsRecord")


def records(history: History, others: frozenset[str], *columns: str) -> DataFrame:
    """Return all records of partitions and of other types, including those that took no effect.

    Args:
        others: The other types; they include `_OF_TOPIC`.
        columns: More columns, of the envelope.

    Returns:
        position long; record string, a JSON object of the record's type and its fields, null for
        records of partitions; their fields as columns, with the epochs null in changes; topic_id
        also for the types `_OF_TOPIC`.
    """
    of_topic = (f"{name}.topic_id" for name in (*BULK, *_OF_TOPIC))
    both = (name for name in PARTITION.names if name not in ("topic_id", *_WHOLE_ONLY))
    return history.of_types(BULK | others).selectExpr(
        "position",
        "CASE WHEN PartitionRecord IS null AND PartitionChangeRecord IS null "
        f"THEN to_json(struct({', '.join(sorted(others))})) END AS record",
        f"coalesce({', '.join(of_topic)}) AS topic_id",
        *(
            f"coalesce(PartitionRecord.{name}, PartitionChangeRecord.{name}) AS {name}"
            for name in both
        ),
        *(f"PartitionRecord.{name} AS {name}" for name in _WHOLE_ONLY),
        *columns,
    )
