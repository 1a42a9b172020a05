"""History and blame: the changes of one object, and the record that last set each field."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import msgspec

from records.configs import ConfigRecord
from records.envelope import Envelope, Origin
from records.errors import RequestError, UnknownHistoryError
from records.topics import MoveTopicRecord
from replay.image.delta import MetadataDelta
from replay.image.metadata import MetadataImage
from replay.image.provenance import Provenance
from replay.loader import BatchSource, check_point, explains, load_image
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


class LastSet(msgspec.Struct, frozen=True):
    """A field's value and the row that last set it; None if that is older than the kept history."""

    value: Any
    row: Envelope | None = None

    @property
    def known(self) -> bool:
        """True if the record is in the kept history."""
        return self.row is not None

    @property
    def offset(self) -> int | None:
        """Offset of the record."""
        return None if self.row is None else self.row.offset

    @property
    def timestamp(self) -> int | None:
        """Time of the record, ms since 1970."""
        return None if self.row is None else self.row.timestamp

    @property
    def type(self) -> str | None:
        """Type of the record."""
        return None if self.row is None else type(self.row.payload).__name__

    @property
    def origin(self) -> Origin | None:
        """Origin of the record."""
        return None if self.row is None else self.row.origin


@explains
def history(
    source: BatchSource,
    name: ObjectName,
    end_offset: int | None = None,
    progress: Callable[[int], None] | None = None,
    *,
    from_offset: int | None = None,
    index: ChangeIndex | None = None,
    past: PastTopics | None = None,
) -> Iterator[Event]:
    """Yield the records that changed the object called `name`, oldest first.

    A name may have meant several objects in succession; an id (`topic:@...`) means only one. Yields
    nothing for an object that existed all the time and did not change.

    Args:
        end_offset: Exclusive; None means the end of the log.
        progress: Called with the end offset of each batch read.
        from_offset: Skip changes before this offset.
        index: Used instead of reading the log, where it covers the object.
        past: Used to skip parts of the log in which the object was not touched.

    Raises:
        RequestError: there was no such object or field in the range; see `absence`.
        UnknownHistoryError: the range ends before the kept history.
    """
    end = source.end_offset if end_offset is None else end_offset
    if end < source.history_start:
        raise UnknownHistoryError(
            f"offset {end - 1} is unknown: history starts at {source.history_start}"
        )
    watch, events = _watched(source, name, end, progress, index, past)
    found = False
    for event in events:
        if from_offset is None or event.row.offset >= from_offset:
            found = True
            yield event
    if not found and not watch.fields:
        raise absence(source, name, end - 1, index)


def change_after(
    source: BatchSource,
    name: ObjectName,
    offset: int,
    progress: Callable[[int], None] | None = None,
    *,
    index: ChangeIndex | None = None,
    past: PastTopics | None = None,
) -> Event | None:
    """Return the first change of an object after an offset, None if there is none.

    Raises:
        RequestError: there never was such an object or field.
    """
    events = history(source, name, None, progress, from_offset=offset + 1, index=index, past=past)
    try:
        return next(events, None)
    except RequestError as error:
        if error.code != "RESOURCE_GONE":
            raise
        return None


@explains
def change_before(
    source: BatchSource,
    name: ObjectName,
    offset: int,
    progress: Callable[[int], None] | None = None,
    *,
    index: ChangeIndex | None = None,
    past: PastTopics | None = None,
) -> Event | None:
    """Return the last change of an object before an offset, None if there is none.

    Changes of a transaction that is open at the offset are not included. Nothing after the offset
    is read, unless there was no such object before it.

    Raises:
        RequestError: there never was such an object or field.
    """
    end = max(offset, source.history_start)
    watch, events = _watched(source, name, end, progress, index, past)
    last = deque(events, 1)
    if not last and not watch.fields:
        # It may have been created later; raises if it was not.
        next(history(source, name, None, progress, index=index, past=past), None)
    return last[0] if last else None


def last_event(source: BatchSource, name: ObjectName, end: int) -> Event | None:
    """Return the last change of an object below an offset; None if there was no such object."""
    _, events = _watched(source, name, end)
    last = deque(events, 1)
    return last[0] if last else None


def _watched(
    source: BatchSource,
    name: ObjectName,
    end: int,
    progress: Callable[[int], None] | None = None,
    index: ChangeIndex | None = None,
    past: PastTopics | None = None,
) -> tuple["_Watch", Iterator[Event]]:
    """Return a watch at the start of the history, and the events that it yields below `end`."""
    found = reaching_rows(source, name, end, progress, index, past)
    if found is None:
        watch = _Watch(load_image(source, source.history_start - 1), name)
        start = source.history_start
        batches = source.batches(start, end)
        return watch, watch.events(effective_rows(batches, start, end, progress))
    before, rows = found
    watch = _Watch(_image_of(before), name)
    return watch, watch.events(rows)


def _image_of(rows: Iterable[Envelope]) -> MetadataImage:
    delta = MetadataDelta(MetadataImage.EMPTY)
    for row in rows:
        delta.replay(row)
    return delta.apply(Provenance())


@explains
def blame(
    source: BatchSource,
    name: ObjectName,
    at: int,
    progress: Callable[[int], None] | None = None,
    index: ChangeIndex | None = None,
    past: PastTopics | None = None,
    *,
    by_name: bool = False,
) -> dict[str, LastSet]:
    """Return, for each field of an object at offset `at`, the record that last set it.

    Args:
        by_name: The past of an object begins when it gets its name: the record that moved it here
            set all of its fields.

    Raises:
        RequestError: the object or field is absent at that offset; see `absence`.
        UnknownHistoryError: the offset is before the kept history.
    """
    check_point(source, at)
    setter = _own_row if by_name else Event.setter
    watch, last, was_moved = _last_setters(source, name, at, progress, index, past, setter)
    if watch.fields and was_moved and not by_name:
        # By key, so that other objects of the same name do not count.
        key = name.key(watch.image)
        watch, last, _ = _last_setters(source, _by_key(name, key), at, progress, index, past)
    if not watch.fields:
        raise absence(source, name, at, index)
    return {field: LastSet(value, last.get(field)) for field, value in watch.fields.items()}


def _own_row(event: Event, field: str) -> Envelope | None:
    """Return the record that set a field; of a topic that was moved, the record of the move."""
    return event.row if isinstance(event.row.payload, MoveTopicRecord) else event.setter(field)


def _last_setters(
    source: BatchSource,
    name: ObjectName,
    at: int,
    progress: Callable[[int], None] | None,
    index: ChangeIndex | None,
    past: PastTopics | None,
    setter: Callable[[Event, str], Envelope | None] = Event.setter,
) -> tuple["_Watch", dict[str, Envelope | None], bool]:
    """Return a watch at `at`, the last setter of each field, and True if the object was moved.

    After a move the name may mean another topic.
    """
    watch, events = _watched(source, name, at + 1, progress, index, past)
    last: dict[str, Envelope | None] = {}
    was_moved = False
    for event in events:
        was_moved |= isinstance(event.row.payload, MoveTopicRecord)
        for change in event.changes:
            last[change.field] = setter(event, change.field)
        if event.removed:
            last.clear()
    return watch, last, was_moved


@explains
def fields_at(
    source: BatchSource,
    name: ObjectName,
    at: int,
    index: ChangeIndex | None = None,
    past: PastTopics | None = None,
) -> Fields | None:
    """Return the requested fields of an object as of an offset; None or empty if it is absent.

    Raises:
        UnknownHistoryError, RequestError, CorruptLogError: as for `load_image`.
    """
    return _watch_at(source, name, at, index, past).fields


@explains
def fields_of_two(
    source: BatchSource,
    name: ObjectName,
    before: int,
    after: int,
    index: ChangeIndex | None = None,
    past: PastTopics | None = None,
) -> tuple[Fields | None, Fields | None]:
    """Return the requested fields of an object as of two offsets; None or empty if it is absent.

    An object that has this name at one of the offsets, and was moved, is compared with itself.

    Raises:
        UnknownHistoryError, RequestError, CorruptLogError: as for `load_image`.
    """
    old, new = (_watch_at(source, name, at, index, past) for at in (before, after))
    keys = name.key(old.image), name.key(new.image)
    if name.kind.is_renamed and None in keys and keys != (None, None):
        by_id = name.by_id(keys[0] if keys[1] is None else keys[1])
        old, new = (_watch_at(source, by_id, at, index, past) for at in (before, after))
    return old.fields, new.fields


def _watch_at(
    source: BatchSource,
    name: ObjectName,
    at: int,
    index: ChangeIndex | None,
    past: PastTopics | None,
) -> "_Watch":
    check_point(source, at)
    watch, events = _watched(source, name, at + 1, index=index, past=past)
    for _ in events:
        pass
    return watch


def _by_key(name: ObjectName, key: Any) -> ObjectName:
    kind = msgspec.structs.replace(name.kind, find=lambda image, _: key)
    return msgspec.structs.replace(name, kind=kind)


def absence(
    source: BatchSource, name: ObjectName, at: int, index: ChangeIndex | None = None
) -> RequestError:
    """Return the error for an object or field that is absent at offset `at`.

    Returns:
        RESOURCE_GONE: it was removed; the message gives the offset.
        RESOURCE_NOT_FOUND: it never existed, or it was created later.
        UNKNOWN_HISTORY: it is not in the kept history, and may have existed before that begins.
    """
    removed: Envelope | None = None
    created: Envelope | None = None
    _, events = _watched(source, name, source.end_offset, index=index)
    for event in events:
        if event.row.offset > at:
            created = created or event.row
        elif event.removed:
            removed = event.row
    start, last = source.history_start, source.end_offset - 1
    kept = f"offsets {start} to {last}" if start <= last else "which holds no records yet"
    if removed is not None:
        how = "moved away" if isinstance(removed.payload, MoveTopicRecord) else "removed"
        what = f"was {how} at offset {removed.offset} by a {type(removed.payload).__name__}"
        return RequestError(
            "RESOURCE_GONE",
            f"{name.text} {what}; it is absent at offset {at}; its history says by whom",
        )
    if created is not None:
        when = f"at offset {at}" if at >= 0 else "before the first record"
        what = f"does not exist yet {when}: it was created at offset {created.offset}"
        return RequestError("RESOURCE_NOT_FOUND", f"{name.text} {what}")
    if source.base is not None and source.base.end_offset > 0:
        return RequestError(
            "UNKNOWN_HISTORY",
            f"{name.text} is not in the kept history, {kept}: whether it existed before is "
            f"unknown, history starts at {start}",
        )
    log = f"the log holds {kept}" if start <= last else "the log is empty"
    never = "was never set" if name.field or name.kind.name == "config" else "never existed"
    return RequestError("RESOURCE_NOT_FOUND", f"{name.text} {never}: {log}")


class _Watch:
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
