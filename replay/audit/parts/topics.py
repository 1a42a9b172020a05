"""Topics, and which topic held which name when."""

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from replay.audit.history import History
from replay.audit.parts.last_words import last_words

# Order of events of a name at one position: a move to the same name leaves it first. A base
# checkpoint has a single position, and its configs belong to the topics in it.
_LEFT, _TAKEN, _USED = range(3)


def topics(history: History) -> DataFrame:
    """Return (topic_id binary, name string, namespace_id binary)."""
    places = history.kept(last_words).where("part = 'topics'")
    return places.selectExpr(
        *(
            f"coalesce(TopicRecord.{field}, MoveTopicRecord.{field}) AS {field}"
            for field in ("topic_id", "name", "namespace_id")
        )
    )


def topic_removals(history: History) -> DataFrame:
    """Return (topic_id binary, removed_at long): the last removal of each topic ever removed."""
    removed = history.of("RemoveTopicRecord")
    return removed.groupBy("topic_id").agg(F.max("position").alias("removed_at"))


def name_changes(history: History) -> DataFrame:
    """Return the history of each full name.

    Returns:
        (full_name string, in_default boolean, position long, step int, topic_id binary): at
        `position` the topic took the name, or the name became free and `topic_id` is null.
        `in_default` is true for names of the default namespace.
    """
    removed = history.of("RemoveTopicRecord").select("topic_id", "position")
    places = _full_names(history).unionByName(removed, allowMissingColumns=True)
    in_order = Window.partitionBy("topic_id").orderBy("position")
    before = places.withColumn("old", F.lag(F.struct("full_name", "in_default")).over(in_order))
    return before.selectExpr(
        f"""inline(array(
            struct(old.full_name, old.in_default, position, {_LEFT} AS step,
                   CAST(null AS binary) AS topic_id),
            struct(full_name, in_default, position, {_TAKEN} AS step, topic_id)))"""
    ).where("full_name IS NOT null")


def names_taken(history: History) -> DataFrame:
    """Return the events by which a topic got its name.

    (full_name string, in_default boolean, position long, step int, topic_id binary).
    """
    return history.kept(name_changes).where(F.col("step") == _TAKEN)


def current_names(history: History) -> DataFrame:
    """Return (topic_id binary, full_name string): the last name of each topic, removed or not."""
    return (
        names_taken(history)
        .groupBy("topic_id")
        .agg(F.max_by("full_name", "position").alias("full_name"))
    )


def with_holders(uses: DataFrame, name_column: str, changes: DataFrame) -> DataFrame:
    """Add to each use of a name the topic that held it.

    Args:
        uses: `position` and any columns.
        name_column: Column of `uses` with the full name used.
        changes: Result of `name_changes`, or part of it.

    Returns:
        `uses` with two more columns: holder binary, null if no topic held the name at that
        position; next_holder binary, the topic that took it next.
    """
    used = uses.select(
        F.col(name_column).alias("full_name"),
        "position",
        F.lit(_USED).alias("step"),
        F.struct(*uses.columns).alias("use"),
    )
    events = changes.drop("in_default").unionByName(used, allowMissingColumns=True)
    so_far = Window.partitionBy("full_name").orderBy("position", "step")
    # The same window backwards: one that looks ahead costs the square of the rows.
    from_the_end = Window.partitionBy("full_name").orderBy(F.desc("position"), F.desc("step"))
    change = F.when(F.col("step") < _USED, F.struct("topic_id"))
    taken_by = F.when(F.col("step") == _TAKEN, F.col("topic_id"))
    return (
        events.withColumn("holder", F.last(change, ignorenulls=True).over(so_far)["topic_id"])
        .withColumn("next_holder", F.last(taken_by, ignorenulls=True).over(from_the_end))
        .where(F.col("step") == _USED)
        .select("use.*", "holder", "next_holder")
    )


def _full_names(history: History) -> DataFrame:
    """Return (position, topic_id, full_name, in_default) for each time a topic got its name."""
    columns = ["position", "topic_id", "name", "namespace_id"]
    placed = history.of("TopicRecord").select(*columns)
    if history.has("MoveTopicRecord"):
        placed = placed.union(history.of("MoveTopicRecord").select(*columns))
    placed = placed.withColumn("in_default", F.col("namespace_id").isNull())
    if not history.has("NamespaceRecord"):
        return placed.withColumnRenamed("name", "full_name").drop("namespace_id")
    spaces = history.of("NamespaceRecord").select(
        F.col("namespace_id").alias("space_id"),
        F.col("name").alias("space"),
        F.col("position").alias("named_at"),
    )
    named_then = (F.col("space_id") == F.col("namespace_id")) & (
        F.col("named_at") <= F.col("position")
    )
    return (
        placed.join(F.broadcast(spaces), named_then, "left")
        .groupBy("position", "topic_id", "in_default", "name")
        .agg(F.max_by("space", "named_at").alias("space"))
        .withColumn("full_name", F.concat_ws(":", "space", "name"))
        .select("position", "topic_id", "full_name", "in_default")
    )
