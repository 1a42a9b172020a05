"""Lives of a topic name: the topics that have had the name, one after the other."""

from typing import Any

import msgspec

from api.questions.envelope_json import origin_json
from api.questions.past import Past
from api.questions.question import Computed, Question
from records.errors import RequestError
from records.topics import MoveTopicRecord
from replay.name_patterns import is_pattern
from replay.time_travel.labels import escaped
from replay.time_travel.names_over_time import names_over_time
from replay.time_travel.object_events import Event
from replay.time_travel.objects import ObjectName, names_by_id, parse_object


class ShowLives(msgspec.Struct, frozen=True, kw_only=True):
    """Asks for the topics that have had a given full name, one after the other.

    `name` may also be the `@ID` of a topic: the question is then about the topic's last name.
    """

    name: str


class Border(msgspec.Struct, frozen=True, kw_only=True):
    """The record that began or ended a topic's use of a name.

    It created, deleted or moved the topic.
    """

    offset: int
    timestamp: int
    how: str
    origin: dict[str, Any] | None


class Life(msgspec.Struct, frozen=True, kw_only=True):
    """A topic during the time it had the name.

    Attributes:
        began: The record that gave the topic the name; None if it is older than the kept history.
        ended: The record that ended the use of the name; None if the topic still has the name.
        partitions: Number of partitions when the topic lost the name, or now.
    """

    topic_id: str
    began: Border | None
    ended: Border | None
    partitions: int


def lives_shown(past: Past, at: int, request: ShowLives) -> Computed:
    """Return the topics that have had the requested name, up to an offset, oldest first.

    Raises:
        RequestError: no topic ever had the name; the error is that of `absence`. Or
            INVALID_REQUEST, the name is a pattern.
    """
    if is_pattern(request.name):
        raise RequestError(
            "INVALID_REQUEST",
            f"{request.name!r} is a pattern; write one topic's full name or @ID. `metalog timeline "
            "LOG --type topics` shows all topics created and deleted",
        )
    name = _name(past, at, parse_object(f"topic:{escaped(request.name)}"))
    lives: list[Life] = []
    open_: dict[str, Any] = {}
    began: Border | None = None
    with past.progress("reading", at + 1) as advance:
        for event in past.timeline.history(name, at + 1, advance):
            before = {change.field: change.before for change in event.changes}
            after = {change.field: change.after for change in event.changes}
            if event.removed:
                whole = {**open_, **before}
                lives.append(_life(whole, began, _border(event, "deleted")))
                open_, began = {}, None
                continue
            if before.get("topic_id", "") is None:
                began = _border(event, "created")
            open_ |= after
    # What did not change in the kept history is read from the state.
    fields = {} if lives and not open_ else _present(past, at, name.text)
    if fields:
        lives.append(_life(fields, began, None))
    return Computed(items=lives, about=lambda: past.about(at))


def _name(past: Past, at: int, name: ObjectName) -> ObjectName:
    """Return the last name of a topic that is given as `@ID`; any other name is returned as it is.

    Raises:
        RequestError: there never was a topic of this id; or INVALID_REQUEST, it is no id.
    """
    if not names_by_id(name.object):
        return name
    spans = names_over_time(name, past.image(at), at, lambda of: past.timeline.history(of, at + 1))
    *_, last = spans
    return parse_object(last.text)


def _present(past: Past, at: int, name: str) -> dict[str, Any]:
    return parse_object(name).fields(past.image(at)) or {}


def _life(fields: dict[str, Any], began: Border | None, ended: Border | None) -> Life:
    return Life(
        topic_id=fields["topic_id"], began=began, ended=ended, partitions=fields["partitions"]
    )


def _border(event: Event, how: str) -> Border:
    row = event.row
    return Border(
        offset=row.offset,
        timestamp=row.timestamp,
        how="moved" if isinstance(row.payload, MoveTopicRecord) else how,
        origin=origin_json(row.origin),
    )


LIVES = Question(name="topics lives", request=ShowLives, item=Life, tell=lives_shown)
