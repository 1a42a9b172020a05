"""A report: everything that the report's page shows about a range of a log."""

from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from metadata_log.batch import Batch
from records.control import LeaderChangeMessage
from records.envelope import Envelope
from replay.image.metadata import MetadataImage
from replay.incidents.event import TimelineEvent
from replay.loader import BatchSource
from replay.report import varints
from replay.report.chains import Chains, terms_of
from replay.report.columns import Columns, RowPlace, packed
from replay.report.eventful import Weighed, most_eventful, weighed
from replay.report.object_changes import (
    EffectiveRow,
    ObjectChanges,
    Touched,
    objects_of,
)
from replay.time_travel.escapes import escaped
from replay.timeline import Timeline

FORMAT = 1
"""Version of the format. A page holds the code that reads it, so that no other must."""

Progress = Callable[[int], None]
Mask = Callable[[dict[str, Any]], dict[str, Any]]
"""Given the header, returns it with what must not be shown replaced."""


class Redaction(NamedTuple):
    """Functions that redact a report: its field values, its labels and its header."""

    field: Callable[[str, str, Any], Any]
    label: Callable[[str, str], str]
    mask: Mask


class Report(NamedTuple):
    """A range of a log in packed form.

    Attributes:
        first, last: First and last offset of the range, inclusive.
        changes: Number of object states in the report, without each object's first state.
        most_eventful: First and last offset of the most eventful range; None if nothing changed.
    """

    first: int
    last: int
    rows: int
    changes: int
    most_eventful: tuple[int, int] | None
    packed: bytes


class GrowingReport:
    """The report of a range whose end can be moved up. Then only the new records are replayed.

    The events of the range are computed anew each time.

    Attributes:
        start: First offset from which on states are known.
    """

    def __init__(
        self,
        timeline: Timeline,
        first: int,
        redaction: Redaction,
        topics: Collection[str] | None = None,
    ) -> None:
        """Start with the state before an offset.

        Args:
            first: The first offset of the report.
            topics: Full names. The report then only has the states of these topics and of their
                partitions: no events, leader epochs or causes, which may reveal other topics. None:
                the whole cluster.

        Raises:
            UnknownHistoryError, RequestError, CorruptLogError: as for `Timeline.image`.
        """
        self._first = first
        self._redaction = redaction
        self._is_whole = topics is None
        self._is_told = _in_topics(topics)
        self.start = max(first, timeline.source.history_start)
        # An image as of within a transaction is the one before it: the range begins there.
        self._image = image = timeline.image(self.start - 1)
        self._changes = ObjectChanges(image)
        self._columns = Columns(redaction.field, redaction.label)
        self._columns.add(_place_of(image, self.start), filter(self._is_told, objects_of(image)))
        self._before = self._columns.touches
        self._chains = Chains(image, self._columns.origin)
        self._weights: list[Weighed] = []

    def until(
        self,
        timeline: Timeline,
        last: int,
        about: dict[str, Any],
        progress: Progress = lambda offset: None,
    ) -> Report:
        """Return the report up to an offset, which must not be lower than in the last call.

        Args:
            timeline: A timeline of the same log.
            last: The report's last offset. It must end a batch if `until` will be called again.
            about: Further fields of the header.

        Raises:
            CorruptLogError: a record contradicts the state before it; the `GrowingReport` must not
                be used again.
        """
        source, first = timeline.source, self._first
        for each in self._followed(source, last + 1, progress):
            self._add(each)
        events = timeline.events(first, last + 1, start=self._image) if self._is_whole else []
        found = most_eventful(self._weights)
        header, encoded = self._columns.encoded()
        words, of_words = self._chains.encoded()
        told, of_events = _encoded_events(events)
        header |= words | told | about
        header |= {
            "format": FORMAT,
            "first": first,
            "history_from": self.start,
            "last": last,
            "opens": found,
            "terms": terms_of(map(_term, source.batches(first, last + 1)))
            if self._is_whole
            else [],
            "times": _times(source, first, last),
        }
        block = packed(self._redaction.mask(header), encoded | of_words | of_events)
        rows, changes = self._columns.rows - 1, self._columns.touches - self._before
        return Report(first, last, rows, changes, found, block)

    def _add(self, each: EffectiveRow) -> None:
        row, touched = each.row, list(filter(self._is_told, each.touched))
        self._weights.append(weighed(each._replace(touched=touched)))
        if touched:
            type_ = type(row.payload).__name__
            place = RowPlace(row.offset, each.effect, row.timestamp, type_, row.origin)
            self._columns.add(place, touched)
            self._chains.add(row)

    def _followed(
        self, source: BatchSource, end: int, progress: Progress
    ) -> Iterator[EffectiveRow]:
        """Yield the records with their changes; pass each batch to the chains first.

        Chains need whole batches, because a record's causes are in its batch.
        """
        changes = self._changes.until(source, end, progress)
        if not self._is_whole:
            yield from changes
            return
        for _, of_batch in groupby(changes, key=lambda each: each.row.batch_offset):
            together = list(of_batch)
            self._chains.follow([each.row for each in together])
            yield from together


def _in_topics(topics: Collection[str] | None) -> Callable[[Touched], bool]:
    """Return a predicate: true for the given topics and their partitions, or for all if None."""
    if topics is None:
        return lambda _: True
    labels = frozenset(map(escaped, topics))

    def is_told(touched: Touched) -> bool:
        match touched.kind:
            case "topic":
                return touched.label in labels
            case "partition":
                return touched.label.rpartition("/")[0] in labels
        return False

    return is_told


def _place_of(image: MetadataImage, start: int) -> RowPlace:
    found = image.provenance
    return RowPlace(start - 1, start - 1, found.timestamp or 0, "", None)


def _term(batch: Batch) -> tuple[int, int, int, int | None]:
    nodes = [r.payload.leader_id for r in batch.rows if isinstance(r.payload, LeaderChangeMessage)]
    node = nodes[0] if nodes else None
    return batch.base_offset, batch.timestamp, batch.leader_epoch, node


def _times(source: BatchSource, first: int, last: int) -> list[int]:
    """Return the append times of the first and the last batch of a range."""
    ends: Sequence[Envelope] = [
        batch.rows[0]
        for at in (first, last)
        for batch in ([*source.batches(at, at + 1)][:1] if first <= last else ())
    ]
    return [row.timestamp for row in ends]


def _encoded_events(events: Sequence[TimelineEvent]) -> tuple[dict[str, Any], dict[str, bytes]]:
    """Return header fields and columns of the events; the header lists each object name once."""
    names: dict[str, int] = {}
    numbers = [[names.setdefault(name, len(names)) for name in e.objects] for e in events]
    texts: dict[str, int] = {}
    principals: dict[str | None, int] = {None: 0}
    kinds: dict[str, int] = {}
    columns = {
        "event_from": varints.deltas(event.from_offset for event in events),
        "event_to": varints.unsigned(event.to_offset - event.from_offset for event in events),
        "event_time": varints.deltas(event.time for event in events),
        "event_kind": varints.unsigned(kinds.setdefault(e.kind, len(kinds)) for e in events),
        "event_text": varints.unsigned(texts.setdefault(e.text, len(texts)) for e in events),
        "event_cause": varints.unsigned(0 if e.cause is None else e.cause + 1 for e in events),
        "event_principal": varints.unsigned(
            principals.setdefault(e.principal, len(principals)) for e in events
        ),
        "event_objects": varints.unsigned(len(found) for found in numbers),
        "event_object": varints.deltas(number for found in numbers for number in found),
    }
    header = {
        "names": list(names),
        "event_texts": list(texts),
        "event_kinds": list(kinds),
        "principals": list(principals),
    }
    return header, columns
