"""Addresses that brokers advertise, in words."""

from collections.abc import Iterator, Sequence

from api.questions.clauses import Clause, Scope, node_names
from replay.incidents.addresses import Listener, ListenerChange, SharedAddress

_SHARED_MAX = 2
"""Number of shared addresses told; others are only counted."""

_CHANGES_MAX = 3
"""Number of changes of listeners told; others are only counted."""

_TOGETHER_MS_MAX = 60_000
"""Maximum time between the first and the last of several changes alike that are told as one."""


def of_addresses(scope: Scope) -> Iterator[Clause]:
    """Yield a clause for each address that several brokers advertise."""
    shared = sorted(scope.found.shared, key=lambda each: each.to_offset is not None)
    for each in shared[:_SHARED_MAX]:
        yield Clause(
            about="addresses",
            text=_shared(each, scope),
            is_bad=True,
            from_offset=each.from_offset,
            to_offset=each.to_offset,
        )
    if len(shared) > _SHARED_MAX:
        more = len(shared) - _SHARED_MAX
        yield Clause(about="addresses", text=f"{more:,} more shared addresses", is_bad=True)


def _shared(each: SharedAddress, scope: Scope) -> str:
    is_all = each.to_time is None and len(each.brokers) == scope.found.brokers
    who = node_names(each.brokers, is_broker=True, is_all=is_all)
    where = f"one address, {each.address} ({', '.join(each.listeners)})"
    begin = None if each.from_time is None else scope.clock.text(each.from_time)
    if each.to_time is not None:
        since = f" from {begin}" if begin else ""
        return f"{who} advertised {where},{since} to {scope.clock.text(each.to_time)}"
    since = f", since {begin}{_before(each, scope)}" if begin else ""
    return f"{who} advertise {where}{since}: connections may reach the wrong one"


def _before(each: SharedAddress, scope: Scope) -> str:
    """Return what the brokers advertised before that came to an address which others had."""
    host = each.address.rpartition(":")[0]
    told = []
    for change in scope.found.listeners:
        if not _is_shared(change, [each]):
            continue
        old = [listener.address.removeprefix(host) for listener in change.removed]
        told.append(f"{change.broker} at {', '.join(old)}")
    return f" (before, {', '.join(told[:_CHANGES_MAX])})" if told else ""


def of_listeners(scope: Scope) -> Iterator[Clause]:
    """Yield the clause about listeners that changed at registrations, if any did.

    Those by which an address came to be shared are told with that.
    """
    shared = scope.found.shared
    groups = _alike([each for each in scope.found.listeners if not _is_shared(each, shared)])
    if not groups:
        return
    told = [_changed(each, scope) for each in groups[:_CHANGES_MAX]]
    more = sum(len(each) for each in groups[_CHANGES_MAX:])
    if more:
        told.append(f"{more:,} more")
    yield Clause(
        about="listeners",
        text=f"listener changed {'; '.join(told)}",
        from_offset=groups[0][0].offset,
        to_offset=groups[-1][-1].offset,
    )


def _is_shared(change: ListenerChange, shared: Sequence[SharedAddress]) -> bool:
    """True if a change gave a broker only addresses that were shared from about then on."""
    began = {
        each.address
        for each in shared
        if each.from_time is not None and 0 <= change.time - each.from_time <= _TOGETHER_MS_MAX
    }
    return bool(change.added) and began.issuperset(each.address for each in change.added)


def _alike(changes: Sequence[ListenerChange]) -> list[list[ListenerChange]]:
    """Return the changes by what changed, if that was at about the same time."""
    found: list[list[ListenerChange]] = []
    for each in changes:
        same = [
            group
            for group in found
            if _what(group[0]) == _what(each) and each.time - group[0].time <= _TOGETHER_MS_MAX
        ]
        if same:
            same[-1].append(each)
        else:
            found.append([each])
    return found


def _changed(group: Sequence[ListenerChange], scope: Scope) -> str:
    nodes = sorted({each.broker for each in group})
    who = (
        "" if scope.found.brokers == 1 else f" ({node_names(nodes, is_broker=True, is_all=False)})"
    )
    return f"{_what(group[0])} at {scope.clock.text(group[0].time)}{who}"


def _what(change: ListenerChange) -> str:
    """Return what changed: only what differs, if one listener has another's place."""
    removed, added = change.removed, change.added
    if len(removed) == len(added) == 1:
        old, new = removed[0], added[0]
        if old.name == new.name and old.protocol == new.protocol:
            host, _, port = new.address.rpartition(":")
            was_host, _, was_port = old.address.rpartition(":")
            if host == was_host:
                return f"port {was_port} -> {port} of {host}"
            return f"{old.address} -> {new.address}"
        if old.address == new.address:
            return f"{_kind(old, new)} -> {_kind(new, old)}"
    return f"{_all(removed)} -> {_all(added)}"


def _kind(each: Listener, other: Listener) -> str:
    """Return a listener's name, with its protocol if only that makes the difference clear."""
    is_clear = each.protocol == other.protocol or each.protocol == each.name
    return each.name if is_clear else f"{each.name} ({each.protocol})"


def _all(listeners: Sequence[Listener]) -> str:
    texts = [f"{_kind(each, each)}://{each.address}" for each in listeners]
    return ", ".join(texts) or "none"
