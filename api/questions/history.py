"""The question for an object's history: all changes, or only the next or previous change."""

import enum
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from api.questions.changes import (
    AskedBy,
    FieldChange,
    ObjectChange,
    announced_voters,
    asked_by,
    shown,
)
from api.questions.envelope_json import origin_json
from api.questions.parts import GapFound, Stretch, about_across, across, newest, stretches
from api.questions.past import Past
from api.questions.question import Computed, Question
from api.questions.redaction import redact_label
from records.envelope import Envelope
from records.errors import RequestError
from replay.name_patterns import is_pattern, name_matcher
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
    earlier record requested. `notes` are the notes about the record, if notes were requested.
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

    Between the changes stand the gaps, each with the differences found after the gap.

    Raises:
        RequestError: the object or field did not exist in the range (for a step: never existed), or
            no object matches the pattern.
    """
    if request.last is not None and request.last < 1:
        raise RequestError("INVALID_REQUEST", f"last must be at least 1, not {request.last}")
    name = parse_object(request.object)
    if request.step is not None:
        if past.is_part:
            items = _step_across(past, at, name, request)
            return Computed(items=items, about=lambda: about_across(past.about(at)))
        matches = _is_matched(past, at, name)
        return (_step_matching if matches else _step_shown)(past, at, name, request)
    found = _events_across(stretches(past, request.first, at), name, request)
    items = found if request.last is None else _newest(found, request.last)
    return Computed(items=items, about=lambda: about_across(past.about(at)))


def _events_across(
    parts: Sequence[Stretch], name: ObjectName, request: ShowHistory
) -> Iterator[ObjectEvent | GapFound]:
    """Yield the events of all parts, and the gaps; an object may be absent in some of the parts."""
    absent: list[RequestError] = []

    def known(stretch: Stretch) -> Iterator[ObjectEvent]:
        try:
            yield from _events_in(stretch, name, request)
        except RequestError as error:
            absent.append(error)

    only = None if is_pattern(name.name) else name
    items = across(parts, known, lambda change: _found(change, name, request), only)
    # Nothing is shown of an object that no part knows.
    held: list[GapFound] = []
    is_known = False
    for item in items:
        is_known = is_known or isinstance(item, ObjectEvent) or bool(item.found)
        if isinstance(item, GapFound) and not is_known:
            held.append(item)
            continue
        yield from held
        held.clear()
        yield item
    if len(absent) == len(parts) and not is_known:
        raise absent[-1]
    yield from held


def _events_in(stretch: Stretch, name: ObjectName, request: ShowHistory) -> Iterator[ObjectEvent]:
    past, first, at = stretch.past, stretch.first, stretch.at
    if _is_matched(past, at, name):
        # A pattern is matched in the state before the range.
        first = max(first, past.reader.history_start)
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
    return _with_notes(found, past, request)


def _found(change: Change, name: ObjectName, request: ShowHistory) -> ObjectChange | None:
    """Return a change found after a gap in the form to show; None if it was not requested."""
    if name.field not in (None, change.field):
        return None
    if is_pattern(name.name) and not name_matcher(name.object, ())(change.object):
        return None
    return shown(change, replace(request, fates=True))


def _newest(
    items: Iterable[ObjectEvent | GapFound], count: int
) -> Iterator[ObjectEvent | GapFound]:
    """Yield the newest `count` events, and the gaps since the event before them."""
    kept: deque[ObjectEvent | GapFound] = deque()
    events = 0
    for item in items:
        kept.append(item)
        events += isinstance(item, ObjectEvent)
        while events > count:
            events -= isinstance(kept.popleft(), ObjectEvent)
    yield from kept


def _step_across(
    past: Past, at: int, name: ObjectName, request: ShowHistory
) -> Iterator[ObjectEvent | GapFound]:
    """Yield the next or previous event, and the gaps up to it.

    A gap after which the object differs ends the search, because the object changed in the gap.
    """
    if request.step is Step.NEXT:
        last = newest(past)
        end = last.reader.end_offset
        parts = stretches(last, str(at + 1), end - 1) if at + 1 < end else []
        for item in _events_across(parts, name, request):
            yield item
            if isinstance(item, ObjectEvent) or item.found:
                return
        return
    kept: list[ObjectEvent | GapFound] = []
    for item in _events_across(stretches(past, "start", at - 1), name, request):
        if isinstance(item, ObjectEvent) or item.found:
            kept.clear()
        kept.append(item)
    yield from kept


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


def _is_matched(past: Past, at: int, name: ObjectName) -> bool:
    """True if a name is a pattern, and not the name of an existing object."""
    return is_pattern(name.name) and not _is_literal(past, at, name)


def _is_literal(past: Past, at: int, name: ObjectName) -> bool:
    """True if a name that looks like a pattern is the name of an existing object."""
    if name.kind.name not in _WITH_WILDCARDS:
        return False
    try:
        return name.key(past.image(at)) is not None
    except RequestError:
        return False  # such as `config:*`: no object has that name, but some may match


_WITH_WILDCARDS = frozenset({"config", "quota", "scram", "note"})
"""Kinds of objects whose names may contain `*` and `?`."""


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
    """Yield the events found; for voters of a static quorum, their announcements instead.

    No record of a mirror sets such voters, but each new leader announces them.

    Args:
        end: End of the offsets whose announcements count, exclusive.
        choose: Selects the announcements that the request is about.
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
    """Return a function that selects, from ordered events, the event of a step from offset `at`."""
    if request.step is Step.NEXT:
        return lambda events: islice((event for event in events if event.offset > at), 1)
    return lambda events: deque((event for event in events if event.offset < at), 1)


class _Events:
    """Makes the events of an object, or of the objects that match a pattern."""

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


HISTORY = Question(
    name="history", request=ShowHistory, item=ObjectEvent | GapFound, tell=history_shown
)
