"""The records that changed one object, found by replaying all records that may affect it."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import msgspec

from records.base import Record
from records.configs import ConfigRecord
from records.envelope import Envelope
from records.errors import ContradictionError
from records.partitions import PartitionRecord
from replay.image.metadata import MetadataImage
from replay.loader import BatchSource
from replay.time_travel.affected import AFFECTED, types_reaching
from replay.time_travel.change_index import ChangeIndex
from replay.time_travel.changes import EffectiveChange, changes_of_one
from replay.time_travel.config_setters import ConfigSetters
from replay.time_travel.effects import OF_A_PARTITION, Effects
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
    """Replays rows for one object, and ignores contradictions about other objects.

    Attributes:
        image: The image after the last record that may have changed the object.
    """

    def __init__(self, image: MetadataImage, name: ObjectName) -> None:
        """Start from an image."""
        self.image = image
        self._name = name
        self._reaching = types_reaching(name.kind.name)
        self._effects = Effects(image)
        # An image, and the object's key in it.
        self._known: tuple[MetadataImage, Any] | None = None
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
        """Apply a row; return True if it may have changed the object, or its name."""
        try:
            if type(row.payload) not in self._reaching:
                self._effects.apply(row)
                return False
            if type(row.payload) in OF_A_PARTITION and not self._is_about(row.payload):
                # They are most of a log.
                self._effects.of_partition(row)
                return False
            self._effects.of(row)
        except ContradictionError:
            if self._concerns(row.payload):
                raise
            return False
        return True

    def _is_about(self, record: Any) -> bool:
        """True if a PartitionRecord or PartitionChangeRecord may be about the object."""
        if self._known is None or self._known[0] is not self.image:
            self._known = self.image, self._name.key(self.image)
        key = self._known[1]
        if key is None:
            return isinstance(record, PartitionRecord)  # it may create the object
        return key in (record.topic_id, (record.topic_id, record.partition_id))

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
    """Return an object's replay, and its events below `end`; reading these advances the replay."""
    before, rows, _ = reaching_rows(source, name, end, progress, index, past)
    replay = ObjectReplay(before, name)
    return replay, replay.events(rows)


def last_event(source: BatchSource, name: ObjectName, end: int) -> Event | None:
    """Return the last change of an object below an offset; None if there was no such object."""
    _, events = events_below(source, name, end)
    last = deque(events, 1)
    return last[0] if last else None
