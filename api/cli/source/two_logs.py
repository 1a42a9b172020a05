"""`diff LOG@P1 LOG2@P2`: compares two logs, each read from a directory or by its service."""

from typing import TYPE_CHECKING

from msgspec.structs import replace

from api.cli.options.parameters import bad_parameter
from api.cli.options.query_options import KEEP_GOING
from api.cli.source.source import Source
from api.cli.source.two_places import SERVICES
from api.cli.terminal.output import warn
from api.questions.changes import ObjectChange, shown
from api.questions.objects import IMAGE, PARTS, ShowImage, plain_objects
from records.errors import RequestError
from replay.time_travel.drift import NamedFields, diff_by_name, diff_named, named
from replay.time_travel.objects import ObjectName, parse_object

if TYPE_CHECKING:
    from api.cli.source.source import Source
    from api.questions.differences import ShowDiff
    from replay.about import About

    Compared = tuple[list[ObjectChange], About]


def diff_of_logs(log: "Source", other: str, request: "ShowDiff", after: str) -> "Compared":
    """Return the differences between two logs, each at a point of its own.

    Args:
        log: The log to read at the point `request.before`.
        other: The log to read at the point `after`.

    Returns:
        The differences by object name, and the position in the other log.

    Raises:
        RequestError: a point is malformed or past the end of its log; or neither log has the
            object.
        UnavailableError: no service answers.
        CorruptLogError: a log is damaged.
    """
    if not other or log.log == "":
        raise bad_parameter("write LOG@P1 LOG2@P2")
    second = Source(server=other) if other.startswith(SERVICES) else Source(log=other)
    if log.server is None and second.server is None:
        return _diff_of_images(log, second, request, after)
    return _diff_of_answers(log, second, request, after)


def _diff_of_images(log: "Source", other: "Source", request: "ShowDiff", after: str) -> "Compared":
    only = _only(request)
    with log.past() as past, other.past() as past_other:
        from_, at = past.offset(request.before), past_other.offset(after)
        images = past.image(from_), past_other.image(at)
        if only is not None and all(only.key(image) is None for image in images):
            raise _in_neither(only)
        changes = [shown(change, request) for change in diff_by_name(*images, only)]
        return changes, replace(past_other.about_image(images[1], at), from_=from_)


def _diff_of_answers(log: "Source", other: "Source", request: "ShowDiff", after: str) -> "Compared":
    """Compare two logs by their answers to the same question.

    Needed with a service, because a service does not send its image.
    """

    if KEEP_GOING.get():
        raise bad_parameter(
            "--keep-going is only for mirrors, and a service's log is not a mirror; name LOG "
            "instead"
        )
    before, about = _named_by(log, request.before, request)
    now, about_other = _named_by(other, after, request)
    only = _only(request)
    if only is not None and not before and not now:
        raise _in_neither(only)
    if not request.show_secrets:
        warn("secrets are not compared: a service returns them only with --show-secrets")
    changes = [shown(change, request) for change in diff_named(before, now)]
    return changes, replace(about_other, from_=about.as_of)


def _named_by(source: "Source", point: str, request: "ShowDiff") -> "tuple[NamedFields, About]":
    only = _only(request)
    parts = tuple(name for name, kind in PARTS.items() if only is None or kind is only.kind)
    if not request.show_secrets:
        # The name of a token is its secret.
        parts = tuple(name for name in parts if name != "tokens")
    asked = ShowImage(parts=parts, show_secrets=request.show_secrets)
    result = source.ask(IMAGE, asked, at=point)
    objects = [
        (kind, label, fields)
        for piece in result.items
        for kind, label, fields in plain_objects(piece.value)
        if only is None or label == only.name
    ]
    return named(objects, None if only is None else only.field), result.about()


def _only(request: "ShowDiff") -> "ObjectName | None":
    return None if request.object is None else parse_object(request.object)


def _in_neither(only: "ObjectName") -> Exception:
    return RequestError(
        "RESOURCE_NOT_FOUND", f"{only.object} is in neither of the logs at its point"
    )
