"""Partitions: the last value of each field; epochs as a start value plus a count."""

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from replay.audit.history import History
from replay.audit.parts.removals import partition_removals
from replay.audit.parts.topics import current_names, name_changes, topic_removals, with_holders

# Each field in a PartitionRecord, and in a change, where null means unset.
_FIELDS = {
    "replicas": ("whole.replicas", "change.replicas"),
    "isr": ("whole.isr", "change.isr"),
    "removing_replicas": ("whole.removing_replicas", "change.removing_replicas"),
    "adding_replicas": ("whole.adding_replicas", "change.adding_replicas"),
    "leader": ("whole.leader", "nullif(change.leader, -2)"),
    "leader_recovery_state": (
        "whole.leader_recovery_state",
        "nullif(change.leader_recovery_state, -1)",
    ),
    "directories": (
        "whole.directories",
        "CASE WHEN cardinality(change.directories) > 0 THEN change.directories END",
    ),
    "eligible_leader_replicas": (
        "coalesce(whole.eligible_leader_replicas, array())",
        "change.eligible_leader_replicas",
    ),
    "last_known_elr": ("coalesce(whole.last_known_elr, array())", "change.last_known_elr"),
    "mode": ("whole.mode", "change.mode"),
}


def partitions(history: History) -> DataFrame:
    """Return the partitions.

    Returns:
        (topic_id binary, partition_id int, replicas, isr, removing_replicas, adding_replicas,
        leader int, leader_recovery_state int, leader_epoch int, partition_epoch int, directories,
        eligible_leader_replicas, last_known_elr, mode int); the lists are of int, `directories`
        of binary, and none of them is null.
    """
    return _with_topic_events(_last_values(history), history).selectExpr(
        "topic_id",
        "partition_id",
        "replicas",
        "isr",
        "removing_replicas",
        "adding_replicas",
        "leader",
        "leader_recovery_state",
        "leader_epoch",
        "partition_epoch",
        # Directories became unknown when their count no longer fitted the replicas.
        """CASE WHEN exists(reassignments, r -> r.position > directories_at
                                AND r.count <> cardinality(directories))
                THEN array() ELSE directories END AS directories""",
        *(
            f"CASE WHEN cleared_at > {name}_at THEN array() ELSE {name} END AS {name}"
            for name in ("eligible_leader_replicas", "last_known_elr")
        ),
        "mode",
    )


def _with_topic_events(last: DataFrame, history: History) -> DataFrame:
    """Drop the partitions of removed topics, and add when their topics' ELR was last cleared."""
    if not history.has("RemoveTopicRecord", "ClearElrRecord"):
        return last.withColumn("cleared_at", F.lit(None).cast("long"))
    events = topic_removals(history).unionByName(_elr_clearings(history), allowMissingColumns=True)
    by_topic = events.groupBy("topic_id").agg(
        F.max("removed_at").alias("removed_at"), F.max("cleared_at").alias("cleared_at")
    )
    return last.join(by_topic, "topic_id", "left").where("removed_at IS null OR removed_at < born")


def _last_values(history: History) -> DataFrame:
    """Return each partition ever written, from its last PartitionRecord on."""
    of_one = Window.partitionBy("topic_id", "partition_id")
    born = F.max(F.when(F.col("is_whole"), F.col("position"))).over(of_one)
    return (
        _events(history)
        .withColumn("born", born)
        .where("position >= born")
        .groupBy("topic_id", "partition_id")
        .agg(
            *(
                F.expr(f"max_by({name}, position) FILTER (WHERE {name} IS NOT null) AS {name}")
                for name in _FIELDS
            ),
            *(
                F.expr(f"max(position) FILTER (WHERE {name} IS NOT null) AS {name}_at")
                for name in ("directories", "eligible_leader_replicas", "last_known_elr")
            ),
            F.max("born").alias("born"),
            F.bool_or("is_removal").alias("removed"),
            F.expr("max(first_leader_epoch) + count_if(elected) AS leader_epoch"),
            F.expr("max(first_partition_epoch) + count_if(is_change) AS partition_epoch"),
            F.expr(
                """collect_list(struct(position, cardinality(replicas) AS count))
                FILTER (WHERE reassigned) AS reassignments"""
            ),
        )
        .where("NOT removed")
    )


def _events(history: History) -> DataFrame:
    """Return the partitions' records with the fields that each sets, null where unset."""
    removals = partition_removals(history).withColumn("is_removal", F.lit(True))
    records = history.partitions.withColumnsRenamed(
        {"PartitionRecord": "whole", "PartitionChangeRecord": "change"}
    )
    events = records.selectExpr(
        "position",
        "coalesce(whole.topic_id, change.topic_id) AS topic_id",
        "coalesce(whole.partition_id, change.partition_id) AS partition_id",
        "whole IS NOT null AS is_whole",
        "change IS NOT null AS is_change",
        "false AS is_removal",
        "whole.leader_epoch AS first_leader_epoch",
        "whole.partition_epoch AS first_partition_epoch",
        "change.leader <> -2 AS elected",
        """change.replicas IS NOT null AND coalesce(cardinality(change.directories), 0) = 0
           AS reassigned""",
        *(
            f"CASE WHEN whole IS NOT null THEN {in_whole} ELSE {in_change} END AS {name}"
            for name, (in_whole, in_change) in _FIELDS.items()
        ),
    )
    if history.has("RemovePartitionsRecord"):
        events = events.unionByName(removals, allowMissingColumns=True)
    return events


def _elr_clearings(history: History) -> DataFrame:
    """Return (topic_id binary, cleared_at long): when each topic's ELR was last cleared."""
    cleared = history.of("ClearElrRecord")
    default_names = history.kept(name_changes).where("in_default")
    named = with_holders(cleared.where("topic_name <> ''"), "topic_name", default_names)
    everywhere = cleared.where("topic_name = ''").agg(F.max("position").alias("position"))
    all_topics = current_names(history).select("topic_id").crossJoin(everywhere)
    clearings = named.selectExpr("holder AS topic_id", "position").union(all_topics)
    return clearings.groupBy("topic_id").agg(F.max("position").alias("cleared_at"))
