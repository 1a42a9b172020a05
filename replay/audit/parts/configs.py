"""Configs. A topic's configs follow the topic when it is renamed."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from replay.audit.history import History
from replay.audit.parts.last_words import TOPIC_RESOURCE, of_type
from replay.audit.parts.topics import current_names, name_changes, topic_removals, with_holders


def configs(history: History) -> DataFrame:
    """Return (resource_type int, resource_name string, name string, value string)."""
    return of_type("ConfigRecord")(history).union(_topic_configs(history))


def _topic_configs(history: History) -> DataFrame:
    """Assign each config to its topic, instead of renaming keys at each move.

    A config belongs to the topic that held the name when it was written. If no topic held the name,
    it belongs to the next topic that takes it, unless that topic already has a value.
    """
    written = history.of("ConfigRecord").where(F.col("resource_type") == TOPIC_RESOURCE)
    last = (
        with_holders(written, "resource_name", history.kept(name_changes))
        .withColumn("topic_id", F.coalesce("holder", "next_holder"))
        .withColumn("free_name", F.when(F.col("topic_id").isNull(), F.col("resource_name")))
        .withColumn("rank", F.struct(F.col("holder").isNotNull(), F.col("position")))
        .groupBy("topic_id", "free_name", "name")
        .agg(F.max_by(F.struct("position", "value"), "rank").alias("last"))
        .select("topic_id", "free_name", "name", "last.*")
        .where(F.col("value").isNotNull())
    )
    return (
        last.join(topic_removals(history), "topic_id", "left")
        .where("removed_at IS null OR removed_at < position")
        .join(current_names(history), "topic_id", "left")
        .select(
            F.lit(TOPIC_RESOURCE).alias("resource_type"),
            F.coalesce("full_name", "free_name").alias("resource_name"),
            "name",
            "value",
        )
    )
