"""Space usage of a log and its image."""

import msgspec

from api.questions.past import Past
from api.questions.question import Computed, Question
from replay.usage import Usage, usage


class ShowUsage(msgspec.Struct, frozen=True, kw_only=True):
    """Asks for the space usage; `by`: only these groupings, all if empty."""

    by: tuple[str, ...] = ()


def usage_shown(past: Past, at: int, request: ShowUsage) -> Computed:
    """Return the space usage up to an offset, largest first within each grouping."""
    image = past.image(at)
    with past.progress("reading", at + 1) as advance:
        found = usage(past.reader, image, at, advance)
    items = [item for item in found if not request.by or item.by in request.by]
    return Computed(items=items, about=lambda: past.about_image(image, at))


USAGE = Question(name="du", request=ShowUsage, item=Usage, tell=usage_shown)
