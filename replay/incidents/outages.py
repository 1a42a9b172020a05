"""Finds the outages in a range of a log."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain

from metadata_log.format.batch import Batch
from records.control import LeaderChangeMessage
from records.envelope import Envelope
from replay.image.metadata import MetadataImage
from replay.incidents.already_down import RowsOf
from replay.incidents.fencing_reasons import FencingReasons
from replay.incidents.health import broker_kinds, partition_kinds
from replay.incidents.indexed_outages import indexed_watch
from replay.incidents.lower_bounds import note_gone, note_silences, silences_below
from replay.incidents.outage import Outage, Outages
from replay.incidents.outage_tracker import OutageTracker
from replay.incidents.silences import Silence, silence_before
from replay.loader import BatchSource, Newest, Place, load_image
from replay.time_travel.change_index import ChangeIndex
from replay.time_travel.contradictions import explains
from replay.transactions import Resolved, Transactions, rows_within

# Loading one takes as long as replaying some 30,000 records of a large cluster.
_SNAPSHOTS_TRIED = 2

# Where so many partitions are down, some were down at the snapshot before, too.
_DOWN_MANY = 1_000


@explains
def find_outages(
    source: BatchSource,
    end_offset: int,
    *,
    from_offset: int = 0,
    until_ms: int | None = None,
    assumed_min_isr: int | None = None,
    progress: Callable[[int], None] | None = None,
    newest: Newest = lambda _: None,
    index: ChangeIndex | None = None,
) -> Outages:
    """Return the outages that overlap [from_offset, end_offset).

    Replays the log from a snapshot before the range, if there is one. If outages are already in
    progress in the snapshot, their beginning is searched for in the log before it.

    Args:
        until_ms: Time up to which outages without an end are counted, ms since 1970; the time of
            the range's last record if that is later or `until_ms` is None.
        assumed_min_isr: Used for topics whose min.insync.replicas is not in the log; None means
            that these are never under_min_isr.
        progress: Called with the end offset of each batch as it is replayed.
        newest: Returns the newest snapshot at or below an offset, if there is one.
        index: Used to find where outages in progress in the snapshot began.

    Raises:
        UnknownHistoryError, RequestError, CorruptLogError: as for `load_image`.
    """
    tracking = Tracking(source, end_offset, from_offset, newest, index, assumed_min_isr)
    for batch in source.batches(tracking.next_offset, end_offset):
        tracking.follow(batch)
        if progress is not None:
            progress(batch.end_offset)
    return tracking.finish(from_offset, until_ms)


class Tracking:
    """Follows a log batch by batch, from a snapshot before a range on.

    Attributes:
        next_offset: The first offset that was not read yet.
        tracker: Has the outages up to `next_offset`.
        place: How far the log has been read.
    """

    def __init__(
        self,
        source: BatchSource,
        end_offset: int,
        from_offset: int,
        newest: Newest = lambda _: None,
        index: ChangeIndex | None = None,
        assumed_min_isr: int | None = None,
    ) -> None:
        """Start before a range; the arguments are those of `find_outages`.

        Raises:
            UnknownHistoryError, RequestError, CorruptLogError: as for `load_image`.
        """
        start = min(from_offset, end_offset)
        self._reasons = FencingReasons(source)
        self.tracker = _tracker_before(source, newest, index, start, assumed_min_isr, self._reasons)
        self.next_offset = max(source.history_start, self.tracker.provenance.next_offset)
        self.place = Place(self.tracker.provenance)
        self._source = source
        self._end, self._transactions = end_offset, Transactions()
        self._silences: list[Silence] = []
        self._begin = self.next_offset, self.place.last.timestamp

    def follow(self, batch: Batch) -> list[Resolved]:
        """Read the next batch, up to the range's end; return its rows that take effect.

        Raises:
            ContradictionError: a record contradicts the state before it.
        """
        rows = rows_within(batch, self.next_offset, self._end)
        if type(batch.rows[0].payload) is LeaderChangeMessage:
            self._note_silence(rows)
        found = [each for each in self._transactions.resolved(rows) if each.in_effect]
        rows = found[0].rows if len(found) == 1 else [row for of in found for row in of.rows]
        self.tracker.replay(rows)
        self.next_offset = min(batch.end_offset, self._end)
        self.place.move(batch, self.next_offset, self._transactions.begin_offset)
        return found

    def _note_silence(self, rows: Sequence[Envelope]) -> None:
        if self.next_offset > self._source.history_start:
            self._silences += silence_before(rows, self.place.last.timestamp)

    def finish(self, from_offset: int, until_ms: int | None = None) -> Outages:
        """Return the outages found, as `OutageTracker.finish` does, with lower bounds."""
        return self.tracker.finish(from_offset, self.place.last, until_ms, self._note_bounds)

    def _note_bounds(self, outages: Sequence[Outage]) -> None:
        first = self._begin[0]
        earlier = partial(silences_below, self._source, first)
        note_silences(outages, self._silences, self._begin, earlier)
        note_gone(outages, self._reasons)


def _tracker_before(
    source: BatchSource,
    newest: Newest,
    index: ChangeIndex | None,
    end_offset: int,
    assumed_min_isr: int | None,
    reasons: FencingReasons,
) -> OutageTracker:
    """Return a tracker positioned at one of the newest snapshots below an offset.

    The tracker knows which objects are down at the snapshot, and since when. Without a snapshot, it
    is positioned at the start of the history.
    """
    found = None
    for image in _snapshots_before(source, newest, end_offset):
        if found is not None and _is_anything_down(image):
            continue
        tracker = OutageTracker(image, assumed_min_isr, reasons=reasons)
        if tracker.is_quiet:
            return tracker
        found = found or tracker
        if index is not None and len(found.partitions_down) > _DOWN_MANY:
            break
    past = load_image(source, source.history_start - 1)
    if found is None:
        return OutageTracker(past, assumed_min_isr, reasons=reasons)
    watch = partial(type(found), past, assumed_min_isr, reasons=reasons)
    before = None if index is None else indexed_watch(source, index, found, watch, assumed_min_isr)
    _take_over(source, newest, found, before or _look_back(source, found, watch))
    return found


def _is_anything_down(image: MetadataImage) -> bool:
    """True if a broker or partition is in an outage of any kind except `under_min_isr`."""
    topics = (image.degraded_partitions(topic.topic_id, 0) for topic in image.topics())
    return any(map(broker_kinds, image.brokers())) or any(
        partition_kinds(each, 0) for each in chain.from_iterable(topics)
    )


def _snapshots_before(
    source: BatchSource, newest: Newest, end_offset: int
) -> Iterator[MetadataImage]:
    """Yield the few newest snapshots below an offset, newest first.

    Skips a snapshot inside a batch, because causes are found in whole batches.
    """
    for _ in range(_SNAPSHOTS_TRIED):
        image = newest(end_offset - 1) if end_offset > source.history_start else None
        if image is None or image.provenance.next_offset < source.history_start:
            return
        if not image.provenance.mid_batch:
            yield image
        end_offset = image.provenance.next_offset - 1


def _look_back(
    source: BatchSource, tracker: OutageTracker, watch: Callable[..., OutageTracker]
) -> OutageTracker:
    """Return a tracker that has followed, up to a snapshot, the objects that are down in it.

    Args:
        tracker: Positioned at the snapshot.
        watch: Returns a tracker at the start of the history that follows some partitions.
    """
    found = watch(seen=tracker.partitions_down)
    matters = RowsOf(tracker.partitions_down)
    for rows in matters.batches(source, tracker.provenance.next_offset):
        found.replay(rows, matters.chosen(rows))
    assert found.has_outages_of(tracker), "the log and the snapshot differ"
    return found


def _take_over(
    source: BatchSource, newest: Newest, tracker: OutageTracker, past: OutageTracker
) -> None:
    """Set in `tracker` the beginning and cause of each outage at a snapshot, from `past`."""
    last: MetadataImage | None = None

    def load(at: int) -> MetadataImage:
        nonlocal last
        stored = newest(at)
        if last is None or (
            stored is not None and stored.provenance.next_offset > last.provenance.next_offset
        ):
            last = stored
        last = load_image(source, at, start=last)
        return last

    tracker.take_over(past, load)
