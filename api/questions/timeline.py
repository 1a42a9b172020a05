"""Timeline: the events between two points, in words."""

from collections.abc import Iterator, Sequence

import msgspec

from api.questions.changes import ObjectChange, shown
from api.questions.parts import (
    FOUND,
    GapFound,
    Stretch,
    across,
    check_in_any,
    stretches,
)
from api.questions.past import Past
from api.questions.question import Computed, Question
from api.questions.ranges import about_range
from records.errors import RequestError
from replay.incidents.event import KINDS, TimelineEvent
from replay.name_patterns import is_pattern, name_matcher
from replay.time_travel.changes import Change
from replay.time_travel.history import absence, fields_at
from replay.time_travel.kinds import KINDS as OBJECT_KINDS
from replay.time_travel.names_over_time import NameSpan, names_over_time
from replay.time_travel.objects import ObjectName, is_label, parse_object


class ShowTimeline(msgspec.Struct, frozen=True, kw_only=True):
    """Asks for the events from a point on.

    Attributes:
        kinds: Only events of these kinds, or about objects of these kinds.
        objects: Only events about one of these objects, by name or pattern.
        by_people: Only changes that a person or a tool asked for.
    """

    first: str = "start"
    kinds: tuple[str, ...] = ()
    objects: tuple[str, ...] = ()
    by_people: bool = False


def timeline_shown(past: Past, at: int, request: ShowTimeline) -> Computed:
    """Return the events up to an offset, ordered by first record, with the gaps between them.

    Raises:
        RequestError: INVALID_REQUEST, there is no such kind of event or object; an object never
            existed.
    """
    for kind in request.kinds:
        if kind not in KINDS and kind not in OBJECT_KINDS:
            known = ", ".join([*KINDS, *OBJECT_KINDS])
            raise RequestError("INVALID_REQUEST", f"{kind!r} is none of {known}")
    wanted = [parse_object(text) for text in request.objects]
    if any(each.field is not None for each in wanted):
        raise RequestError(
            "INVALID_REQUEST", "the objects of a timeline must be named without a field"
        )
    parts = stretches(past, request.first, at)
    items = list(
        across(parts, lambda of: _events(of, request, wanted), lambda each: _found(each, wanted))
    )
    if wanted and not any(_shows_anything(each) for each in items):
        check_in_any(parts, lambda of: _check_existed(of.past, of.at, wanted))
    return Computed(items=items, about=lambda: about_range(parts, past.about(at)))


def _events(
    stretch: Stretch, request: ShowTimeline, wanted: Sequence[ObjectName]
) -> list[TimelineEvent]:
    past, at = stretch.past, stretch.at
    with past.progress("reading", at + 1) as advance:
        events = past.timeline.events(
            stretch.first, at + 1, advance, until_ms=stretch.counted_until()
        )
    items = [
        each
        for each in events
        if (not request.kinds or _is_of(each, request.kinds))
        and (not request.by_people or each.by_people is True)
    ]
    if not wanted:
        return items
    return _about([span for name in wanted for span in _names(past, name, at)], items)


def _is_of(event: TimelineEvent, kinds: Sequence[str]) -> bool:
    """True if an event is of one of these kinds, or about an object of one of these kinds."""
    if event.kind in kinds:
        return True
    objects = tuple([f"{kind}:" for kind in kinds])
    return any(name.startswith(objects) for name in event.objects)


def _found(change: Change, wanted: Sequence[ObjectName]) -> ObjectChange | None:
    """Return a change found after a gap if its object was requested, else None."""
    if wanted and not any(name_matcher(each.object, ())(change.object) for each in wanted):
        return None
    return shown(change, FOUND)


def _shows_anything(item: TimelineEvent | GapFound) -> bool:
    return isinstance(item, TimelineEvent) or bool(item.found)


def _names(past: Past, name: ObjectName, at: int) -> Iterator[NameSpan]:
    if is_label(name.object):
        return iter((NameSpan(name.object, 0, at),))
    return names_over_time(name, past.image(at), at, lambda of: past.timeline.history(of, at + 1))


def _about(wanted: Sequence[NameSpan], events: Sequence[TimelineEvent]) -> list[TimelineEvent]:
    """Return the events about objects that had one of the names at the time of the event."""
    names = {name for event in events for name in event.objects}
    found: list[tuple[NameSpan, set[str]]] = []
    for span in wanted:
        matches = name_matcher(span.text, names)
        found.append((span, {name for name in names if matches(name)}))
    return [
        event
        for event in events
        if any(
            span.first <= event.to_offset
            and event.from_offset <= span.last
            and not chosen.isdisjoint(event.objects)
            for span, chosen in found
        )
    ]


def _check_existed(past: Past, at: int, wanted: Sequence[ObjectName]) -> None:
    """Raise an error if a given object never existed: an empty answer would look like good news."""
    for name in wanted:
        if not is_pattern(name.name) and not fields_at(past.reader, name, at):
            error = absence(past.reader, name, at)
            if error.code != "RESOURCE_GONE":
                raise error


TIMELINE = Question(
    name="timeline", request=ShowTimeline, item=TimelineEvent | GapFound, tell=timeline_shown
)
