"""Timeline: the events between two points, in words."""

from collections.abc import Sequence

import msgspec

from api.questions.past import Past
from api.questions.question import Computed, Question
from records.errors import RequestError
from replay.incidents.event import KINDS, TimelineEvent
from replay.time_travel.history import absence, fields_at
from replay.time_travel.name_patterns import is_pattern, name_matcher
from replay.time_travel.objects import ObjectName, parse_object


class ShowTimeline(msgspec.Struct, frozen=True, kw_only=True):
    """Asks for the events from a point on; `kinds`: only events of these kinds.

    `objects`: only events about one of these objects, by name or pattern.
    """

    first: str = "start"
    kinds: tuple[str, ...] = ()
    objects: tuple[str, ...] = ()


def timeline_shown(past: Past, at: int, request: ShowTimeline) -> Computed:
    """Return the events up to an offset, in order of their first records.

    Raises:
        RequestError: INVALID_REQUEST, there is no such kind of event or object; an object never
            existed.
    """
    for kind in request.kinds:
        if kind not in KINDS:
            raise RequestError("INVALID_REQUEST", f"{kind!r} is none of {', '.join(KINDS)}")
    wanted = [parse_object(text) for text in request.objects]
    if any(each.field is not None for each in wanted):
        raise RequestError("INVALID_REQUEST", "name objects of a timeline without a field")
    first = past.first_offset(request.first, at)
    with past.progress("reading", at + 1) as advance:
        events = past.timeline.events(first, at + 1, advance)
    items = [each for each in events if not request.kinds or each.kind in request.kinds]
    if wanted:
        items = _about(wanted, items)
        if not items:
            _check_existed(past, at, wanted)
    return Computed(items=items, about=lambda: past.about(at))


def _about(wanted: Sequence[ObjectName], events: Sequence[TimelineEvent]) -> list[TimelineEvent]:
    """Return the events about any of the given objects."""
    names = {name for event in events for name in event.objects}
    matchers = [name_matcher(each.object, names) for each in wanted]
    chosen = {name for name in names if any(matches(name) for matches in matchers)}
    return [event for event in events if not chosen.isdisjoint(event.objects)]


def _check_existed(past: Past, at: int, wanted: Sequence[ObjectName]) -> None:
    """Raise an error if a given object never existed: an empty answer would look like good news."""
    for name in wanted:
        if not is_pattern(name.name) and not fields_at(past.reader, name, at):
            error = absence(past.reader, name, at)
            if error.code != "RESOURCE_GONE":
                raise error


TIMELINE = Question(name="timeline", request=ShowTimeline, item=TimelineEvent, tell=timeline_shown)
