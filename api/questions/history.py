"""The question for an object's history: its changes, or the next or previous one."""

import enum
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from api.questions.changes import AskedBy, FieldChange, announced_voters, asked_by, shown
from api.questions.past import Past
from api.questions.question import Computed, Question
from api.questions.redaction import redact_label
from api.questions.rows import origin_json
from records.envelope import Envelope
from records.errors import RequestError
from replay.name_patterns import is_pattern
from replay.time_travel.changes import Change
from replay.time_travel.objects import ObjectName, parse_object


class Step(enum.Enum):
    """Direction of a step from a point: to the first change after it, or the last before it."""

    NEXT = "next"
    PREV = "prev"


class ShowHistory(msgspec.Struct, frozen=True, kw_only=True):
    """Asks for the changes of an object from a point on, or only the newest `last` of them.

    `object` may be a pattern such as `topic:orders*`; then each event includes its object's name.
    `step`: return only one change, the next or the previous one from the point of the question.
    `notes`: also return the notes about the records, even notes written later.
    """

    object: str
    first: str = "start"
    last: int | None = None
    step: Step | None = None
    fates: bool = False
    show_secrets: bool = False
    notes: bool = False


class PinnedNote(msgspec.Struct, frozen=True, kw_only=True):
    """A note about a record."""

    author: str
    text: str


class ObjectEvent(msgspec.Struct, frozen=True, kw_only=True):
    """A record that changed an object.

    `object` is set if a pattern was requested. `asked` is set if the record carried out what an
    earlier record asked for. `notes` are the notes about the record, if notes were requested.
    """

    object: str | UnsetType = UNSET
    offset: int
    timestamp: int
    type: str
    origin: dict[str, Any] | None
    asked: AskedBy | UnsetType = UNSET
    changes: tuple[FieldChange, ...]
    notes: tuple[PinnedNote, ...] | UnsetType = UNSET


def history_shown(past: Past, at: int, request: ShowHistory) -> Computed:
    """Return the changes of an object up to an offset, oldest first; or one step from the offset.

    Raises:
        RequestError: the object or field did not exist in the range (for a step: never existed), or
            no object matches the pattern.
    """
    if request.last is not None and request.last < 1:
        raise RequestError("INVALID_REQUEST", f"last must be at least 1, not {request.last}")
    name = parse_object(request.object)
    matches = is_pattern(name.name) and not _is_literal(past, at, name)
    if request.step is not None:
        return (_step_matching if matches else _step_shown)(past, at, name, request)
    # A pattern is matched in the state before the range.
    begin = past.first_known_offset if matches else past.first_offset
    first = begin(request.first, at)

    def events() -> Iterator[ObjectEvent]:
        if matches:
            found = _matching(past, name, first, at, request)
        else:
            found = _of_object(past, name, first, at, request)
        found = _or_static_voters(
            found,
            past,
            at + 1,
            request,
            name,
            lambda known: (event for event in known if event.offset >= first),
        )
        yield from found if request.last is None else deque(found, request.last)

    return Computed(items=_with_notes(events(), past, request), about=lambda: past.about(at))


def _with_notes(
    events: Iterable[ObjectEvent], past: Past, request: ShowHistory
) -> Iterator[ObjectEvent]:
    """Yield the events; if the request includes notes, each with the notes about its record."""
    if not request.notes:
        yield from events
        return
    found = list(events)
    about: dict[int, list[PinnedNote]] = {event.offset: [] for event in found}
    if found:
        for note in past.timeline.notes_about(max(about) + 1):
            if note.at_offset in about:
                about[note.at_offset].append(PinnedNote(author=note.author, text=note.text))
    for event in found:
        yield replace(event, notes=tuple(about[event.offset]))


def _is_literal(past: Past, at: int, name: ObjectName) -> bool:
    """True if a name that looks like a pattern is the name of an existing object."""
    return name.kind.name in _WITH_WILDCARDS and name.key(past.image(at)) is not None


_WITH_WILDCARDS = frozenset({"config", "quota", "scram", "note"})
"""Kinds of which a name may hold `*` and `?`."""


def _of_object(
    past: Past, name: ObjectName, first: int, at: int, request: ShowHistory
) -> Iterator[ObjectEvent]:
    event_of = _Events(past, at, request, name)
    with past.progress("reading", at + 1) as advance:
        for event in past.timeline.history(name, at + 1, advance, from_offset=first):
            yield event_of(event.row, event.changes)


def _or_static_voters(
    found: Iterator[ObjectEvent],
    past: Past,
    end: int,
    request: ShowHistory,
    name: ObjectName,
    choose: Callable[[Iterator[ObjectEvent]], Iterable[ObjectEvent]],
) -> Iterator[ObjectEvent]:
    """Yield the events found; if voters of a static quorum are not found, some announcements.

    A mirror has no record that sets such voters, but each new leader announces them.

    Args:
        end: End of the offsets whose announcements count, exclusive.
        choose: Returns those of the announcements that the request is about.
    """
    try:
        yield from found
    except RequestError:
        announced = announced_voters(past, name, end)
        if not announced:
            raise
        event_of = _Events(past, end - 1, request, name)
        # Only the events of a pattern name their object.
        is_many = is_pattern(name.name)
        yield from choose(
            replace(event_of(row, [each]), object=each.object if is_many else UNSET)
            for row, each in announced
        )


def _matching(
    past: Past, name: ObjectName, first: int, at: int, request: ShowHistory
) -> Iterator[ObjectEvent]:
    from replay.time_travel.pattern_history import history_matching

    start = past.image(first - 1)
    # A pattern must not find out letter by letter what is not shown.
    name_of = _label if request.show_secrets else redact_label
    event_of = _Events(past, at, request, name)
    with past.progress("reading", at + 1) as advance:
        for label, row, changes in history_matching(
            past.reader, name, first, at + 1, start, shown=name_of, progress=advance
        ):
            of = f"{name.kind.name}:{name_of(name.kind.name, label)}"
            yield replace(event_of(row, changes, label), object=of)


def _label(_kind: str, label: str) -> str:
    return label


def _step_matching(past: Past, at: int, name: ObjectName, request: ShowHistory) -> Computed:
    is_next = request.step is Step.NEXT
    first, last = past.reader.history_start, at - 1
    if is_next:
        first, last = max(at + 1, first), past.reader.end_offset - 1

    def events() -> Iterator[ObjectEvent]:
        found = _matching(past, name, first, last, request) if first <= last else iter(())
        found = _or_static_voters(found, past, last + 1, request, name, _step_from(at, request))
        yield from islice(found, 1) if is_next else deque(found, 1)

    items = _with_notes(events(), past, request)
    return Computed(items=items, about=lambda: past.about(last if is_next else at))


def _step_shown(past: Past, at: int, name: ObjectName, request: ShowHistory) -> Computed:
    is_next = request.step is Step.NEXT
    last = past.reader.end_offset - 1 if is_next else at
    step = past.timeline.change_after if is_next else past.timeline.change_before

    def found() -> Iterator[ObjectEvent]:
        with past.progress("reading", last + 1) as advance:
            event = step(name, at, advance)
        if event is not None:
            yield _Events(past, last, request, name)(event.row, event.changes)

    events = _or_static_voters(found(), past, last + 1, request, name, _step_from(at, request))
    return Computed(items=_with_notes(events, past, request), about=lambda: past.about(last))


def _step_from(
    at: int, request: ShowHistory
) -> Callable[[Iterator[ObjectEvent]], Iterable[ObjectEvent]]:
    """Return a function that chooses the event of a step from offset `at`, of all in order."""
    if request.step is Step.NEXT:
        return lambda events: islice((event for event in events if event.offset > at), 1)
    return lambda events: deque((event for event in events if event.offset < at), 1)


class _Events:
    """Makes the events of an object, or of those of a pattern."""

    def __init__(self, past: Past, at: int, request: ShowHistory, name: ObjectName) -> None:
        self._request = request
        self._name = name
        self._asked_for = past.timeline.asked_for(at, by_name=past.by_name)

    def __call__(
        self, row: Envelope, found: Iterable[Change], label: str | None = None
    ) -> ObjectEvent:
        """Return the event of a row; `label` is the object's name if a pattern was requested."""
        kind = self._name.kind.name
        changes = [shown(change, self._request) for change in found]
        return ObjectEvent(
            offset=row.offset,
            timestamp=row.timestamp,
            type=type(row.payload).__name__,
            origin=origin_json(row.origin),
            asked=asked_by(self._asked_for, row, kind, label or self._name.name),
            changes=tuple(
                [
                    FieldChange(field=c.field, before=c.before, after=c.after, fate=c.fate)
                    for c in changes
                ]
            ),
        )


HISTORY = Question(name="history", request=ShowHistory, item=ObjectEvent, tell=history_shown)
