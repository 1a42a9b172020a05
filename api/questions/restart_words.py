"""Restarts of brokers and controllers, in words."""

from collections.abc import Iterator, Sequence

from api.questions.clauses import CLEAN, Clause, Scope, counted, listed, node_names
from records.text import duration_text
from replay.incidents.node_restarts import NodeRestarts

_RESTARTS_MAX = 3
"""Number of clauses about restarts; other restarts are only counted."""

_OFF_MS_MIN = 1_000
"""Minimum time off that is told."""


def of_restarts(scope: Scope, restarts: Sequence[NodeRestarts]) -> Iterator[Clause]:
    """Yield the clauses about restarts, those of nodes that restarted most often first."""
    ordered = _processes_last(restarts)
    told = [restart_text(each, scope, ordered[:number]) for number, each in enumerate(ordered)]
    for number, each in enumerate(ordered[:_RESTARTS_MAX]):
        yield Clause(
            about="restarts",
            text=f"{told[number]}{_harmless(each, scope) if number == 0 else ''}",
            is_bad=each.clean < each.times if each.is_broker else each.times > 1,
            from_offset=each.down_offset,
            to_offset=each.to_offset,
        )
    others = sum(each.times for each in ordered[_RESTARTS_MAX:])
    if others:
        yield Clause(about="restarts", text=f"{counted(others, 'more restart')} of other nodes")


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
            f"{_when(each, scope)}, but its broker did not register"
        )
    who = node_names(each.nodes, is_broker=each.is_broker, is_all=each.is_all)
    if each.is_broker and each.is_both:
        who += f" (controller{'' if len(each.nodes) == 1 else 's'}, too)"
    together = " together" if len(each.nodes) > 1 else ""
    times = "" if each.times == 1 else f" {each.times:,} times"
    when = _when(each, scope)
    return f"{who} restarted{together}{times}{when}{_ended(each, scope)}{_off(each, scope)}"


def _when(each: NodeRestarts, scope: Scope) -> str:
    if each.times == 1:
        return f" at {scope.clock.text(each.from_time)}"
    least, most = duration_text(each.apart_ms_min), duration_text(each.apart_ms_max)
    every = f"{least} apart" if least == most else f"every {least} to {most}"
    begin, end = scope.clock.text(each.from_time), scope.clock.text(each.to_time)
    return f" from {begin} to {end}, {every}"


def _ended(each: NodeRestarts, scope: Scope) -> str:
    """Return how the runs before the restarts ended."""
    if not each.is_broker:
        return ""
    if each.clean == each.times:
        return f", {'' if each.times == 1 else 'each '}after a {CLEAN}"
    unknown = each.times - each.clean - each.unclean
    if each.times in (each.unclean, unknown):
        how = "without" if each.unclean else "not known if after"
        return f", {how} a {CLEAN}"
    parts = [
        f"{count:,} {how}{_at(times, scope)}"
        for count, how, times in (
            (each.clean, f"after a {CLEAN}", each.clean_ends),
            (each.unclean, "without" if each.clean else f"without a {CLEAN}", each.unclean_starts),
            (unknown, "not known", ()),
        )
        if count
    ]
    return f" ({'; '.join(parts)})"


def _at(times: Sequence[int], scope: Scope) -> str:
    return f" at {listed([scope.clock.text(each) for each in times])}" if times else ""


def _off(each: NodeRestarts, scope: Scope) -> str:
    in_all = "" if each.times == 1 else " in all"
    most, silent = each.off_ms_most, ""
    if each.is_broker and most is not None and most >= each.off_ms + _OFF_MS_MIN:
        # A log without NoOps is silent when idle, too, so it shows only when they ran last.
        is_when_idle = scope.is_silent_when_idle and each.unclean == each.times
        if is_when_idle or each.off_ms < _OFF_MS_MIN:
            return f"; off at most {duration_text(most)}{in_all}"
        if not scope.is_silent_when_idle:
            silent = f" ({duration_text(most)} with the log's silence before)"
    if each.off_ms_max < _OFF_MS_MIN:
        return ""
    # A node that was not shut down had been off before it was missed.
    at_least = "" if each.clean == each.times else "at least "
    longest = "" if each.times == 1 else f", longest {duration_text(each.off_ms_max)}"
    return f"; off {at_least}{duration_text(each.off_ms)}{in_all}{silent}{longest}"


def _harmless(each: NodeRestarts, scope: Scope) -> str:
    """Return how many restarts were before the first topic."""
    topics = scope.found.topics
    if topics.from_offset is None or topics.from_time is None:
        return ""
    before = [
        it
        for it in scope.found.restarts
        if (it.nodes, it.is_broker) == (each.nodes, each.is_broker)
        and it.restarts[-1].offset < topics.from_offset
    ]
    if not before:
        return ""
    is_whole = len(before) == each.times
    many = "it" if each.times == 1 else "they" if is_whole else f"{len(before):,} of them"
    first = scope.clock.text(topics.from_time)
    return f"; no topic existed before {first}, so {many} hurt no partition"
