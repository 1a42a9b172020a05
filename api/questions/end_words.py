"""How a range ends, in words: its partitions and its brokers."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from msgspec.structs import replace

from api.questions.clauses import CLEAN, Clause, Scope, counted, is_shut_down, lasted, listed
from replay.incidents.addresses import SharedAddress
from replay.incidents.overview import Overview
from replay.incidents.under_replicated import DROPPED, ShortOfReplicas

_HEALTHY = " healthy"

_SHORT_MAX = 3
"""Number of times at which partitions became under-replicated; others are only counted."""

_APART_MS_MIN = 60_000
"""Minimum time from the first to the last of some partitions that became under-replicated for both
to be told."""

_RESTARTED_MS_MIN = 60_000
"""Minimum time since a restart after which followers should be back."""


def of_ends(scope: Scope) -> Iterator[Clause]:
    """Yield the clauses about the end: its partitions, what could stop them, and its brokers."""
    partitions: Clause = _of_end(scope)
    brokers: Clause | None = _of_brokers(scope)
    is_healthy = partitions.text.endswith(_HEALTHY)
    if is_healthy and _are_up(scope.found):
        partitions = replace(partitions, text=f"{partitions.text} and {_up(scope.found.brokers)}")
        brokers = None
    yield partitions
    yield from _of_replicas(scope.found)
    if brokers is not None:
        yield brokers


def _are_up(found: Overview) -> bool:
    return found.brokers > 0 and not found.fenced and not found.shut_down


def _up(brokers: int) -> str:
    return "its only broker up" if brokers == 1 else f"all {brokers:,} brokers up"


def _of_replicas(found: Overview) -> Iterator[Clause]:
    """Yield the clause about partitions with one replica, if other brokers could have more."""
    single, partitions = found.single, found.health.partitions
    if found.brokers < 2 or not single.partitions:
        return
    if partitions == single.partitions:
        which = f"all {partitions:,} partitions have one replica"
    else:
        which = f"{single.partitions:,} of {partitions:,} partitions have one replica"
        others = single.topics - len(single.whole)
        if single.whole:
            more = f", and of {counted(others, 'more topic')}" if others else ""
            which += f" (all of {listed(single.whole)}{more})"
    yield Clause(
        about="replicas",
        text=f"{which}: one broker down stops those on it",
        is_bad=True,
    )


def _of_end(scope: Scope) -> Clause:
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
        text = f"ends with {short}{_single(found)}{_short(scope)}{_still(found)}"
    elif health.partitions == 1:
        text = f"ends with its only partition{_HEALTHY}"
    else:
        text = f"ends with all {health.partitions:,} partitions{_HEALTHY}"
    return Clause(about="end", text=text, is_bad=is_bad)


def _leaderless_since(scope: Scope) -> str:
    """Return since when there are partitions without a leader at the end."""
    last = scope.found.leaderless[-1] if scope.found.leaderless else None
    if last is None or last.from_time is None or last.to_time is not None:
        return ""
    return (
        f" since {scope.clock.text(last.from_time)}, {lasted(last.duration_ms)} before {scope.end}"
    )


def _single(found: Overview) -> str:
    """Return how many partitions have only one replica in sync."""
    single, all_ = sum(each.single for each in found.short), found.health.under_replicated
    if not single:
        return ""
    many = "all" if single == all_ else f"{single:,}"
    return f", {many} with one in-sync replica, so each stops with its leader"


def _short(scope: Scope) -> str:
    groups = scope.found.short
    if not groups:
        return ""
    alike = groupby(groups[:_SHORT_MAX], key=lambda each: (each.leaders, each.cause))
    told = [_group(list(some), scope) for _, some in alike]
    others = sum(each.partitions for each in groups[_SHORT_MAX:])
    if others:
        told.append(f"{others:,} later")
    return f": {', '.join(told)}{_explained(scope.found)}"


def _explained(found: Overview) -> str:
    """Return what an address that several brokers advertise has to do with missing followers."""
    for shared in found.shared:
        dropped = [each for each in found.short if _is_by_address(each, shared)]
        if not dropped:
            continue
        others = [each for each in found.short if each not in dropped]
        led = {node for each in others for node in each.led_before}
        reached = set(shared.brokers) - {node for each in dropped for node in each.led_before}
        if len(led) == 1 and led == reached and all(_is_own_stop(each) for each in others):
            (node,) = led
            return (
                f"; only partitions led by broker {node} stayed in sync while it ran: the shared "
                f"address reaches broker {node}"
            )
        return "; the shared address (above) would explain it"
    return ""


def _is_by_address(each: ShortOfReplicas, shared: SharedAddress) -> bool:
    """True if leaders that advertise a shared address dropped followers."""
    is_after = shared.from_offset is None or (each.from_offset or 0) > shared.from_offset
    is_led = bool(each.led_before) and set(each.led_before) <= set(shared.brokers)
    return shared.to_offset is None and is_after and is_led and each.cause == DROPPED


def _is_own_stop(each: ShortOfReplicas) -> bool:
    """True if partitions became short of replicas as the broker that led them went down."""
    return each.cause is not None and any(
        each.cause.startswith(f"broker {node} ") for node in each.led_before
    )


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
    return f"; still so {lasted(since)} after the last restart"


def _of_brokers(scope: Scope) -> Clause:
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
