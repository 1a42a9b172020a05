"""The question for the record that last set each field of an object."""

from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from api.questions.changes import AskedBy, announced_voters, asked_by
from api.questions.envelope_json import origin_json
from api.questions.past import Past
from api.questions.question import Computed, Question
from api.questions.redaction import redact_field
from records.errors import RequestError
from replay.time_travel.objects import parse_object


class ShowBlame(msgspec.Struct, frozen=True, kw_only=True):
    """Asks which record last set each field of an object."""

    object: str
    show_secrets: bool = False


class FieldSetter(msgspec.Struct, frozen=True, kw_only=True):
    """A field's value and the record that set it; the record is null if it is no longer kept.

    `asked` is set if the record carried out the request of an earlier record.
    """

    value: Any
    offset: int | None
    timestamp: int | None
    type: str | None
    origin: dict[str, Any] | None
    asked: AskedBy | UnsetType = UNSET
    known: bool


class Blame(msgspec.Struct, frozen=True, kw_only=True):
    """The fields of an object, each with the record that set it."""

    object: str
    fields: dict[str, FieldSetter]


def blame_shown(past: Past, at: int, request: ShowBlame) -> Computed:
    """Return the fields of an object as of an offset, with the records that set them.

    Raises:
        RequestError: the object or field is absent at that offset.
    """
    name = parse_object(request.object)
    try:
        with past.progress("reading", at + 1) as advance:
            found = past.timeline.blame(name, at, advance, by_name=past.by_name)
    except RequestError:
        # Of a voter of a static quorum.
        from replay.time_travel.history import LastSet

        announced = announced_voters(past, name, at + 1)
        if not announced or announced[-1][1].after is None:
            raise
        row, change = announced[-1]
        found = {change.field: LastSet(change.after, row)}
    asked_for = past.timeline.asked_for(at, by_name=past.by_name)
    fields = {
        field: FieldSetter(
            value=setter.value
            if request.show_secrets
            else redact_field(name.kind.name, field, setter.value),
            offset=setter.offset,
            timestamp=setter.timestamp,
            type=setter.type,
            origin=origin_json(setter.origin),
            asked=UNSET
            if setter.row is None
            else asked_by(asked_for, setter.row, name.kind.name, name.name),
            known=setter.known,
        )
        for field, setter in found.items()
    }
    return Computed(
        answer=Blame(object=request.object, fields=fields), about=lambda: past.about(at)
    )


BLAME = Question(name="blame", request=ShowBlame, answer=Blame, tell=blame_shown)
