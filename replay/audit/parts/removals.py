"""Partition removals, pending and completed."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from replay.audit.history import History
from replay.audit.parts.topics import topic_removals

_PARTITION = ["topic_id", "partition_id"]


def pending_partition_removals(history: History) -> DataFrame:
    """Return (topic_id binary, partition_id int, delay_ms long, create_time_ms long)."""
    begun = _each_partition(history.of("DeleteTopicPartitionsRecord"))
    last = begun.groupBy(*_PARTITION).agg(
        F.max("position").alias("begun_at"),
        F.max_by("delay_ms", "position").alias("delay_ms"),
        F.max_by("create_time_ms", "position").alias("create_time_ms"),
    )
    ended = (
        _each_partition(history.of("CancelDeleteTopicPartitionsRecord"))
        .union(partition_removals(history))
        .groupBy(*_PARTITION)
        .agg(F.max("position").alias("ended_at"))
    )
    return (
        last.join(ended, _PARTITION, "left")
        .join(topic_removals(history), "topic_id", "left")
        .where("begun_at > coalesce(greatest(ended_at, removed_at), -2)")
        .select(*_PARTITION, "delay_ms", "create_time_ms")
    )


def partition_removals(history: History) -> DataFrame:
    """Return (topic_id binary, partition_id int, position long) of each removal of a partition."""
    return _each_partition(history.of("RemovePartitionsRecord"))


def _each_partition(rows: DataFrame) -> DataFrame:
    return (
        rows.withColumn("partition_id", F.explode("partition_ids"))
        .drop("partition_ids")
        .select(
            *_PARTITION,
            *(name for name in rows.columns if name not in ("topic_id", "partition_ids")),
        )
    )
