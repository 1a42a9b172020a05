"""Finds the beginning and the cause of the outages that are already in progress in a snapshot.

A snapshot shows only the state. Of the log before the snapshot, only the records that matter are
replayed: those of partitions in an outage, and those about brokers, topic names and
min.insync.replicas. If few topics are affected, the log is skimmed for their records.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence

import msgspec

from metadata_log.format.needles import Needles
from records.base import Record
from records.configs import ConfigRecord
from records.control import BeginTransactionRecord
from records.envelope import Envelope
from records.partitions import (
    ClearElrRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RemovePartitionsRecord,
)
from records.topics import (
    MoveTopicRecord,
    NamespaceRecord,
    RemoveNamespaceRecord,
    RemoveTopicRecord,
    TopicRecord,
)
from replay.incidents.causes import BROKER_RECORDS
from replay.incidents.moved_leads import PartitionKey
from replay.incidents.replay_state import MIN_ISR
from replay.loader import BatchSource
from replay.time_travel.skim import effective_batches

_TOPICS_SKIMMED_MAX = 50
"""Searching a block for the ids of more topics than this takes as long as decoding the block."""

_ALWAYS: frozenset[type[Record]] = BROKER_RECORDS | {
    *(TopicRecord, MoveTopicRecord, RemoveTopicRecord),
    *(NamespaceRecord, RemoveNamespaceRecord, ClearElrRecord),
}


class RowsOf:
    """Selects the rows about some partitions and about all brokers.

    Attributes:
        partitions: Keys of the selected partitions.
    """

    def __init__(self, partitions: Collection[PartitionKey]) -> None:
        self.partitions = frozenset(partitions)
        self._topics = {topic_id for topic_id, _ in partitions}

    def batches(self, source: BatchSource, end_offset: int) -> Iterator[Sequence[Envelope]]:
        """Yield lists of rows below an offset; the rows of a list take effect together.

        A list includes rows that are not selected. If the log can be skimmed, batches without
        selected rows may be left out.

        Raises:
            CorruptLogError: the log is damaged.
        """
        start, needles = source.history_start, self._needles()
        for _, rows in effective_batches(source, start, end_offset, needles):
            yield list(rows)

    def chosen(self, rows: Iterable[Envelope]) -> Iterator[Envelope]:
        """Yield the selected rows."""
        for row in rows:
            record = row.payload
            if isinstance(record, PartitionChangeRecord | PartitionRecord):
                if (record.topic_id, record.partition_id) in self.partitions:
                    yield row
            elif type(record) in _ALWAYS:
                yield row
            elif isinstance(record, ConfigRecord):
                if record.name == MIN_ISR:
                    yield row
            elif isinstance(record, RemovePartitionsRecord) and record.topic_id in self._topics:
                yield from self._removal(row, record)

    def _removal(self, row: Envelope, record: RemovePartitionsRecord) -> Iterator[Envelope]:
        """Yield the row, reduced to the selected partitions; nothing if it removes none of them.

        The other partitions are unknown to the replay, so removing them would be a contradiction.
        """
        ids = tuple(i for i in record.partition_ids if (record.topic_id, i) in self.partitions)
        if ids:
            payload = msgspec.structs.replace(record, partition_ids=ids)
            yield msgspec.structs.replace(row, payload=payload)

    def _needles(self) -> Needles | None:
        """Return the search strings that find all blocks with selected rows.

        Returns None if the partitions belong to too many topics for the search to pay off.
        """
        if len(self._topics) > _TOPICS_SKIMMED_MAX:
            return None
        needles = Needles()
        needles.add_name(MIN_ISR)
        for topic_id in self._topics:
            needles.add_id(topic_id)
        needles.add_type(BeginTransactionRecord)
        for record_type in _ALWAYS:
            needles.add_type(record_type)
        return needles
