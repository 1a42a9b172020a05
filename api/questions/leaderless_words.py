"""Times without a leader, and unclean elections, in words."""

from collections.abc import Iterator, Sequence

from msgspec import UNSET

from api.questions.clauses import (
    CLEAN,
    Clause,
    Scope,
    counted,
    is_shut_down,
    lasted,
    lasted_between,
    node_names,
    often,
)
from replay.incidents.fencing_reasons import NO_HEARTBEAT, STALLED
from replay.incidents.leaderless_times import LeaderlessTime
from replay.incidents.restarts import Together

_UNCLEAN_MAX = 3
"""Number of partitions named that had an unclean election; others are only counted."""


def of_leaderless(scope: Scope) -> Iterator[Clause]:
    """Yield the clause about the times without a leader."""
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
    longest = _longest(others or planned, scope)
    yield Clause(
        about="leaderless",
        text=f"{often(len(times))} without a leader{_classes(others, planned, scope)}",
        # A single node that is stopped on purpose takes all partitions with it.
        is_bad=bool(others) or scope.found.brokers != 1,
        from_offset=longest.from_offset,
        to_offset=longest.to_offset,
    )


def _classes(
    others: Sequence[LeaderlessTime], planned: Sequence[LeaderlessTime], scope: Scope
) -> str:
    """Return how often it was planned, and how long those times were."""
    classes = [each for each in (others, planned) if each]
    if len(classes) == 1:
        return f"{_how(classes[0], scope)}{_told(classes[0], scope)}"
    told = [
        f"{len(each):,}{_how(each, scope) or ' not planned'}{_told(each, scope)}"
        for each in classes
    ]
    return f": {'; '.join(told)}"


def _how(times: Sequence[LeaderlessTime], scope: Scope) -> str:
    """Return how all of some times began, if that was alike."""
    if all(each.is_planned for each in times):
        return f" by {CLEAN}"
    restarts = scope.found.restarts
    is_missed = all(
        any(text in (each.cause or "") for text in (f"({NO_HEARTBEAT})", f"({STALLED}"))
        and not _restart_in(each, restarts)
        for each in times
    )
    return f" by {NO_HEARTBEAT}" if is_missed else ""


def _is_open(time: LeaderlessTime) -> bool:
    """True if some partitions have no leader at the end of the range."""
    return time.to_time is None and time.last_seen_at is UNSET


def _longest(times: Sequence[LeaderlessTime], scope: Scope) -> LeaderlessTime:
    return max(times, key=lambda each: _least_and_most(each, scope))


def _least_and_most(time: LeaderlessTime, scope: Scope) -> tuple[int, int]:
    """Return the shortest and the longest duration that the log allows, in ms.

    They differ for a crash of a node that was the controller, too: it did not write that it was
    gone. It crashed after its last record, and was back when its new process wrote the first one.
    """
    least = most = time.least_ms
    crash = _crash_of(time, scope.found.restarts)
    if crash is not None and time.to_time is not None and crash.seen_time is not None:
        least = max(least, time.to_time - crash.down_time)
        most = max(least, time.to_time - crash.seen_time)
    return least, most


def _told(times: Sequence[LeaderlessTime], scope: Scope) -> str:
    """Return how long some times without a leader were, and the longest."""
    longest = _longest(times, scope)
    bounds = [_least_and_most(each, scope) for each in times]
    least, most = _least_and_most(longest, scope)
    dark = [each for each in times if _is_from_log(each, scope)]
    at_least = "at least " if any(each.is_at_least for each in dark) else ""
    longest_text = f"{lasted_between(least, most)} {_bounds(longest, scope)}"
    if len(times) == 1:
        what = f", for {at_least}{longest_text}"
    else:
        total = lasted_between(sum(it[0] for it in bounds), sum(it[1] for it in bounds))
        same = total == lasted_between(least, most)
        in_all = "" if same and not at_least else f", {at_least}{total} in all"
        what = f"{in_all}, longest {longest_text}"
    silences = [each.silence_ms for each in dark if each.silence_ms]
    silent = _silent(silences, is_when_idle=scope.is_silent_when_idle)
    return f"{what} ({_down(times, longest, scope)}){_last(times, longest, scope)}{silent}"


def _is_from_log(time: LeaderlessTime, scope: Scope) -> bool:
    """True if only the log's records tell when a time began, not the restart of a process."""
    least, most = _least_and_most(time, scope)
    return least == most


def _bounds(time: LeaderlessTime, scope: Scope) -> str:
    earlier_ms = time.least_ms - time.duration_ms
    since = scope.clock.since(time.from_time and time.from_time - earlier_ms)
    if time.found_at is not UNSET:
        since = f"offset {time.found_at:,} on, where it was found after a gap"
    if time.last_seen_at is not UNSET:
        return f"from {since}, last seen at offset {time.last_seen_at:,} before a gap"
    end = scope.end if time.to_time is None else scope.clock.text(time.to_time)
    if not _is_from_log(time, scope):
        return f"up to {end}"
    return f"from {since} to {end}"


def _last(times: Sequence[LeaderlessTime], longest: LeaderlessTime, scope: Scope) -> str:
    """Return the text about the last time, if that is not the longest."""
    last = times[-1]
    # What is still open is told with the end.
    if last is longest or _is_open(last):
        return ""
    duration = lasted_between(*_least_and_most(last, scope))
    bounds = _bounds(last, scope).partition(" to ")[0] if _is_from_log(last, scope) else ""
    return f"; the last for {duration} {bounds or _bounds(last, scope)}"


def _silent(silences_ms: Sequence[int], *, is_when_idle: bool) -> str:
    if not silences_ms:
        return ""
    if is_when_idle:
        return "; when it began is not known: without NoOps, the log is silent when idle, too"
    each = " and ".join(lasted(each) for each in silences_ms[:2])
    more = f" and {len(silences_ms) - 2:,} more times" if len(silences_ms) > 2 else ""
    return f"; the log is silent before, for {each}{more}"


def _down(times: Sequence[LeaderlessTime], longest: LeaderlessTime, scope: Scope) -> str:
    """Return how many partitions had no leader, and the cause that was the first or only one."""
    counts = [each.partitions for each in times]
    least, most = min(counts), max(counts)
    down = counted(most, "partition") if least == most else f"{least:,} to {most:,} partitions"
    restart = _restart_in(longest, scope.found.restarts)
    if restart is not None:
        return _restarted(restart, longest, down, scope)
    # It can only be the one broker that was shut down, or missed.
    if longest.cause is None or (_how(times, scope) and scope.found.brokers == 1):
        return f"{down}{_stalled(longest)}"
    return f"{down}{': ' if longest.partitions == 1 else '; it began with: '}{longest.cause}"


def _stalled(time: LeaderlessTime) -> str:
    """Return that the broker that was missed did not restart, if it did not."""
    _, is_stalled, more = (time.cause or "").partition(f"({STALLED}")
    return f"; the broker did not restart{more.removesuffix(')')}" if is_stalled else ""


def _restarted(restart: Together, time: LeaderlessTime, down: str, scope: Scope) -> str:
    who = node_names(restart.nodes, is_broker=True, is_all=restart.is_all)
    if len(restart.restarts) > 1:
        away = restart.partitions
        if not _were_all_away(restart) or away <= time.partitions:
            return f"{down}: {who} restarted together"
        return (
            f"all {away:,} partitions, {time.partitions:,} of them in the log: {who} restarted "
            "together; the leader of the others was back before it was missed"
        )
    if _is_from_log(time, scope) or restart.seen_time is None:
        return f"{down}: {who} crashed or was killed, and restarted"
    clock = scope.clock
    between = f"between {clock.text(restart.seen_time)} and {clock.text(restart.down_time)}"
    since = clock.since(time.from_time)
    return f"{down}: {who} crashed or was killed {between}; the log records it only from {since}"


def _were_all_away(restart: Together) -> bool:
    """True if every partition's leader restarted, and none handed its partitions over before."""
    return restart.is_all and restart.is_clean is False


def _restart_in(time: LeaderlessTime, restarts: Sequence[Together]) -> Together | None:
    """Return the restart that explains a time without a leader better than its first cause.

    That is one of several brokers together that overlaps it, or one of the broker that was missed
    if its process was back before that.
    """
    crash = _crash_of(time, restarts)
    for each in restarts:
        if each is crash:
            return each
        if not each.is_broker or len(each.restarts) == 1:
            continue
        is_after = time.to_offset is not None and each.down_offset > time.to_offset
        if not is_after and each.restarts[-1].offset >= (time.from_offset or 0):
            return each
    return None


def _crash_of(time: LeaderlessTime, restarts: Sequence[Together]) -> Together | None:
    """Return the restart of one broker whose process was back before the broker was missed."""
    alone = (each for each in restarts if each.is_broker and len(each.restarts) == 1)
    return next((each for each in alone if _was_back(each, time)), None)


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
