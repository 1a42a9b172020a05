"""Timeline: the events in a range of a log, grouped by cause.

A broker's record and the partition changes that it caused, by the rules of docs/causes.md, form one
event; the other records of a batch form one event per kind. A leader that changes the ISR of
several partitions writes a batch for each: these form one event if they have the same cause.
"""

from collections.abc import Callable, Iterable

from metadata_log.format.batch import Batch
from records import control
from replay.image.metadata import MetadataImage
from replay.incidents.event import Group, TimelineEvent, in_order
from replay.incidents.event_builder import EventBuilder
from replay.incidents.fencing_reasons import FencingReasons
from replay.loader import BatchSource, check_point, provenance_at
from replay.time_travel.contradictions import explained
from replay.transactions import Transactions, rows_within


def timeline_events(
    source: BatchSource,
    from_offset: int,
    to_offset: int,
    start: Callable[[int], MetadataImage],
    progress: Callable[[int], None] | None = None,
    noted: Callable[[control.NoteRecord], object] = lambda _: None,
    until_ms: int | None = None,
) -> list[TimelineEvent]:
    """Return the events of [from_offset, to_offset), as `in_order`.

    Records below `history_start`, where the state is not known, are described by their types only.
    A transaction that ends in the range is described with all of its records.

    Args:
        start: Returns the image as of an offset.
        progress: Called with the end offset of each batch read.
        noted: Called with each note that was written in the range.
        until_ms: Time up to which the term of the last controller is counted, ms since 1970; the
            time of the range's last record if that is later or `until_ms` is None.

    Raises:
        UnknownHistoryError, RequestError, CorruptLogError: as for `load_image`.
    """
    check_point(source, max(to_offset, source.history_start) - 1)
    first = max(from_offset, source.history_start)
    reasons = FencingReasons(source)
    events = GrowingEvents(start(first - 1), from_offset, first, noted, reasons)
    events.read(source, to_offset, progress, until_ms)
    return events.all()


class GrowingEvents:
    """The events of a range that can be extended; only the new records are then read."""

    def __init__(
        self,
        image: MetadataImage,
        from_offset: int,
        first: int,
        noted: Callable[[control.NoteRecord], object] = lambda _: None,
        reasons: FencingReasons | None = None,
    ) -> None:
        """Start with the image before `first`, without events.

        Args:
            from_offset: Start of the range. Records from there to `first`, where the state is not
                known, are described by their types only.
            noted: Called with each note that was written in the range.
            reasons: As for `Causes`.
        """
        self._from_offset, self._first = from_offset, first
        # A transaction that is open there takes effect in the range, if it does.
        self._begin = min(first, image.provenance.next_offset)
        self._next = min(self._begin, from_offset)
        self._building, self._transactions = EventBuilder(image, noted, reasons), Transactions()

    @property
    def next_offset(self) -> int:
        """The first offset that was not read yet."""
        return self._next

    def read(
        self,
        source: BatchSource,
        to_offset: int,
        progress: Callable[[int], None] | None = None,
        until_ms: int | None = None,
    ) -> None:
        """Add the events of the records up to `to_offset`, exclusive.

        `read` may be called again only if `to_offset` was the end of a batch.

        Raises:
            CorruptLogError: a record contradicts the state before it; names the offset.
        """
        if max(self._next, self._from_offset) >= to_offset:
            return
        with explained(source):
            for batch in source.batches(self._next, to_offset):
                self.follow(batch, to_offset)
                if progress is not None:
                    progress(batch.end_offset)
        self.end(source, to_offset, until_ms)

    def follow(self, batch: Batch, to_offset: int) -> None:
        """Add the events of the next batch; after the last batch the caller calls `end`.

        Raises:
            ContradictionError: a record contradicts the state before it.
        """
        building, unknown_end = self._building, min(self._first, to_offset)
        building.stateless(rows_within(batch, max(self._from_offset, self._next), unknown_end))
        rows = rows_within(batch, max(self._begin, self._next), to_offset)
        building.follow(list(self._transactions.effective(rows)))
        self._next = min(batch.end_offset, to_offset)
        building.last_time = provenance_at(batch, self._next).timestamp

    def end(self, source: BatchSource, to_offset: int, until_ms: int | None = None) -> None:
        """Complete the events, once all records up to `to_offset` (exclusive) were read."""
        if self._begin > source.history_start:
            self._building.add_asked_before(source, to_offset)
        self._building.add_duration_of_term(until_ms or 0)

    def all(self) -> list[TimelineEvent]:
        """Return the events, in order."""
        return in_order([*self.flaps(), *(group.event() for group in self._building.groups())])

    def groups(self) -> Iterable[Group]:
        """Return the groups of records that form the events, except flaps, in a fixed order."""
        return self._building.groups()

    def changed_groups(self) -> list[Group]:
        """Return the groups that were made or changed since the last call."""
        return self._building.changed_groups()

    @property
    def absences(self) -> int:
        """The number of absences found so far; `flaps` changes only if this number does."""
        return self._building.flaps.count

    def flaps(self) -> list[TimelineEvent]:
        """Return the events of objects that were lost and regained repeatedly."""
        return list(self._building.flaps.events())
