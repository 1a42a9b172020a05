"""Converts records of partitions to rows for the fold (fold/partitions.py)."""

from collections.abc import Sequence

from pyspark.sql import DataFrame

from replay.audit.fold.partitions import SCHEMA
from replay.audit.history import History

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

_FIELDS = {
    name: f"CASE WHEN whole IS NOT null THEN {in_whole} ELSE {in_change} END"
    for name, (in_whole, in_change) in FIELDS.items()
}

# Directories that are not set become unknown when their count no longer fits the replicas.
_COUNT = """CASE WHEN coalesce(cardinality(change.directories), 0) <= 0
                  THEN cardinality(change.replicas) END"""

_COLUMNS = {
    **_FIELDS,
    "position": "position",
    "topic_id": "coalesce(whole.topic_id, change.topic_id)",
    "partition_id": "coalesce(whole.partition_id, change.partition_id)",
    "born": "if(whole IS NOT null, position, null)",
    "leader_epoch": "whole.leader_epoch",
    "partition_epoch": "whole.partition_epoch",
    "elections": "if(coalesce(change.leader <> -2, false), 1L, 0L)",
    "changes": "if(change IS NOT null, 1L, 0L)",
    "least_replicas": _COUNT,
    "most_replicas": _COUNT,
    **{
        f"{name}_at": f"if({_FIELDS[name]} IS NOT null, position, null)"
        for name in ("eligible_leader_replicas", "last_known_elr")
    },
}


def partition_rows(history: History, undone: Sequence[tuple[int, int]]) -> DataFrame:
    """Return a row of the fold's `SCHEMA` for each record of a partition that took effect.

    Args:
        undone: The first and the last position of each transaction that was aborted or is still
            open.
    """
    records = history.in_effect(history.partitions_written, undone).withColumnsRenamed(
        {"PartitionRecord": "whole", "PartitionChangeRecord": "change"}
    )
    return records.selectExpr(*(f"{_COLUMNS[name]} AS {name}" for name in SCHEMA.names))
