"""Finds where the outages in progress in a snapshot began, using an index of the log.

The states of partitions come from the index. Only batches with broker records are read from the
log, whole, because causes are found in whole batches.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from operator import attrgetter

from metadata_log.format.batch import Batch
from records.envelope import Envelope
from records.errors import ContradictionError
from replay.image.metadata import MetadataImage
from replay.incidents.causes import BROKER_RECORDS
from replay.incidents.outage_tracker import OutageTracker
from replay.loader import BatchSource
from replay.time_travel.change_index import ChangeIndex
from replay.transactions import Transactions, rows_within

_OFFSET = attrgetter("offset")


def indexed_watch(
    source: BatchSource,
    index: ChangeIndex,
    tracker: OutageTracker,
    past: MetadataImage,
    assumed_min_isr: int | None,
) -> OutageTracker | None:
    """Return a tracker that knows where each outage in progress in a snapshot began.

    Returns None if the index and the snapshot do not agree on the outages in progress.

    Args:
        tracker: Positioned at the snapshot.
        past: The image at the start of the history.

    Raises:
        CorruptLogError: the log is damaged.
    """
    known = index.outage_beginnings(tracker.provenance.next_offset, assumed_min_isr)
    if known is None:
        return None
    # It follows no partition from its beginning.
    found, done = type(tracker)(past, assumed_min_isr, ()), 0
    try:
        for batch in _batches_at(source, known.broker_offsets):
            transactions = Transactions()
            rows = rows_within(batch, source.history_start, batch.end_offset)
            effective = list(transactions.effective(rows))
            if transactions.begin_offset is not None:
                return None  # rows of this batch take effect in a later one
            first = bisect_left(known.rows, batch.base_offset, key=_OFFSET)
            end = bisect_left(known.rows, batch.end_offset, key=_OFFSET)
            found.replay(known.rows[done:first])
            found.replay(effective, _with_brokers(known.rows[first:end], effective))
            done = end
        found.replay(known.rows[done:])
    except ContradictionError:
        return None  # a pass over the log says where
    return found if found.has_outages_of(tracker) else None


def _with_brokers(states: Sequence[Envelope], rows: Sequence[Envelope]) -> list[Envelope]:
    """Return states and the broker records among the rows of their batch, in order."""
    brokers = [row for row in rows if type(row.payload) in BROKER_RECORDS]
    return sorted([*states, *brokers], key=_OFFSET)


def _batches_at(source: BatchSource, offsets: Sequence[int]) -> Iterator[Batch]:
    """Yield the batches with the given offsets, which must be ascending."""
    end = 0
    for offset in offsets:
        if offset >= end:
            batch = next(iter(source.batches(offset, offset + 1)))
            end = batch.end_offset
            yield batch
