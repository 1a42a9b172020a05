"""How many partitions there were at each point of a range."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable
from operator import itemgetter

from records.base import Uuid
from records.envelope import Envelope
from records.partitions import PartitionRecord, RemovePartitionsRecord
from records.topics import RemoveTopicRecord
from replay.image.partitions import Partition


class PartitionCount:
    """Counts partitions from the records that create and remove them."""

    def __init__(self, partitions: Iterable[Partition]) -> None:
        """Start with the partitions before the range."""
        self._of_topics = Counter[Uuid](each.topic_id for each in partitions)
        # The offset of each batch that changed the number, and the number after it.
        self._totals = [(-1, self._of_topics.total())]

    @property
    def is_empty(self) -> bool:
        """True if there are none at the end."""
        return not self._totals[-1][1]

    def add(self, row: Envelope) -> None:
        """Count what a row changes."""
        match row.payload:
            case PartitionRecord(topic_id=topic_id):
                self._of_topics[topic_id] += 1
                self._change(row, 1)
            case RemovePartitionsRecord(topic_id=topic_id, partition_ids=numbers):
                self._of_topics[topic_id] -= len(numbers)
                self._change(row, -len(numbers))
            case RemoveTopicRecord(topic_id=topic_id):
                self._change(row, -self._of_topics.pop(topic_id, 0))

    def _change(self, row: Envelope, by: int) -> None:
        last, total = self._totals[-1]
        if last >= row.batch_offset:
            self._totals.pop()
        self._totals.append((max(last, row.batch_offset), total + by))

    def at(self, offset: int) -> int:
        """Return the number after the batch that contains an offset of the range."""
        return self._totals[bisect_right(self._totals, offset, key=itemgetter(0)) - 1][1]
