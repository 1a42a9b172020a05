"""Times without a leader, and unclean elections, in words."""

from collections.abc import Iterator, Sequence

from msgspec import UNSET

from api.questions.clauses import CLEAN, Clause, Scope, counted, is_shut_down, node_names, often
from records.text import duration_text
from replay.incidents.leaderless_times import LeaderlessTime
from replay.incidents.restarts import Together

_UNCLEAN_MAX = 3
"""Number of partitions named that had an unclean election; others are only counted."""


def of_leaderless(scope: Scope) -> Iterator[Clause]:
    """Yield the clauses about the times without a leader; planned ones have their own."""
    times = scope.found.leaderless
    if not times:
        yield Clause(about="leaderless", text="never without a leader")
        return
    is_within = (times[0].from_offset or 0) > scope.first
    if is_shut_down(scope.found) and _is_open(times[0]) and times[0].is_planned and is_within:
        begin = scope.clock.since(times[0].from_time)
        yield Clause(
            about="leaderless",
            text=f"never without a leader until the {CLEAN} at {begin}",
            from_offset=times[0].from_offset,
        )
        return
    planned = [each for each in times if each.is_planned]
    others = [each for each in times if not each.is_planned]
    for some in filter(None, (others, planned)):
        how = f" by {CLEAN}" if some is planned and others else ""
        longest = _longest(some)
        yield Clause(
            about="leaderless",
            text=f"{often(len(some))} without a leader{how}{_told(some, scope)}",
            # A single node that is stopped on purpose takes all partitions with it.
            is_bad=some is others or scope.found.brokers != 1,
            from_offset=longest.from_offset,
            to_offset=longest.to_offset,
        )


def _is_open(time: LeaderlessTime) -> bool:
    """True if some partitions have no leader at the end of the range."""
    return time.to_time is None and time.last_seen_at is UNSET


def _longest(times: Sequence[LeaderlessTime]) -> LeaderlessTime:
    return max(times, key=lambda each: each.duration_ms)


def _told(times: Sequence[LeaderlessTime], scope: Scope) -> str:
    """Return how long some times without a leader were, and the longest."""
    longest = _longest(times)
    at_least = "at least " if any(each.is_at_least for each in times) else ""
    lasted = f"{duration_text(longest.duration_ms)} {_bounds(longest, scope)}"
    if len(times) == 1:
        what = f", for {at_least}{lasted}"
    else:
        total = duration_text(sum(each.duration_ms for each in times))
        same = total == duration_text(longest.duration_ms)
        what = f"{'' if same and not at_least else f', {at_least}{total} in all'}, longest {lasted}"
    silences = [each.silence_ms for each in times if each.silence_ms]
    silent = _silent(silences, is_when_idle=scope.is_silent_when_idle)
    return f"{what} ({_down(longest, scope)}){_last(times, longest, scope)}{silent}"


def _bounds(time: LeaderlessTime, scope: Scope) -> str:
    since = scope.clock.since(time.from_time)
    if time.found_at is not UNSET:
        since = f"offset {time.found_at:,} on, where it was found after a gap"
    if time.last_seen_at is not UNSET:
        return f"from {since}, last seen at offset {time.last_seen_at:,} before a gap"
    end = scope.end if time.to_time is None else scope.clock.text(time.to_time)
    return f"from {since} to {end}"


def _last(times: Sequence[LeaderlessTime], longest: LeaderlessTime, scope: Scope) -> str:
    """Return the text about the last time, if that is not the longest."""
    last = times[-1]
    # What is still open is told with the end.
    if last is longest or _is_open(last):
        return ""
    lasted = duration_text(last.duration_ms)
    return f"; the last for {lasted} from {scope.clock.since(last.from_time)}"


def _silent(silences_ms: Sequence[int], *, is_when_idle: bool) -> str:
    if not silences_ms:
        return ""
    if is_when_idle:
        return "; when it began is not known: without NoOps, the log is silent when idle, too"
    each = " and ".join(duration_text(each) for each in silences_ms[:2])
    more = f" and {len(silences_ms) - 2:,} more times" if len(silences_ms) > 2 else ""
    return f"; the log is silent before, for {each}{more}"


def _down(time: LeaderlessTime, scope: Scope) -> str:
    """Return how many partitions had no leader, and the cause that was the first or only one."""
    down = counted(time.partitions, "partition")
    restart = _restart_in(time, scope.found.restarts)
    if restart is not None:
        return f"{down}: {_restarted(restart, time)}"
    if time.cause is None:
        return down
    return f"{down}{': ' if time.partitions == 1 else '; it began with: '}{time.cause}"


def _restarted(restart: Together, time: LeaderlessTime) -> str:
    who = node_names(restart.nodes, is_broker=True, is_all=restart.is_all)
    if len(restart.restarts) == 1:
        return f"{who} crashed or was killed, and restarted"
    return f"{who} restarted together{f' after a {CLEAN}' if time.is_planned else ''}"


def _restart_in(time: LeaderlessTime, restarts: Sequence[Together]) -> Together | None:
    """Return the restart that explains a time without a leader better than its first cause.

    That is one of several brokers together that overlaps it, or one of the broker that was missed
    if its process was back before that.
    """
    for each in restarts:
        if not each.is_broker:
            continue
        if len(each.restarts) == 1:
            if _was_back(each, time):
                return each
            continue
        is_after = time.to_offset is not None and each.down_offset > time.to_offset
        if not is_after and each.restarts[-1].offset >= (time.from_offset or 0):
            return each
    return None


def _was_back(restart: Together, time: LeaderlessTime) -> bool:
    """True if a broker was missed only after its process was back, and this began the time."""
    if time.cause is None or time.cause_offset is None:
        return False
    is_of_it = time.cause.startswith(f"broker {restart.nodes[0]} was fenced ")
    return is_of_it and restart.down_offset < time.cause_offset <= restart.restarts[0].offset


def of_unclean(scope: Scope) -> Iterator[Clause]:
    """Yield the clause about the unclean elections, if there were any."""
    found, clock = scope.found.unclean, scope.clock
    if not found:
        return
    first, last = found[0], found[-1]
    if len(found) == 1:
        text = f"1 unclean election at {clock.text(first.time)}"
    else:
        when = f"from {clock.text(first.time)} to {clock.text(last.time)}"
        text = f"{len(found):,} unclean elections {when}"
    lost = "records may be lost"
    if all(each.replicas == 1 for each in found):
        lost = "no other replica exists, but records that were not on disk may be lost"
    names = list(dict.fromkeys(each.object for each in found))
    more = f" and {len(names) - _UNCLEAN_MAX:,} more" if len(names) > _UNCLEAN_MAX else ""
    yield Clause(
        about="unclean",
        text=f"{text}: {lost} ({', '.join(names[:_UNCLEAN_MAX])}{more})",
        is_bad=True,
        from_offset=first.offset,
        to_offset=last.offset,
    )
