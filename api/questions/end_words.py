"""How a range ends, in words: its partitions and its brokers."""

from collections.abc import Sequence
from itertools import groupby

from api.questions.clauses import CLEAN, Clause, Scope, is_shut_down, listed
from records.text import duration_text
from replay.incidents.overview import Overview
from replay.incidents.under_replicated import ShortOfReplicas

_SHORT_MAX = 3
"""Number of times at which partitions became under-replicated; others are only counted."""

_APART_MS_MIN = 60_000
"""Minimum time from the first to the last of some partitions that became under-replicated for both
to be told."""

_RESTARTED_MS_MIN = 60_000
"""Minimum time since a restart after which followers should be back."""


def of_end(scope: Scope) -> Clause:
    """Return the clause about the partitions at the end."""
    found, health = scope.found, scope.found.health
    if not health.partitions:
        return Clause(about="end", text="ends without partitions")
    of = f"of {health.partitions:,} partitions"
    is_bad = bool(health.leaderless + health.under_replicated)
    if health.leaderless:
        text = f"ends with {health.leaderless:,} {of} without a leader{_leaderless_since(scope)}"
        is_bad = not is_shut_down(found)
    elif health.under_replicated:
        short = f"{health.under_replicated:,} {of} under-replicated"
        text = f"ends with {short}{_single(found)}{_short(found.short, scope)}{_still(found)}"
    elif health.partitions == 1:
        text = "ends with its only partition healthy"
    else:
        text = f"ends with all {health.partitions:,} partitions healthy"
    return Clause(about="end", text=text, is_bad=is_bad)


def _leaderless_since(scope: Scope) -> str:
    """Return since when there are partitions without a leader at the end."""
    last = scope.found.leaderless[-1] if scope.found.leaderless else None
    if last is None or last.from_time is None or last.to_time is not None:
        return ""
    return (
        f" since {scope.clock.text(last.from_time)}, {duration_text(last.duration_ms)} before "
        f"{scope.end}"
    )


def _single(found: Overview) -> str:
    """Return how many partitions would stop with one more failure."""
    single, all_ = sum(each.single for each in found.short), found.health.under_replicated
    if not single:
        return ""
    many = "all" if single == all_ else f"{single:,}"
    return f", {many} with one in-sync replica, so that one more failure stops them"


def _short(groups: Sequence[ShortOfReplicas], scope: Scope) -> str:
    if not groups:
        return ""
    alike = groupby(groups[:_SHORT_MAX], key=lambda each: (each.leaders, each.cause))
    told = [_group(list(some), scope) for _, some in alike]
    others = sum(each.partitions for each in groups[_SHORT_MAX:])
    if others:
        told.append(f"{others:,} later")
    return f": {', '.join(told)}"


def _group(alike: Sequence[ShortOfReplicas], scope: Scope) -> str:
    first = alike[0]
    led = f"led by {listed(first.leaders)}" if first.leaders else "without a leader"
    cause = "" if first.cause is None else f"; {first.cause}"
    since = [f"{each.partitions:,} since {_since(each, scope)}" for each in alike]
    return f"{listed(since)} ({led}{cause})"


def _since(each: ShortOfReplicas, scope: Scope) -> str:
    if each.from_time is None or each.to_time is None:
        return "before the log"
    since = scope.clock.text(each.from_time)
    if each.to_time - each.from_time < _APART_MS_MIN:
        return since
    return f"{since} to {scope.clock.text(each.to_time)}"


def _still(found: Overview) -> str:
    """Return how long ago brokers restarted last, if all are up and followers should be back."""
    restarts = [each.restarts[-1].time for each in found.restarts if each.is_broker]
    since = found.provenance.timestamp - max(restarts, default=found.provenance.timestamp)
    if since < _RESTARTED_MS_MIN or found.fenced or found.shutting_down:
        return ""
    return f"; still so {duration_text(since)} after the last restart"


def of_brokers(scope: Scope) -> Clause:
    """Return the clause about the brokers at the end."""
    found = scope.found
    brokers, fenced = found.brokers, found.fenced
    if not brokers:
        return Clause(about="brokers", text="no broker is registered")
    who = "the only broker is" if brokers == 1 else f"all {brokers:,} brokers are"
    if is_shut_down(found):
        now = "off" if fenced == brokers else "shutting down"
        if 0 < fenced < brokers:
            now += f", {fenced:,} of them off"
        return Clause(about="brokers", text=f"{who} {now} ({CLEAN}, on purpose)")
    if brokers == 1:
        text = f"{who} {'fenced' if fenced else 'up'}"
    elif fenced:
        off = found.shut_down - found.shutting_down
        clean = f", {off:,} by {CLEAN}, on purpose" if off else ""
        more = f"; {found.shutting_down:,} shutting down" if found.shutting_down else ""
        text = f"{fenced:,} of {brokers:,} brokers fenced{clean}{more}"
    elif found.shutting_down:
        text = f"{found.shutting_down:,} of {brokers:,} brokers shutting down"
    else:
        text = f"all {brokers:,} brokers up"
    return Clause(about="brokers", text=text, is_bad=bool(fenced or found.shutting_down))
