"""Timeline: what happened between two points, in words."""

import msgspec

from api.questions.past import Past
from api.questions.question import Computed, Question
from records.errors import RequestError
from replay.incidents.event import KINDS, TimelineEvent


class ShowTimeline(msgspec.Struct, frozen=True, kw_only=True):
    """Asks for the events from a point on; `kinds`: only of these."""

    first: str = "start"
    kinds: tuple[str, ...] = ()


def timeline_shown(past: Past, at: int, request: ShowTimeline) -> Computed:
    """Return the events up to an offset, in order of their first records.

    Raises:
        RequestError: INVALID_REQUEST, there is no such kind.
    """
    for kind in request.kinds:
        if kind not in KINDS:
            raise RequestError("INVALID_REQUEST", f"{kind!r} is none of {', '.join(KINDS)}")
    first = past.first_offset(request.first, at)
    with past.progress("reading", at + 1) as advance:
        events = past.timeline.events(first, at + 1, advance)
    items = (each for each in events if not request.kinds or each.kind in request.kinds)
    return Computed(items=items, about=lambda: past.about(at))


TIMELINE = Question(name="timeline", request=ShowTimeline, item=TimelineEvent, tell=timeline_shown)
