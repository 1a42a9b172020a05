"""History and blame: the changes of one object, and the record that last set each field."""

from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from records.envelope import Envelope, Origin
from records.errors import RequestError, UnknownHistoryError
from records.topics import MoveTopicRecord
from replay.loader import BatchSource, check_point
from replay.time_travel.change_index import ChangeIndex
from replay.time_travel.contradictions import explains
from replay.time_travel.kinds import Fields
from replay.time_travel.object_events import Event, ObjectReplay, events_below
from replay.time_travel.objects import ObjectName
from replay.time_travel.past_topics import PastTopics


class LastSet(msgspec.Struct, frozen=True):
    """A field's value and the row that last set it; None if the row is not in the kept history."""

    value: Any
    row: Envelope | None = None

    @property
    def known(self) -> bool:
        """True if the record that set the value is in the kept history."""
        return self.row is not None

    @property
    def offset(self) -> int | None:
        """Offset of the record that set the value, None if unknown."""
        return None if self.row is None else self.row.offset

    @property
    def timestamp(self) -> int | None:
        """Time of the record that set the value, ms since 1970; None if unknown."""
        return None if self.row is None else self.row.timestamp

    @property
    def type(self) -> str | None:
        """Type of the record that set the value, None if unknown."""
        return None if self.row is None else type(self.row.payload).__name__

    @property
    def origin(self) -> Origin | None:
        """Origin of the record that set the value, None if unknown."""
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

    A name may have meant several objects in succession; an id (`topic:@...`) means only one. For an
    object that existed but did not change, yields nothing and raises no error.

    Args:
        end_offset: Exclusive; None means the end of the log.
        progress: Called with the end offset of each batch read.
        from_offset: Skip changes before this offset.
        index: Used instead of reading the log, where it covers the object.
        past: Used to skip parts of the log in which the object was not touched.

    Raises:
        RequestError: there was no such object or field in the range; the code is one of `absence`.
        UnknownHistoryError: the range ends before the kept history.
    """
    end = source.end_offset if end_offset is None else end_offset
    if end < source.history_start:
        raise UnknownHistoryError(
            f"offset {end - 1} is unknown: history starts at {source.history_start}"
        )
    replay, events = events_below(source, name, end, progress, index, past)
    found = False
    for event in events:
        if from_offset is None or event.row.offset >= from_offset:
            found = True
            yield event
    if not found and not replay.fields:
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
    replay, events = events_below(source, name, end, progress, index, past)
    last = deque(events, 1)
    if not last and not replay.fields:
        # It may have been created later; raises if it was not.
        next(history(source, name, None, progress, index=index, past=past), None)
    return last[0] if last else None


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
        by_name: Look back only until the object got this name: if a move gave it the name, the
            move set all of its fields.

    Raises:
        RequestError: the object or field is absent at that offset; the code is one of `absence`.
        UnknownHistoryError: the offset is before the kept history.
    """
    check_point(source, at)
    setter = _own_row if by_name else Event.setter
    replay, last, was_moved = _last_setters(source, name, at, progress, index, past, setter)
    if replay.fields and was_moved and not by_name:
        # By key, so that other objects of the same name do not count.
        key = name.key(replay.image)
        replay, last, _ = _last_setters(source, _by_key(name, key), at, progress, index, past)
    if not replay.fields:
        raise absence(source, name, at, index)
    return {field: LastSet(value, last.get(field)) for field, value in replay.fields.items()}


def _own_row(event: Event, field: str) -> Envelope | None:
    """Return the record that set a field; if the event is a move of the topic, the move itself."""
    return event.row if isinstance(event.row.payload, MoveTopicRecord) else event.setter(field)


def _last_setters(
    source: BatchSource,
    name: ObjectName,
    at: int,
    progress: Callable[[int], None] | None,
    index: ChangeIndex | None,
    past: PastTopics | None,
    setter: Callable[[Event, str], Envelope | None] = Event.setter,
) -> tuple[ObjectReplay, dict[str, Envelope | None], bool]:
    """Return the object's replay up to `at`, each field's last setter, and whether it was moved.

    After a move the name may mean another topic.
    """
    replay, events = events_below(source, name, at + 1, progress, index, past)
    last: dict[str, Envelope | None] = {}
    was_moved = False
    for event in events:
        was_moved |= isinstance(event.row.payload, MoveTopicRecord)
        for change in event.changes:
            last[change.field] = setter(event, change.field)
        if event.removed:
            last.clear()
    return replay, last, was_moved


@explains
def fields_at(source: BatchSource, name: ObjectName, at: int) -> Fields | None:
    """Return the requested fields of an object as of an offset; None or empty if it is absent.

    Raises:
        UnknownHistoryError, RequestError, CorruptLogError: as for `load_image`.
    """
    return _replay_to(source, name, at, None, None).fields


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
    old, new = (_replay_to(source, name, at, index, past) for at in (before, after))
    keys = name.key(old.image), name.key(new.image)
    if name.kind.is_renamed and None in keys and keys != (None, None):
        by_id = name.by_id(keys[0] if keys[1] is None else keys[1])
        old, new = (_replay_to(source, by_id, at, index, past) for at in (before, after))
    return old.fields, new.fields


def _replay_to(
    source: BatchSource,
    name: ObjectName,
    at: int,
    index: ChangeIndex | None,
    past: PastTopics | None,
) -> ObjectReplay:
    check_point(source, at)
    replay, events = events_below(source, name, at + 1, index=index, past=past)
    for _ in events:
        pass
    return replay


def _by_key(name: ObjectName, key: Any) -> ObjectName:
    kind = msgspec.structs.replace(name.kind, find=lambda image, _: key)
    return msgspec.structs.replace(name, kind=kind)


def absence(
    source: BatchSource, name: ObjectName, at: int, index: ChangeIndex | None = None
) -> RequestError:
    """Return the error for an object or field that is absent at offset `at`.

    Returns:
        RESOURCE_GONE: the object was removed; the message gives the offset.
        RESOURCE_NOT_FOUND: the object never existed, or was created after `at`.
        UNKNOWN_HISTORY: the object is not in the kept history, but may have existed before it.
    """
    removed: Envelope | None = None
    created: Envelope | None = None
    _, events = events_below(source, name, source.end_offset, index=index)
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
            f"{name.text} {what}, so it is absent at offset {at}; `metalog history` shows who did "
            "that",
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
