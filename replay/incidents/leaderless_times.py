"""Periods in which any partition had no leader: the union of the outages of all partitions."""

from collections.abc import Iterable

import msgspec
from msgspec import UNSET, UnsetType

from replay.incidents.causes import SHUTDOWN
from replay.incidents.health import LEADERLESS
from replay.incidents.outage import Outage


class LeaderlessTime(msgspec.Struct, frozen=True, kw_only=True):
    """A period in which at least one partition had no leader.

    Attributes:
        from_offset, from_time: Offset and append time (ms since 1970) of the record by which the
            first partition lost its leader; None if it is before the kept history.
        to_offset, to_time: Offset and append time of the record after which all partitions had a
            leader again; None if there is none in the range.
        duration_ms: Counted like the duration of an `Outage`.
        is_at_least: True if it may have begun earlier than `duration_ms` counts.
        silence_ms: As of the first `Outage`.
        least_ms, most_ms: How long it lasted at least and at most; `most_ms` is None if it may have
            begun earlier, and it is not known how much.
        partitions: Number of different partitions without a leader.
        cause, cause_offset: Description and offset of the record that caused the first outage;
            None if unknown.
        is_planned: True if all of the outages began with controlled shutdowns.
        found_at, last_seen_at: In a recording with gaps, the offset after a gap at which the period
            was found, and the last offset before a gap at which it lasted; unset if no gap cuts the
            period.
    """

    from_offset: int | None
    from_time: int | None
    to_offset: int | None
    to_time: int | None
    duration_ms: int
    is_at_least: bool
    silence_ms: int
    least_ms: int
    most_ms: int | None
    partitions: int
    cause: str | None
    cause_offset: int | None
    is_planned: bool
    found_at: int | UnsetType = UNSET
    last_seen_at: int | UnsetType = UNSET


def leaderless_times(outages: Iterable[Outage]) -> list[LeaderlessTime]:
    """Return the periods in which any partition had no leader, in order."""
    found: list[list[Outage]] = []
    end: int | None = -1
    for outage in sorted((each for each in outages if each.kind == LEADERLESS), key=_begin):
        if found and (end is None or _begin(outage) <= end):
            found[-1].append(outage)
        else:
            found.append([outage])
            end = -1
        if end is not None:
            end = None if outage.to_offset is None else max(end, outage.to_offset)
    times: list[LeaderlessTime] = []
    for outages in found:
        times.append(_joined(outages, (times[-1].to_time or 0) if times else 0))
    return times


def _begin(outage: Outage) -> int:
    return -1 if outage.from_offset is None else outage.from_offset


def _joined(outages: list[Outage], since: int) -> LeaderlessTime:
    first, cause = outages[0], outages[0].cause
    ends = [each.to_offset for each in outages]
    times = [each.to_time for each in outages]
    duration_ms = _duration_ms(outages)
    least_ms, most_ms = _bounds_ms(outages, duration_ms, since)
    return LeaderlessTime(
        from_offset=first.from_offset,
        from_time=first.from_time,
        to_offset=None if None in ends else max(end for end in ends if end is not None),
        to_time=None if None in times else max(time for time in times if time is not None),
        duration_ms=duration_ms,
        is_at_least=first.is_at_least,
        silence_ms=first.silence_ms,
        least_ms=least_ms,
        most_ms=most_ms,
        partitions=len({(each.topic_id, each.object) for each in outages}),
        cause=None if cause is None else cause.text,
        cause_offset=None if cause is None else cause.offset,
        is_planned=all(_is_planned(each) for each in outages),
    )


def _is_planned(outage: Outage) -> bool:
    cause = outage.known_cause
    return cause is not None and cause.text.endswith(SHUTDOWN)


def _duration_ms(outages: list[Outage]) -> int:
    """Return the duration from the first begin to the last end of overlapping outages."""
    throughout = [o.duration_ms for o in outages if o.from_time is None and o.to_time is None]
    if throughout:
        return max(throughout)
    spans = [_span(each) for each in outages]
    return max(0, max(end for _, end in spans) - min(begin for begin, _ in spans))


def _bounds_ms(outages: list[Outage], duration_ms: int, since: int) -> tuple[int, int | None]:
    """Return the shortest and the longest duration of overlapping outages that the log allows.

    Args:
        since: When all partitions had a leader last before that, ms since 1970.
    """
    begins = [(each, each.from_time) for each in outages if each.from_time is not None]
    if len(begins) < len(outages):
        return duration_ms, None
    begin = min(time for _, time in begins)
    gone = min(time - each.gone_ms for each, time in begins)
    seen = min(time - (each.seen_ms or 0) for each, time in begins)
    is_open = any(each.is_at_least and each.seen_ms is None for each in outages)
    least, most = (duration_ms + max(0, begin - max(time, since)) for time in (gone, seen))
    return least, None if is_open else most


def _span(outage: Outage) -> tuple[int, int]:
    """Return begin and end time; if one is unknown, it is computed from the duration."""
    if outage.from_time is not None:
        end_ms = outage.from_time + outage.duration_ms
        return outage.from_time, end_ms if outage.to_time is None else outage.to_time
    assert outage.to_time is not None, "it did not last throughout"
    return outage.to_time - outage.duration_ms, outage.to_time
