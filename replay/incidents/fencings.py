"""Finds out whether a fenced broker led any partition, when only some partitions are followed."""

from collections.abc import Iterable
from itertools import chain

from records.envelope import Envelope
from records.partitions import PartitionChangeRecord, PartitionRecord
from replay.image.partitions import NO_LEADER
from replay.incidents.causes import broker_of
from replay.incidents.moved_leads import MovedLeads, PartitionKey
from replay.loader import BatchSource, Newest, load_image
from replay.time_travel.reach import ReplicasReach
from replay.time_travel.skim import reached_rows

_TOPICS_SKIMMED = 8


def had_lead(source: BatchSource, row: Envelope, newest: Newest) -> bool:
    """True if a batch took the leadership of any partition from a broker.

    Without a snapshot, the log is first skimmed for the partitions of a few topics, which is
    usually enough.

    Args:
        row: The broker's record, such as its fencing, which determines the broker and the batch.

    Raises:
        UnknownHistoryError, CorruptLogError: as for `load_image`.
    """
    batch = next(iter(source.batches(row.offset, row.offset + 1)))
    moved, broker_id = MovedLeads.of(batch.rows), broker_of(row.payload)
    if not moved.leaders:
        return False
    start = newest(moved.at)
    if start is None:
        topics = list(dict.fromkeys(topic_id for topic_id, _ in moved.keys))[:_TOPICS_SKIMMED]
        some = [key for key in moved.keys if key[0] in topics]
        found = reached_rows(source, ReplicasReach(some, ()), moved.at + 1)
        if found is not None and moved.had_lead(broker_id, _leaders_after(chain(*found))):
            return True
    image = load_image(source, moved.at, start=start)
    return moved.had_lead(broker_id, moved.leaders_in(image))


def _leaders_after(rows: Iterable[Envelope]) -> dict[PartitionKey, int]:
    leaders = {}
    for row in rows:
        record = row.payload
        if not isinstance(record, PartitionChangeRecord | PartitionRecord):
            continue
        if record.leader >= NO_LEADER:  # below it the leader stays
            leaders[record.topic_id, record.partition_id] = record.leader
    return leaders
