"""The records that changed one object, found by replaying the records that may reach it."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping

import msgspec

from records.base import Record
from records.configs import ConfigRecord
from records.envelope import Envelope
from records.errors import ContradictionError
from replay.image.metadata import MetadataImage
from replay.loader import BatchSource
from replay.time_travel.affected import AFFECTED, types_reaching
from replay.time_travel.change_index import ChangeIndex
from replay.time_travel.changes import EffectiveChange, changes_of_one
from replay.time_travel.config_setters import ConfigSetters
from replay.time_travel.effects import OF_A_PARTITION, Effects, Touched
from replay.time_travel.kinds import Fields
from replay.time_travel.objects import ObjectName
from replay.time_travel.past_topics import PastTopics
from replay.time_travel.skim import reaching_rows


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
    """Replays rows for one object, and passes over contradictions of the state of others.

    Attributes:
        image: The image after the last record that may have changed the object.
    """

    def __init__(self, image: MetadataImage, name: ObjectName) -> None:
        """Start from an image."""
        self.image = image
        self._name = name
        self._reaching = types_reaching(name.kind.name)
        self._effects = Effects(image)
        self._setters = ConfigSetters() if name.kind.name == "config" else None

    @property
    def fields(self) -> Fields | None:
        """The requested fields; None or empty if the object is absent."""
        return self._name.fields(self.image)

    def events(self, rows: Iterable[Envelope]) -> Iterator[Event]:
        """Apply rows that take effect; yield an event for each that changed the object.

        Raises:
            ContradictionError: a record contradicts the state of the object before it.
        """
        for row in rows:
            if not self._may_change(row):
                continue
            before, self.image = self.image, self._effects.image
            if self._setters is not None:
                self._setters.replay(before, row, self.image)
            if changes := changes_of_one(self._name, row, before, self.image):
                yield Event(row, changes, removed=not self.fields, set_by=self._set_by(row))

    def _set_by(self, row: Envelope) -> Mapping[str, Envelope | None] | None:
        """Return, by key, the records that set the configs of a topic created or moved by `row`.

        Returns:
            None if the object is not a topic's configs, or if `row` itself sets a config.
        """
        if self._setters is None or isinstance(row.payload, ConfigRecord):
            return None
        return self._setters.of(self._name.key(self.image))

    def _may_change(self, row: Envelope) -> bool:
        """Apply a row; return True if it may have changed the object, or which one has its name."""
        try:
            if type(row.payload) not in self._reaching:
                self._effects.apply(row)
                return False
            touched = self._effects.of(row).touched
        except ContradictionError:
            if self._concerns(row.payload):
                raise
            return False
        # Skip the records of other partitions: they are most of a log.
        return type(row.payload) not in OF_A_PARTITION or self._is_among(touched)

    def _is_among(self, touched: list[Touched]) -> bool:
        kind, key = self._name.kind.name, self._name.key(self.image)
        # One that does not exist yet has no key.
        return key is None or any(each.key == key and each.kind.name == kind for each in touched)

    def _concerns(self, record: Record) -> bool:
        """True if a record may be about the object."""
        kind, key = self._name.kind.name, self._name.key(self.image)
        if type(record) not in self._reaching:
            return False
        keys = AFFECTED.get(type(record), {}).get(kind)
        # It may also say which object the name means.
        return key is None or keys is None or key in keys(record, self.image)


def events_below(
    source: BatchSource,
    name: ObjectName,
    end: int,
    progress: Callable[[int], None] | None = None,
    index: ChangeIndex | None = None,
    past: PastTopics | None = None,
) -> tuple["ObjectReplay", Iterator[Event]]:
    """Return an object's replay, at the start of the history, and its events below `end`."""
    before, rows, _ = reaching_rows(source, name, end, progress, index, past)
    replay = ObjectReplay(before, name)
    return replay, replay.events(rows)


def last_event(source: BatchSource, name: ObjectName, end: int) -> Event | None:
    """Return the last change of an object below an offset; None if there was no such object."""
    _, events = events_below(source, name, end)
    last = deque(events, 1)
    return last[0] if last else None
