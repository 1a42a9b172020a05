"""The names of the SQL views, the same in Spark and DuckDB."""

from replay.audit.part_fields import PARTS

LOG_VIEW = "log"
VIEWS_ABOUT = {
    LOG_VIEW: "the records in the range",
    "changes": "effective changes in the range",
    "all_changes": "the same from the start of the history; in_range marks those in the range",
    "changed_objects": "objects that a record in the range changed, with the changed fields",
    "changes_by_object": "changes of an object, added up",
    "changes_by_principal": "changes of some objects by a principal and command, added up",
    "net_changes": "all changes of a field in the range as one",
    "partition_states": "states of each partition, and how long each lasted in the range",
    "partition_churn": "changes of leader and shrunk ISRs of each partition, by hour",
    "partition_outages": "times of each partition without a leader, and under-replicated",
    "broker_states": "states of each broker, and how long each lasted in the range",
    "broker_moves": "replicas and leaders that each broker gained or lost, by hour",
    "contradictions": "the first record that contradicts the state before it, if one does",
    "gaps": "offsets that a recording of several parts lacks",
    "found_after_gap": "fields that differ after each of them; who changed them is not known",
    "period": "offset of the first record in the range, times of the first and the last",
    **dict.fromkeys(PARTS, "part of the state at the end of the range: docs/digest.md"),
}
VIEWS = frozenset(VIEWS_ABOUT)
"""The views that a query may read."""
