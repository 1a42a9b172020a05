"""Plans to remove partitions: finds the record that made the plan that a record carries out.

docs/debugging.md says which records make plans and which carry them out ("Who asked").
Reassignments, whose records are those of partitions, are followed by operations on columns
(partition_changes.py).
"""

from collections import defaultdict

from replay.audit.fold.said import Said
from replay.audit.fold.topic_names import Fields

BEGIN = "DeleteTopicPartitionsRecord"
CANCEL = "CancelDeleteTopicPartitionsRecord"
REMOVAL = "RemovePartitionsRecord"


class Plans:
    """The planned removals of partitions, updated as records are applied in order."""

    def __init__(self) -> None:
        self._partitions: dict[str, dict[int, Said]] = defaultdict(dict)
        self._topics: dict[str, Said] = {}

    def asked(self, name: str, fields: Fields, partition_id: int) -> Said | None:
        """Return the record that planned a partition's removal, which another record carries out.

        None if the other record carries out no plan, or if its plan is not known.
        """
        if name not in (REMOVAL, "ReplicaDeletionRecord"):
            return None
        topic_id = fields["topic_id"]
        if name != REMOVAL and topic_id in self._topics:
            return self._topics[topic_id]
        return self._partitions[topic_id].get(partition_id)

    def apply(self, said: Said) -> None:
        """Apply a record that took effect."""
        name, fields = said.name, said.fields
        if name == "RemoveTopicRecord":
            self._topics[fields["topic_id"]] = said
        elif name == BEGIN:
            self._partitions[fields["topic_id"]] |= dict.fromkeys(fields["partition_ids"], said)
        elif name in (CANCEL, REMOVAL):
            for partition_id in fields["partition_ids"]:
                self._partitions[fields["topic_id"]].pop(partition_id, None)
