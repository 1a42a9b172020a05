"""Why: the chain of records that led to a field's value."""

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from api.questions.past import Past
from api.questions.question import Computed, Question
from api.questions.redaction import redact_field
from metadata_log.format.manifest import Kind
from records.envelope import Envelope
from records.metadata_versions import feature_level_text
from replay.incidents.why import Chain
from replay.time_travel.asked_for import AskedFor, Asker
from replay.time_travel.object_events import Event
from replay.time_travel.objects import ObjectName, parse_object

_DEFAULT_FIELDS = {"partition": "leader", "broker": "fenced"}
_OF_INCIDENTS = {
    "partition": frozenset({"leader", "isr"}),
    "broker": frozenset({"fenced", "in_controlled_shutdown"}),
}


class AskWhy(msgspec.Struct, frozen=True, kw_only=True):
    """Asks for the records that led to a field's value.

    If no field is given, the field is `leader` for a partition, `fenced` for a broker, and
    otherwise the field that was set last.
    """

    object: str
    show_secrets: bool = False


class WhyLink(msgspec.Struct, frozen=True, kw_only=True):
    """One record of the chain; `time` is its append time, ms since 1970.

    `asked` is set if the record carried out the request of an earlier record.
    """

    offset: int
    time: int
    type: str
    text: str
    principal: str | None
    asked: Asker | UnsetType = UNSET


class Why(msgspec.Struct, frozen=True, kw_only=True):
    """A field's value and the records that led to it.

    Attributes:
        chain: The records, from the one that set the value back to the first cause.
        unclean: Only for a partition: True if its current or last leader was elected uncleanly;
            null if no election is in the kept history.
        notes: Further remarks.
    """

    object: str
    field: str
    value: Any
    chain: tuple[WhyLink, ...]
    unclean: bool | None = None
    notes: tuple[str, ...] = ()


def why_told(past: Past, at: int, request: AskWhy) -> Computed:
    """Return the chain of records that led to a field's value as of an offset.

    Raises:
        RequestError: the object or field is absent at that offset.
    """
    name = parse_object(request.object)
    field = name.field or _DEFAULT_FIELDS.get(name.kind.name)
    if field in _OF_INCIDENTS.get(name.kind.name, ()):
        answer = _incident(past, at, msgspec.structs.replace(name, field=field))
    else:
        answer = _setters(past, at, name, request.show_secrets)
    if past.reader.kind is Kind.MIRROR:
        note = "a log of Kafka does not say who asked for a change"
        answer = msgspec.structs.replace(answer, notes=(*answer.notes, note))
    return Computed(answer=answer, about=lambda: past.about(at))


def _incident(past: Past, at: int, name: ObjectName) -> Why:
    with past.progress("reading", at + 1) as advance:
        found = past.timeline.why(name, at, advance)
    assert name.field is not None, "the field is one that incidents change"
    link_of = _Links(past, at, name)
    return Why(
        object=name.object,
        field=name.field,
        value=found.value,
        chain=tuple([link_of(each.row, each.text) for each in found.links]),
        unclean=found.unclean,
        notes=tuple(_notes(found, past.reader.history_start)),
    )


def _notes(found: Chain, history_start: int) -> list[str]:
    notes = []
    if found.is_going:
        notes.append("it is being removed, so no leader is elected")
    if found.waits_for:
        brokers = ", ".join(map(str, found.waits_for))
        if found.needs_unclean:
            notes.append(
                "no replica is known to have every record: only an unclean election, "
                f"of one of these brokers, can end it: {brokers}"
            )
        else:
            notes.append(
                f"no leader can be elected cleanly until one of these brokers is back: {brokers}"
            )
        notes.append("no election has lost records since; an unclean one or a lost disk could")
    if found.unclean:
        lost = "records that the new leader lacked are lost"
        if found.had_only_leader:
            lost = "no other replica exists, but records that were not on disk may be lost"
        notes.append(f"the last election was unclean: {lost}")
    if not found.links:
        notes.append(
            f"it has been so since before the kept history, which starts at {history_start}"
        )
    return notes


def _setters(past: Past, at: int, name: ObjectName, show_secrets: bool) -> Why:
    """Return the records that set a field since the object was created, newest first."""
    with past.progress("reading", at + 1) as advance:
        last = past.timeline.blame(name, at, advance)
    field = name.field or max(last, key=lambda each: last[each].offset or -1)
    chain: list[WhyLink] = []
    link_of = _Links(past, at, name)
    for event in past.timeline.history(parse_object(name.object), at + 1):
        chain += _changed(event, field, link_of, show_secrets)
        if event.removed:
            chain.clear()
    value = last[field].value
    return Why(
        object=name.object,
        field=field,
        value=value if show_secrets else redact_field(name.kind.name, field, value),
        chain=tuple(chain[::-1]),
        notes=() if chain else (f"it was set before offset {past.reader.history_start}",),
    )


def _changed(event: Event, field: str, link_of: "_Links", show_secrets: bool) -> Iterator[WhyLink]:
    for change in event.changes:
        if change.field == field:
            kind = change.object.partition(":")[0]
            before, after = change.before, change.after
            if not show_secrets:
                before, after = (redact_field(kind, field, each) for each in (before, after))
            setter = event.setter(field)
            if setter is not None and setter is not event.row:
                # It came along with a moved topic.
                yield link_of(setter, f"{field}: {_text(change.object, after)}")
            texts = (_text(change.object, each) for each in (before, after))
            yield link_of(event.row, f"{field}: {' -> '.join(texts)}")


def _text(name: str, value: Any) -> str:
    if value is None:
        return "-"
    kind, _, feature = name.partition(":")
    if kind == "feature" and isinstance(value, int):
        return feature_level_text(feature, value)
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


class _Links:
    """Makes the links of the chain of an object."""

    def __init__(self, past: Past, at: int, name: ObjectName) -> None:
        self._asked_for: AskedFor = past.timeline.asked_for(at, by_name=past.by_name)
        self._name = name

    def __call__(self, row: Envelope, text: str) -> WhyLink:
        """Return the link of a row."""
        origin = row.origin
        reason = origin.reason if origin is not None else None
        asked = self._asked_for.of(row, self._name.kind.name, self._name.name)
        return WhyLink(
            offset=row.offset,
            time=row.timestamp,
            type=type(row.payload).__name__,
            text=text if reason is None or reason in text else f"{text} ({reason})",
            principal=None if origin is None else origin.principal,
            asked=UNSET if asked is None else Asker.of(asked),
        )


WHY = Question(name="why", request=AskWhy, answer=Why, tell=why_told)
