"""`diff LOG@P1 LOG2@P2`: the differences of two logs."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from api.cli.keep_going import KEEP_GOING
from api.cli.parameters import bad_parameter

if TYPE_CHECKING:
    from api.questions.changes import ObjectChange, ShowDiff
    from replay.about import About

OTHER = "--other"


def with_other(args: Sequence[str]) -> list[str]:
    """Return `LOG@P1 LOG2@P2` as `LOG P1 P2 --other LOG2`; other arguments as they are."""
    places = [arg for arg in args if "@" in arg and not arg.startswith("-") and ":@" not in arg]
    if len(places) != 2 or args[:2] != places:
        return list(args)
    (log, _, before), (other, _, after) = (place.rpartition("@") for place in places)
    return [log, before, after, OTHER, other, *args[2:]]


def diff_of_logs(
    log: str, other: str, request: "ShowDiff", after: str
) -> "tuple[list[ObjectChange], About]":
    """Return what differs by name between a log at `request.before` and another at `after`.

    Returns:
        The differences, and the place in the other log.

    Raises:
        RequestError: a point is malformed, or past an end; or the object is in none of the logs.
        CorruptLogError: a log is damaged.
    """
    from msgspec.structs import replace

    from api.cli.output import progress
    from api.cli.reading import offset_of
    from api.questions.changes import shown
    from api.questions.past import Past
    from metadata_log.log_reader import LogReader
    from records.errors import RequestError
    from replay.time_travel.drift import diff_by_name
    from replay.time_travel.objects import parse_object

    if not log or not other:
        raise bad_parameter("write LOG@P1 LOG2@P2")
    only = None if request.object is None else parse_object(request.object)
    with LogReader.open(log) as first, LogReader.open(other) as second:
        keep_going = KEEP_GOING.get()
        past = Past(first, resolve=offset_of, progress=progress, keep_going=keep_going)
        past_other = Past(second, resolve=offset_of, progress=progress, keep_going=keep_going)
        from_, at = past.offset(request.before), past_other.offset(after)
        images = past.image(from_), past_other.image(at)
        if only is not None and all(only.key(image) is None for image in images):
            raise RequestError("RESOURCE_NOT_FOUND", f"{only.object} is in neither log there")
        changes = [shown(change, request) for change in diff_by_name(*images, only)]
        return changes, replace(past_other.about_image(images[1], at), from_=from_)
