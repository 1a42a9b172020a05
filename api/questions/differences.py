"""Question about the difference between two points, and about what existed only between them."""

from collections.abc import Iterable
from itertools import chain

import msgspec
from msgspec.structs import replace

from api.questions.changes import PASSED_UNKNOWN, ObjectChange, shown
from api.questions.past import Past
from api.questions.question import Computed, Question
from api.questions.redaction import holds_secrets, redact_label
from records.errors import RequestError
from replay.time_travel.diff import diff_images
from replay.time_travel.diff_by_name import diff_by_name
from replay.time_travel.objects import ObjectName, parse_object
from replay.time_travel.short_lived import RECORDS_MAX, Passed, PassedObjects


class ShowDiff(msgspec.Struct, frozen=True, kw_only=True):
    """Asks for the differences between the point `before` and the point of the question.

    `object`: return only the differences of this object, and ignore `passed`. `passed`: append the
    objects that existed only between the two points. If the points are more than `RECORDS_MAX`
    offsets apart, or in different parts of a recording, these objects are not searched for, and the
    last item is `PASSED_UNKNOWN`.
    """

    before: str
    object: str | None = None
    fates: bool = False
    show_secrets: bool = False
    passed: bool = False


def diff_shown(past: Past, at: int, request: ShowDiff) -> Computed:
    """Return every field that differs, ordered by kind and name of the object.

    Raises:
        RequestError: `object` is absent at both points.
    """
    only = None if request.object is None else parse_object(request.object)
    if past.is_part and (found_across := _across(past, at, request, only)) is not None:
        return found_across
    before = past.offset(request.before)
    wanted = request.passed and only is None
    between: Iterable[ObjectChange] = ()
    with past.progress("replaying", min(before, at) + 1) as advance:
        if wanted and abs(at - before) <= RECORDS_MAX:
            earlier, later = sorted((before, at))
            old = past.timeline.image(earlier, progress=advance)
            followed = PassedObjects(old, later + 1)
            new = past.timeline.image(later, start=old, on_batch=followed.follow)
            differ = diff_by_name if past.by_name else diff_images
            found = differ(old, new) if before <= at else differ(new, old)
            between = (_shown_passed(each, request) for each in followed.passed(new))
        else:
            found = past.timeline.diff(before, at, only, progress=advance, by_name=past.by_name)
            between = (PASSED_UNKNOWN,) if wanted else ()
    items = chain((shown(change, request) for change in found), between)
    return Computed(items=items, about=lambda: replace(past.about(at), from_=before))


def _across(past: Past, at: int, request: ShowDiff, only: ObjectName | None) -> Computed | None:
    """Return the differences between two parts of a recording; None if both points are in one part.

    Objects that existed only between the points are not searched for: they may be in a gap.
    """
    from api.questions.parts import located, newest
    from replay.time_travel.across_gap import changes_across

    last = newest(past)
    other, before = located(last, request.before)
    if other is past:
        return None
    old, new = other.image(before), past.image(at)
    if only is not None and not only.fields(old) and not only.fields(new):
        raise RequestError("RESOURCE_NOT_FOUND", f"{only.text} is absent at both points")
    items = [shown(change, request) for change in changes_across(old, new, only)]
    if request.passed and only is None:
        items.append(PASSED_UNKNOWN)
    return Computed(items=items, about=lambda: replace(last.place(at), from_=before))


def _shown_passed(passed: Passed, request: ShowDiff) -> ObjectChange:
    kind, _, label = passed.object.partition(":")
    redacts = not request.show_secrets and holds_secrets(kind)
    return ObjectChange(
        object=f"{kind}:{redact_label(kind, label)}" if redacts else passed.object,
        field="",
        before=None,
        after=None,
        fate="passed",
        from_offset=passed.from_offset,
        to_offset=passed.to_offset,
    )


DIFF = Question(name="diff", request=ShowDiff, item=ObjectChange, tell=diff_shown)
