"""Outages: degraded partitions and brokers, how long they were degraded, and why."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec

from api.questions.objects import JoinedPieces, Piece, pieces_of
from api.questions.parts import Stretch, check_in_any, stretches
from api.questions.past import Past
from api.questions.question import Computed, Question
from api.questions.ranges import about_range
from metadata_log.format.parts import Gap
from records.errors import RequestError
from records.text import uuid_text
from replay.incidents.health import KINDS
from replay.incidents.outage import Outage, Outages
from replay.incidents.outages_across import CutOutage, outages_across, topics_across
from replay.name_patterns import is_pattern, name_matcher
from replay.time_travel.labels import escaped, unescaped
from replay.time_travel.objects import ObjectName, parse_object


class ShowOutages(msgspec.Struct, frozen=True, kw_only=True):
    """Asks for the outages that overlap the range from a point on.

    Attributes:
        first: The point at which the range starts.
        until: The point of the question. Outages that last longer are counted up to this point if
            the point is a time between two records, else up to the last record before the point. A
            service also counts them up to a time after its last record, but not beyond now.
        broker: Only outages of this broker, and of partitions that waited for it, or that it led
            during the outage or until then.
        topic: Only partitions of a topic, by name, pattern (`orders*`), or `@` and its id.
        min_insync_replicas: The value assumed for topics whose value the log does not contain.
        objects: Only these partitions and brokers, by name or pattern (`partition:orders*/0`).
    """

    first: str = "start"
    until: str = "end"
    broker: int | None = None
    topic: str | None = None
    min_insync_replicas: int | None = None
    objects: tuple[str, ...] = ()


def outages_shown(past: Past, at: int, request: ShowOutages) -> Computed:
    """Return the fields `intervals`, `totals` and `min_insync_replicas`, in pieces.

    `intervals` are objects as in the command line's JSON, longest first. `totals` has for each kind
    the number of `intervals`, how many of them are `lasting`, and their `duration_ms`.
    `min_insync_replicas` lists the values used: for how many topics the log has the value, and the
    value assumed for the others. In a recording with gaps, `gaps` lists those in the range, and an
    interval that reaches a gap says which of its bounds are unknown, as `CutOutage` does.

    Raises:
        RequestError: INVALID_REQUEST, two of broker, topic and objects were given, or an object of
            a kind that has no outages; the error of `absence` if a given object never existed.
    """
    if (request.broker is not None) + (request.topic is not None) + bool(request.objects) > 1:
        raise RequestError("INVALID_REQUEST", "choose one of a broker, a topic, and objects")
    for text in request.objects:
        _check_has_outages(parse_object(text))
    asked = stretches(past, request.first, at)
    parts = _with_state_before(asked)
    found = [_outages_in(stretch, request) for stretch in parts]
    gaps = [None if stretch.before is None else stretch.before.gap for stretch in parts]
    cut = outages_across(found, gaps)
    chooses = _chooses(request, [each.outage for each in cut])
    chosen = [each for each in cut if chooses(each.outage)]
    if not chosen:
        check_in_any(parts, lambda of: _check_existed(of.past, of.at, request))
    return Computed(
        items=_document(topics_across(found), chosen, list(filter(None, gaps)), request),
        about=lambda: about_range(asked, past.about_provenance(found[-1].provenance, at)),
    )


def _with_state_before(parts: list[Stretch]) -> list[Stretch]:
    """Return the parts of a range; if it begins in a gap, also the last offset before the gap.

    Objects that were down at that offset may have been down in the gap.
    """
    before = parts[0].before
    if before is None or before.last_offset < before.past.reader.history_start:
        return parts
    last = before.last_offset
    return [Stretch(before.past, last, last, is_last=False), *parts]


def _outages_in(stretch: Stretch, request: ShowOutages) -> Outages:
    past, at = stretch.past, stretch.at
    with past.progress("replaying", at + 1) as advance:
        return past.timeline.outages(
            stretch.first,
            at + 1,
            until_ms=stretch.counted_until(request.until),
            assumed_min_isr=request.min_insync_replicas,
            progress=advance,
        )


def _check_existed(past: Past, at: int, request: ShowOutages) -> None:
    """Raise an error if a given object never existed: an empty answer would look like good news."""
    for name in _named(request):
        try:
            past.timeline.blame(name, at)
        except RequestError as error:
            if error.code != "RESOURCE_GONE":
                raise


def _check_has_outages(name: ObjectName) -> None:
    if name.kind.name not in ("partition", "broker") or name.field is not None:
        raise RequestError(
            "INVALID_REQUEST",
            f"{name.text}: only partitions and brokers have outages; write partition:TOPIC/N or "
            "broker:N",
        )


def _named(request: ShowOutages) -> list[ObjectName]:
    """Return the objects given in a request, without patterns."""
    if request.broker is not None:
        return [parse_object(f"broker:{request.broker}")]
    if request.topic is not None and not set(request.topic) & set("*?["):
        return [parse_object(f"topic:{escaped(request.topic)}")]
    return [parse_object(text) for text in request.objects if not is_pattern(text)]


def _document(
    topics: tuple[int, int], chosen: list[CutOutage], gaps: list[Gap], request: ShowOutages
) -> Iterator[Piece]:
    yield from pieces_of("intervals", map(_json, chosen))
    yield Piece("totals", {kind: _total(kind, chosen) for kind in KINDS})
    known, unknown = topics
    used = {
        "assumed": request.min_insync_replicas,
        "known_topics": known,
        "unknown_topics": unknown,
    }
    yield Piece("min_insync_replicas", used)
    if gaps:
        yield Piece("gaps", [{"gap": msgspec.to_builtins(gap)} for gap in gaps])


def _chooses(request: ShowOutages, outages: Iterable[Outage]) -> Callable[[Outage], bool]:
    broker_id, topic = request.broker, request.topic
    if broker_id is not None:
        return lambda outage: broker_id in outage.brokers or broker_id in outage.leaders
    if topic is not None:
        return lambda outage: _is_in(topic, outage)
    if request.objects:
        names = {name for outage in outages for name in _names(outage)}
        matchers = [name_matcher(text, names) for text in request.objects]
        return lambda outage: any(of(name) for of in matchers for name in _names(outage))
    return lambda outage: True


def _names(outage: Outage) -> tuple[str, ...]:
    """Return the names of an outage's object; a partition also has a name with its topic's id."""
    if outage.topic_id is None:
        return (outage.object,)
    number = outage.object.rpartition("/")[2]
    return outage.object, f"partition:@{uuid_text(outage.topic_id)}/{number}"


def _is_in(topic: str, outage: Outage) -> bool:
    if outage.topic_id is None:
        return False
    name = outage.object.removeprefix("partition:").rpartition("/")[0]
    return f"@{uuid_text(outage.topic_id)}" == topic or name_matcher(topic, ())(unescaped(name))


def _json(cut: CutOutage) -> dict[str, Any]:
    outage = cut.outage
    cause = outage.cause
    document = {
        "object": outage.object,
        "kind": outage.kind,
        "from_offset": outage.from_offset,
        "to_offset": outage.to_offset,
        "from_time": outage.from_time,
        "to_time": outage.to_time,
        "duration_ms": outage.duration_ms,
        "cause": None if cause is None else {"offset": cause.offset, "text": cause.text},
        "brokers": list(outage.brokers),
        "leaders": list(outage.leaders),
        "topic_id": None if outage.topic_id is None else uuid_text(outage.topic_id),
    }
    if cut.is_at_least:
        document["at_least"] = True
    if outage.gone_ms:
        document["least_ms"] = outage.duration_ms + outage.gone_ms
    if outage.seen_ms is not None:
        document["most_ms"] = outage.duration_ms + outage.seen_ms
    if outage.silence_ms:
        document["silence_ms"] = outage.silence_ms
    if cut.found_at is not None:
        document["found_at"] = cut.found_at
    if cut.last_seen_at is not None:
        document["last_seen_at"] = cut.last_seen_at
    if cut.is_on_both_sides:
        document["on_both_sides"] = True
    return document


def _total(kind: str, chosen: list[CutOutage]) -> dict[str, int]:
    of = [each for each in chosen if each.outage.kind == kind]
    return {
        "intervals": len(of),
        "lasting": sum(it.outage.to_offset is None and it.last_seen_at is None for it in of),
        "duration_ms": sum(it.outage.duration_ms for it in of),
    }


OUTAGES = Question(
    name="outages", request=ShowOutages, item=Piece, tell=outages_shown, joined=JoinedPieces
)
