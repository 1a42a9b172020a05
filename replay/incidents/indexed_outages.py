"""Finds where the outages in progress in a snapshot began, using an index of the log.

The states of partitions come from the index. Only batches with broker records are read from the
log, whole, because causes are found in whole batches. A record that leaves a broker as it was can
still be a cause.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter

from metadata_log.format.needles import Needles
from records.control import BeginTransactionRecord
from records.envelope import Envelope
from records.errors import ContradictionError
from replay.incidents.causes import BROKER_RECORDS
from replay.incidents.outage_tracker import OutageTracker
from replay.loader import BatchSource
from replay.time_travel.change_index import ChangeIndex
from replay.time_travel.skim import effective_batches

_OFFSET = attrgetter("offset")


def indexed_watch(
    source: BatchSource,
    index: ChangeIndex,
    tracker: OutageTracker,
    watch: Callable[..., OutageTracker],
    assumed_min_isr: int | None,
) -> OutageTracker | None:
    """Return a tracker that knows where each outage in progress in a snapshot began.

    Returns None if the index and the snapshot do not agree on the outages in progress.

    Args:
        tracker: Positioned at the snapshot.
        watch: Returns a tracker at the start of the history that follows some partitions.

    Raises:
        CorruptLogError: the log is damaged.
    """
    end_offset = tracker.provenance.next_offset
    known = index.outage_beginnings(end_offset, tracker.partitions_down, assumed_min_isr)
    if known is None:
        return None
    # It follows no partition from its beginning.
    found, done = watch(seen=()), 0
    try:
        for rows in _rows_with_brokers(source, end_offset):
            first = bisect_left(known, rows[0].offset, key=_OFFSET)
            last = bisect_right(known, rows[-1].offset, key=_OFFSET)
            found.replay(known[done:first])
            found.replay(rows, _with_brokers(known[first:last], rows))
            done = last
        found.replay(known[done:])
    except ContradictionError:
        return None  # a pass over the log says where
    return found if found.has_outages_of(tracker) else None


def _with_brokers(states: Sequence[Envelope], rows: Sequence[Envelope]) -> list[Envelope]:
    """Return states and the broker records among the rows of their batch, in order."""
    brokers = [row for row in rows if type(row.payload) in BROKER_RECORDS]
    return sorted([*states, *brokers], key=_OFFSET)


def _rows_with_brokers(source: BatchSource, end_offset: int) -> Iterator[Sequence[Envelope]]:
    """Yield lists of rows below an offset that take effect together: those with a broker record."""
    needles = Needles()
    for record_type in BROKER_RECORDS | {BeginTransactionRecord}:
        needles.add_type(record_type)
    for _, effective in effective_batches(source, source.history_start, end_offset, needles):
        rows = list(effective)
        if not BROKER_RECORDS.isdisjoint([type(row.payload) for row in rows]):
            yield rows
