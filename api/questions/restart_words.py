"""Restarts of brokers and controllers, in words."""

from collections.abc import Iterator, Sequence

from api.questions.clauses import (
    CLEAN,
    Clause,
    Scope,
    counted,
    lasted,
    lasted_between,
    node_names,
)
from replay.incidents.node_restarts import NodeRestarts

_RESTARTS_MAX = 3
"""Number of clauses about restarts; other restarts are only counted."""

_OFF_MS_MIN = 1_000
"""Minimum time off that is told."""

_START_MS_MAX = 1_000
"""Maximum time for which a controller wrote that failed as it started: it writes a NoOp after half
a second."""

_SAME_MS_MAX = 5_000
"""Maximum difference between the time off of a broker and a time without a leader that are of one
event: a broker that is back leads a little later.
"""


def of_restarts(scope: Scope, restarts: Sequence[NodeRestarts]) -> Iterator[Clause]:
    """Yield the clauses about restarts, those of nodes that restarted most often first."""
    ordered = _processes_last(restarts)
    told = [restart_text(each, scope, ordered[:number]) for number, each in enumerate(ordered)]
    for number, each in enumerate(ordered[:_RESTARTS_MAX]):
        yield Clause(
            about="restarts",
            text=told[number],
            is_bad=_is_bad(each),
            from_offset=each.down_offset,
            to_offset=each.to_offset,
        )
    others = sum(each.times for each in ordered[_RESTARTS_MAX:])
    if others:
        yield Clause(about="restarts", text=f"{counted(others, 'more restart')} of other nodes")


def _is_bad(each: NodeRestarts) -> bool:
    """True if a broker was not shut down, or may not have been while there were topics."""
    if not each.is_broker:
        return each.times > 1
    unknown = each.times - each.clean - each.unclean
    return bool(each.unclean) or unknown > each.harmless


def _processes_last(restarts: Sequence[NodeRestarts]) -> list[NodeRestarts]:
    """Return the restarts with those of a broker's process directly after the broker's."""
    brokers = {each.nodes for each in restarts if each.is_broker}
    after = {each.nodes: each for each in restarts if _is_of_process(each, brokers)}
    found: list[NodeRestarts] = []
    for each in restarts:
        if after.get(each.nodes) is not each:
            found.append(each)
            if each.is_broker and each.nodes in after:
                found.append(after[each.nodes])
    return found


def _is_of_process(each: NodeRestarts, brokers: set[tuple[int, ...]]) -> bool:
    return not each.is_broker and each.is_both and each.nodes in brokers


def restart_text(each: NodeRestarts, scope: Scope, before: Sequence[NodeRestarts] = ()) -> str:
    """Return who restarted, how often and when, how the runs ended, and how long it was off.

    Args:
        before: The restarts that were told before.
    """
    if _is_of_process(each, {it.nodes for it in before if it.is_broker}):
        return (
            f"the process of broker {each.nodes[0]} started {counted(each.times, 'more time')}"
            f"{_when(each, scope)}, but its broker did not register{_until(each, scope)}"
        )
    who = node_names(each.nodes, is_broker=each.is_broker, is_all=each.is_all)
    together = " together" if len(each.nodes) > 1 else ""
    times = "" if each.times == 1 else f" {each.times:,} times"
    return (
        f"{who} restarted{together}{times}{_when(each, scope)}{_ended(each)}"
        f"{_without_partitions(each)}{_off(each, scope)}"
    )


def _until(each: NodeRestarts, scope: Scope) -> str:
    """Return when the broker of a process registered at last, and for how long each run wrote."""
    then = each.registered_time
    until = "" if then is None else f" before {scope.clock.text(then)}"
    least, most = each.wrote_ms_min, each.wrote_ms_max
    if least is None or most is None or most >= _START_MS_MAX:
        return until
    runs = "it" if each.times == 1 else "each run"
    wrote = lasted_between(round(least, -2), round(most, -2))
    return f"{until}; {runs} wrote for {wrote}: as after a failure at start-up"


def _when(each: NodeRestarts, scope: Scope) -> str:
    begin, end = scope.clock.text(each.from_time), scope.clock.text(each.to_time)
    return f" at {begin}" if each.times == 1 else f", {begin} to {end}"


def _ended(each: NodeRestarts) -> str:
    """Return how the runs before the restarts ended."""
    if not each.is_broker:
        return ""
    unknown = each.times - each.clean - each.unclean
    if each.times == 1:
        how = "after a" if each.clean else "without a" if each.unclean else "not known if after a"
        return f"{'' if each.clean else ','} {how} {CLEAN}{_inferred(each)}"
    if each.times == each.clean:
        return f": all by {CLEAN}{_inferred(each)}"
    if each.times == each.unclean:
        return f": all without {CLEAN}"
    if each.times == unknown:
        return f": not known if by {CLEAN}"
    clean = f"by {CLEAN}{_inferred(each)}"
    counts = ((each.clean, clean), (each.unclean, "without"), (unknown, "not known"))
    told = [f"{count:,} {how}" for count, how in counts if count]
    if not each.clean:
        told[0] += f" {CLEAN}"
    return f": {', '.join(told)}"


def _inferred(each: NodeRestarts) -> str:
    """Return of how many controlled shutdowns no record says so: others show them."""
    if not each.inferred:
        return ""
    return " (inferred)" if each.inferred == each.clean else f" ({each.inferred:,} inferred)"


def _without_partitions(each: NodeRestarts) -> str:
    """Return how many of the restarts could stop no partition."""
    count = each.without_partitions
    if not count or not each.is_broker:
        return ""
    if count == each.times:
        return f"{',' if count == 1 else ', all'} while no topic existed"
    return f"; {count:,} of them while no topic existed"


def _off(each: NodeRestarts, scope: Scope) -> str:
    in_all = "" if each.times == 1 else _of_whole(scope)
    least = most = each.off_ms
    # A node that was not shut down had been off before it was missed.
    at_least = "" if each.clean == each.times else "at least "
    if each.is_broker and each.off_ms_most is not None:
        is_close = each.off_ms_most < least + _OFF_MS_MIN
        # A log without NoOps is silent when idle, too, so it shows only when they ran last.
        is_when_idle = scope.is_silent_when_idle and each.unclean == each.times
        if not is_close and (is_when_idle or least < _OFF_MS_MIN):
            return f"; off at most {lasted(each.off_ms_most)}{in_all}"
        if is_close or not scope.is_silent_when_idle:
            most, at_least = each.off_ms_most, ""
    if max(each.off_ms_max, most) < _OFF_MS_MIN:
        return ""
    return f"; off {at_least}{lasted_between(least, most)}{in_all}{_longest(each, scope)}"


def _of_whole(scope: Scope) -> str:
    """Return the time that the whole range takes, of which a node was off for some."""
    return " in all" if scope.whole_ms is None else f" of {lasted(scope.whole_ms)}"


def _longest(each: NodeRestarts, scope: Scope) -> str:
    """Return the longest time off, unless it is told as a time without a leader."""
    told = [time.duration_ms for time in scope.found.leaderless]
    is_told = any(abs(each.off_ms_max - time) <= _SAME_MS_MAX for time in told)
    return "" if each.times == 1 or is_told else f", longest {lasted(each.off_ms_max)}"
