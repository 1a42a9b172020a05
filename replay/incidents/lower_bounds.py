"""Outages that may have begun earlier than the log shows, because nothing was written before.

A controller that is new finds brokers missing that may have been gone for as long as no record was
written before its term, unless they registered in that term.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence

from records.control import LeaderChangeMessage
from replay.incidents.causes import OWN, Cause, is_of_lost_broker
from replay.incidents.fencing_reasons import NO_HEARTBEAT, FencingReasons, Gone
from replay.incidents.health import LEADERLESS
from replay.incidents.outage import Outage
from replay.incidents.silences import Silence, silence_before
from replay.loader import BatchSource
from replay.time_travel.leader_changes import leader_changes

AFTER_SILENCE_MS_MAX = 60_000
"""Maximum time after a silence in which what failed meanwhile is found: brokers have missed their
heartbeats by then."""


def note_silences(
    outages: Iterable[Outage],
    known: Sequence[Silence],
    known_from: tuple[int, int],
    earlier: Callable[[], Iterable[Silence]],
) -> None:
    """Set `silence_ms` of the outages that may have begun in a silence.

    Args:
        known: The silences from the record `known_from` on, an offset and a time, in order.
        earlier: Returns the silences before; called only if an outage may have begun in one.
    """
    first, first_time = known_from
    early_ms = first_time + AFTER_SILENCE_MS_MAX
    every: Sequence[Silence] | None = None
    for each in outages:
        cause = each.known_cause
        if cause is OWN or cause is None:  # nearly all of them
            continue
        offset, time = each.from_offset, each.from_time
        if offset is None or time is None:
            continue
        is_early = offset < first or time <= early_ms
        if not (known or is_early) or not is_of_lost_broker(cause):
            continue
        if is_early and every is None:
            every = [*earlier(), *known]
        silence = _silence_before(every or known, offset, time)
        if silence is not None and silence.offset > cause.registered:
            each.silence_ms = silence.duration_ms


def note_gone(outages: Iterable[Outage], reasons: FencingReasons) -> None:
    """Set `gone_ms` and `seen_ms` of the outages that began with a process of broker and controller
    that restarted.
    """
    if not reasons.were_asked:
        return
    known: dict[int, Gone | None] = {OWN.offset: None}
    for each in outages:
        cause = each.known_cause
        if cause is None:
            continue
        if cause.offset not in known:
            known[cause.offset] = _gone(cause, reasons)
        gone, time = known[cause.offset], each.from_time
        if gone is None or time is None:
            continue
        if each.kind == LEADERLESS and _led(each) != gone.broker_id:
            continue
        each.gone_ms = max(0, time - gone.time)
        each.seen_ms = None if gone.seen_time is None else max(each.gone_ms, time - gone.seen_time)


def _gone(cause: Cause, reasons: FencingReasons) -> Gone | None:
    if f" was fenced ({NO_HEARTBEAT}" not in cause.text:
        return None
    return reasons.gone(cause.offset, int(cause.text.split()[1]))


def _led(outage: Outage) -> int | None:
    return None if outage.before is None else outage.before.leader


def _silence_before(silences: Sequence[Silence], offset: int, time: int) -> Silence | None:
    index = bisect_left(silences, offset, key=lambda each: each.offset)
    if index and time - silences[index - 1].time <= AFTER_SILENCE_MS_MAX:
        return silences[index - 1]
    return None


def silences_below(source: BatchSource, end_offset: int) -> Iterator[Silence]:
    """Yield the silences before the terms that began below an offset, in order.

    Raises:
        CorruptLogError: the log is damaged.
    """
    for batch in leader_changes(source, end_offset):
        first = batch.base_offset
        is_term = type(batch.rows[0].payload) is LeaderChangeMessage
        if is_term and source.history_start < first < end_offset:
            (before,) = source.batches(first - 1, first)
            yield from silence_before(batch.rows, before.times_at(first - 1)[0])
