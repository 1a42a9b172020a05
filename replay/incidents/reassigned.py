"""Finds the records that began partition reassignments, and those that set brokers' states.

One skim of the log finds all of these records.
"""

from collections.abc import Callable, Collection, Iterable
from itertools import chain

import msgspec

from records.envelope import Envelope
from records.partitions import PartitionChangeRecord, PartitionRecord
from replay.image.cluster import Broker
from replay.image.metadata import MetadataImage
from replay.incidents.causes import BROKER_RECORDS, broker_of
from replay.incidents.moved_leads import PartitionKey
from replay.incidents.replay_state import ReplayState
from replay.incidents.unversioned_topics import UnversionedDelta
from replay.loader import BatchSource, rows_below
from replay.time_travel.contradictions import explains
from replay.time_travel.reach import ReplicasReach
from replay.time_travel.skim import reached_rows

ACTIVE, FENCED = "active", "fenced"
SHUTTING_DOWN, NOT_REGISTERED = "shutting down", "not registered"


class ReplicasSince(msgspec.Struct, frozen=True):
    """The records that set the current states of partitions and brokers.

    A partition or broker whose state is older than the kept history is missing from the maps.

    Attributes:
        partitions: By partition, the record that set the replicas being added or removed.
        brokers: By broker, the record that brought it to its current state.
    """

    partitions: dict[PartitionKey, Envelope]
    brokers: dict[int, Envelope]


def broker_state(broker: Broker | None) -> str:
    """Return a broker's state as a word: active, fenced, shutting down, or not registered."""
    if broker is None:
        return NOT_REGISTERED
    if broker.fenced:
        return FENCED
    return SHUTTING_DOWN if broker.in_controlled_shutdown else ACTIVE


@explains
def replicas_since(
    source: BatchSource,
    partitions: Collection[PartitionKey],
    brokers: Collection[int],
    at: int,
    progress: Callable[[int], None] | None = None,
) -> ReplicasSince:
    """Return the records that set the states of partitions and brokers as of offset `at`.

    Args:
        progress: Called with the end offset of each batch read.

    Raises:
        CorruptLogError: the log is damaged.
    """
    reach = ReplicasReach(partitions, brokers)
    found = reached_rows(source, reach, at + 1, progress)
    base, rows = found or _read(source, at + 1)
    follower = _Follower(filter(reach.takes, base))
    follower.follow(filter(reach.takes, rows))
    return follower.since


def _read(source: BatchSource, end: int) -> tuple[Iterable[Envelope], Iterable[Envelope]]:
    """Return the rows of the base checkpoint, and those of the log that take effect below `end`."""
    base = () if source.base is None else chain.from_iterable(source.base.rows())
    return base, rows_below(source, end)


class _Follower:
    """Tracks the replicas being added and removed, and the states of brokers."""

    def __init__(self, base: Iterable[Envelope]) -> None:
        self.since = ReplicasSince({}, {})
        self._moves: dict[PartitionKey, tuple[tuple[int, ...], tuple[int, ...]]] = {}
        self._state = ReplayState(UnversionedDelta(MetadataImage.EMPTY))
        self.follow(base)
        self.since = ReplicasSince({}, {})

    def follow(self, rows: Iterable[Envelope]) -> None:
        """Apply rows that take effect; records not about partitions or brokers are ignored."""
        for row in rows:
            record = row.payload
            if isinstance(record, PartitionRecord | PartitionChangeRecord):
                self._partition(row, record)
            elif type(record) in BROKER_RECORDS:
                self._broker(row, broker_of(record))

    def _partition(self, row: Envelope, record: PartitionRecord | PartitionChangeRecord) -> None:
        key = record.topic_id, record.partition_id
        adding, removing = before = self._moves.get(key, ((), ()))
        if record.adding_replicas is not None:
            adding = record.adding_replicas
        if record.removing_replicas is not None:
            removing = record.removing_replicas
        if (adding, removing) != before:
            self._moves[key] = adding, removing
            self.since.partitions[key] = row

    def _broker(self, row: Envelope, broker_id: int) -> None:
        before = broker_state(self._state.broker(broker_id))
        self._state.replay(row)
        if broker_state(self._state.broker(broker_id)) != before:
            self.since.brokers[broker_id] = row
