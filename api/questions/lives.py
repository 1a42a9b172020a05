"""Lives of a topic name: the topics that have had the name, one after the other."""

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from api.questions.envelope_json import origin_json
from api.questions.past import Past
from api.questions.question import Computed, Question
from records.envelope import Envelope
from records.topics import MoveTopicRecord
from replay.image.metadata import MetadataImage
from replay.name_patterns import is_pattern
from replay.time_travel.changes import EffectiveChange
from replay.time_travel.labels import escaped, unescaped
from replay.time_travel.names_over_time import names_over_time
from replay.time_travel.objects import ObjectName, names_by_id, parse_object
from replay.time_travel.pattern_history import history_matching


class ShowLives(msgspec.Struct, frozen=True, kw_only=True):
    """Asks for the topics that have had a given full name, one after the other.

    `name` may also be the `@ID` of a topic: the question is then about the topic's last name. For a
    pattern, the answer has only the matching names that more than one topic has had.
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
        name: The full name.
        began: The record that gave the topic the name; None if it is older than the kept history.
        ended: The record that ended the use of the name; None if the topic still has the name.
        partitions: Number of partitions when the topic lost the name, or now.
    """

    name: str
    topic_id: str
    began: Border | None
    ended: Border | None
    partitions: int


def lives_shown(past: Past, at: int, request: ShowLives) -> Computed:
    """Return the topics that have had the requested name, up to an offset, oldest first.

    Raises:
        RequestError: no topic ever had the name; the error is that of `absence`.
    """
    asked = parse_object(f"topic:{escaped(request.name)}")
    if is_pattern(request.name):
        lives = [life for of in _matching(past, at, asked) if len(of) > 1 for life in of]
    else:
        name = _name(past, at, asked)
        told = _Lives(unescaped(name.name))
        with past.progress("reading", at + 1) as advance:
            for event in past.timeline.history(name, at + 1, advance):
                told.add(event.row, event.changes, removed=event.removed)
        lives = told.until(past.image(at))
    return Computed(items=lives, about=lambda: past.about(at))


def _matching(past: Past, at: int, pattern: ObjectName) -> Iterator[list[Life]]:
    """Yield the lives of each name that matches a pattern, ordered by name."""
    found: dict[str, _Lives] = {}
    start = past.reader.history_start
    with past.progress("reading", at + 1) as advance:
        for label, row, changes in history_matching(
            past.reader,
            pattern,
            start,
            at + 1,
            past.image(start - 1),
            shown=lambda _, label: label,
            progress=advance,
        ):
            told = found.setdefault(label, _Lives(unescaped(label)))
            after = {change.field: change.after for change in changes}
            told.add(row, changes, removed=after.get("topic_id", "") is None)
    image = past.image(at)
    for _, told in sorted(found.items()):
        yield told.until(image)


class _Lives:
    """Collects the lives of a name from the changes of the topics that had it."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._ended: list[Life] = []
        self._open: dict[str, Any] = {}
        self._began: Border | None = None

    def add(self, row: Envelope, changes: Iterable[EffectiveChange], *, removed: bool) -> None:
        """Add the next change; `removed` if no topic has the name afterwards."""
        before = {change.field: change.before for change in changes}
        if removed:
            whole = {**self._open, **before}
            self._ended.append(_life(self._name, whole, self._began, _border(row, "deleted")))
            self._open, self._began = {}, None
            return
        if before.get("topic_id", "") is None:
            self._began = _border(row, "created")
        self._open |= {change.field: change.after for change in changes}

    def until(self, image: MetadataImage) -> list[Life]:
        """Return all lives, oldest first; the last one, if it still lasts, as in the image."""
        # What did not change in the kept history is read from the state.
        if self._ended and not self._open:
            return self._ended
        fields = parse_object(f"topic:{escaped(self._name)}").fields(image)
        if not fields:
            return self._ended
        return [*self._ended, _life(self._name, fields, self._began, None)]


def _name(past: Past, at: int, name: ObjectName) -> ObjectName:
    """Return the last name of a topic that is given as `@ID`; any other name is returned as it is.

    Raises:
        RequestError: no topic ever had this id; or INVALID_REQUEST, the text is not an id.
    """
    if not names_by_id(name.object):
        return name
    spans = names_over_time(name, past.image(at), at, lambda of: past.timeline.history(of, at + 1))
    *_, last = spans
    return parse_object(last.text)


def _life(name: str, fields: dict[str, Any], began: Border | None, ended: Border | None) -> Life:
    return Life(
        name=name,
        topic_id=fields["topic_id"],
        began=began,
        ended=ended,
        partitions=fields["partitions"],
    )


def _border(row: Envelope, how: str) -> Border:
    return Border(
        offset=row.offset,
        timestamp=row.timestamp,
        how="moved" if isinstance(row.payload, MoveTopicRecord) else how,
        origin=origin_json(row.origin),
    )


LIVES = Question(name="topics lives", request=ShowLives, item=Life, tell=lives_shown)
