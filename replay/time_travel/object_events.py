"""The records that changed one object, found by replaying the records that may reach it."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping

import msgspec

from records.configs import ConfigRecord
from records.envelope import Envelope
from replay.image.delta import MetadataDelta
from replay.image.metadata import MetadataImage
from replay.image.provenance import Provenance
from replay.loader import BatchSource, load_image
from replay.time_travel.change_index import ChangeIndex
from replay.time_travel.changes import EffectiveChange
from replay.time_travel.config_setters import ConfigSetters
from replay.time_travel.kinds import Fields
from replay.time_travel.objects import ObjectName
from replay.time_travel.past_topics import PastTopics
from replay.time_travel.record_replay import RecordReplay
from replay.time_travel.skim import reaching_rows
from replay.transactions import effective_rows


class Event(msgspec.Struct, frozen=True):
    """A record that changed an object.

    Attributes:
        row: The record with its position and origin.
        removed: True if the object, or the requested field, is absent afterwards.
        set_by: For a topic's configs that changed because the topic was created or moved: by key,
            the record that set the value, None if that record is older than the kept history. None
            for other events.
    """

    row: Envelope
    changes: list[EffectiveChange]
    removed: bool
    set_by: Mapping[str, Envelope | None] | None = None

    def setter(self, field: str) -> Envelope | None:
        """Return the record that set a field's value after this event."""
        return self.row if self.set_by is None else self.set_by.get(field)


class ObjectReplay:
    """Replays rows and yields the changes of one object."""

    def __init__(self, image: MetadataImage, name: ObjectName) -> None:
        self._name = name
        self._replay = RecordReplay(image, name)
        self._setters = ConfigSetters() if name.kind.name == "config" else None

    @property
    def image(self) -> MetadataImage:
        """The image after the last record that may have changed the object."""
        return self._replay.image

    @property
    def fields(self) -> Fields | None:
        """The requested fields; None or empty if the object is absent."""
        return self._name.fields(self.image)

    def events(self, rows: Iterable[Envelope]) -> Iterator[Event]:
        """Apply rows that take effect; yield an event for each that changed the object."""
        for row, changes in self._replay.replay(rows):
            if self._setters is not None:
                self._setters.replay(self._replay.before, row, self.image)
            if changes:
                yield Event(row, changes, removed=not self.fields, set_by=self._set_by(row))

    def _set_by(self, row: Envelope) -> Mapping[str, Envelope | None] | None:
        """Return, by key, the records that set the configs of a topic created or moved by `row`.

        Returns:
            None if the object is not a topic's configs, or if `row` itself sets a config.
        """
        if self._setters is None or isinstance(row.payload, ConfigRecord):
            return None
        return self._setters.of(self._name.key(self.image))


def events_below(
    source: BatchSource,
    name: ObjectName,
    end: int,
    progress: Callable[[int], None] | None = None,
    index: ChangeIndex | None = None,
    past: PastTopics | None = None,
) -> tuple["ObjectReplay", Iterator[Event]]:
    """Return an object's replay, at the start of the history, and its events below `end`."""
    found = reaching_rows(source, name, end, progress, index, past)
    if found is None:
        replay = ObjectReplay(load_image(source, source.history_start - 1), name)
        start = source.history_start
        batches = source.batches(start, end)
        return replay, replay.events(effective_rows(batches, start, end, progress))
    before, rows = found
    replay = ObjectReplay(_image_of(before), name)
    return replay, replay.events(rows)


def last_event(source: BatchSource, name: ObjectName, end: int) -> Event | None:
    """Return the last change of an object below an offset; None if there was no such object."""
    _, events = events_below(source, name, end)
    last = deque(events, 1)
    return last[0] if last else None


def _image_of(rows: Iterable[Envelope]) -> MetadataImage:
    delta = MetadataDelta(MetadataImage.EMPTY)
    for row in rows:
        delta.replay(row)
    return delta.apply(Provenance())
