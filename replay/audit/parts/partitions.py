"""Partitions: the last value of each field; an epoch is its start value plus a count of changes."""

from pyspark.sql import DataFrame

from replay.audit.history import History
from replay.audit.parts.removals import partition_removals
from replay.audit.parts.topics import current_names, name_changes, topic_removals, with_holders

# Each field in a PartitionRecord, and in a change, where null means unset.
FIELDS = {
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

_DATED = ("directories", "eligible_leader_replicas", "last_known_elr")


def partitions(history: History) -> DataFrame:
    """Return the partitions.

    Returns:
        partitions struct (topic_id binary, partition_id int, replicas, isr, removing_replicas,
        adding_replicas, leader int, leader_recovery_state int, leader_epoch int, partition_epoch
        int, directories, eligible_leader_replicas, last_known_elr, mode int); the lists are of int,
        `directories` of binary, and none of them is null.
    """
    elr, last_known_elr = (
        f"CASE WHEN cleared_at > {name}_at THEN array() ELSE {name} END"
        for name in ("eligible_leader_replicas", "last_known_elr")
    )
    return _with_topic_events(_last_values(history), history).selectExpr(f"""
        struct(topic_id, partition_id, replicas, isr, removing_replicas, adding_replicas, leader,
               leader_recovery_state,
               first_leader_epoch + size(filter(elected_at, at -> at > born)) AS leader_epoch,
               first_partition_epoch + size(filter(changed_at, at -> at > born))
                   AS partition_epoch,
               -- Directories became unknown when their count no longer fitted the replicas.
               CASE WHEN exists(reassignments, r -> r.position > directories_at
                                    AND r.count <> cardinality(directories))
                    THEN array() ELSE directories END AS directories,
               {elr} AS eligible_leader_replicas, {last_known_elr} AS last_known_elr, mode
        ) AS partitions""")


def _with_topic_events(last: DataFrame, history: History) -> DataFrame:
    """Drop the partitions of removed topics; add the column `cleared_at`.

    It is the position at which the ELR of the partition's topic was last cleared, or null.
    """
    last = last.where("removed_at IS null OR removed_at < born").drop("removed_at")
    if history.has("RemoveTopicRecord"):
        last = last.join(topic_removals(history).hint("broadcast"), "topic_id", "left")
        last = last.where("removed_at IS null OR removed_at < born")
    if history.has("ClearElrRecord"):
        return last.join(_elr_clearings(history).hint("broadcast"), "topic_id", "left")
    return last.selectExpr("*", "CAST(null AS long) AS cleared_at")


def _last_values(history: History) -> DataFrame:
    """Return every partition ever written, with the last value of each field.

    `born` is the position of the partition's last PartitionRecord. That record sets every field, so
    no value is older.
    """
    last = ", ".join(
        f"max_by({name}, position) FILTER (WHERE {name} IS NOT null) AS {name}" for name in FIELDS
    )
    dates = ", ".join(
        f"max(position) FILTER (WHERE {name} IS NOT null) AS {name}_at" for name in _DATED
    )
    return history.sql(
        f"""
        SELECT topic_id, partition_id, {last}, {dates},
               max(position) FILTER (WHERE whole IS NOT null) AS born,
               max(position) FILTER (WHERE is_removal) AS removed_at,
               max_by(whole.leader_epoch, position) FILTER (WHERE whole IS NOT null)
                   AS first_leader_epoch,
               max_by(whole.partition_epoch, position) FILTER (WHERE whole IS NOT null)
                   AS first_partition_epoch,
               collect_list(position) FILTER (WHERE change.leader <> -2) AS elected_at,
               collect_list(position) FILTER (WHERE change IS NOT null) AS changed_at,
               collect_list(struct(position, cardinality(replicas) AS count))
                   FILTER (WHERE change.replicas IS NOT null
                               AND coalesce(cardinality(change.directories), 0) = 0)
                   AS reassignments
        FROM {{events}} GROUP BY topic_id, partition_id
        """,
        events=_events(history),
    )


def _events(history: History) -> DataFrame:
    """Return one row per record of a partition; fields that the record does not set are null."""
    fields = (
        f"CASE WHEN whole IS NOT null THEN {in_whole} ELSE {in_change} END AS {name}"
        for name, (in_whole, in_change) in FIELDS.items()
    )
    records = history.partitions.withColumnsRenamed(
        {"PartitionRecord": "whole", "PartitionChangeRecord": "change"}
    )
    events = records.selectExpr(
        "position",
        "coalesce(whole.topic_id, change.topic_id) AS topic_id",
        "coalesce(whole.partition_id, change.partition_id) AS partition_id",
        "false AS is_removal",
        "whole",
        "change",
        *fields,
    )
    if not history.has("RemovePartitionsRecord"):
        return events
    removals = partition_removals(history).selectExpr("*", "true AS is_removal")
    return events.unionByName(removals, allowMissingColumns=True)


def _elr_clearings(history: History) -> DataFrame:
    """Return (topic_id binary, cleared_at long): where each topic's ELR was last cleared."""
    uses = history.sql("""
        SELECT ClearElrRecord.topic_name AS full_name, position, true AS use
        FROM {rare} WHERE ClearElrRecord.topic_name <> ''
    """)
    default_names = name_changes(history).where("in_default")
    return history.sql(
        """
        SELECT topic_id, max(position) AS cleared_at
        FROM (SELECT holder AS topic_id, position FROM {named}
              UNION ALL SELECT topic_id, cleared_at
              FROM {all_topics} CROSS JOIN
                  (SELECT max(position) AS cleared_at
                   FROM {rare} WHERE ClearElrRecord.topic_name = ''))
        GROUP BY topic_id
        """,
        named=with_holders(history, uses, default_names),
        all_topics=current_names(history),
    )
