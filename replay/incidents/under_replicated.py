"""Partitions that are under-replicated at the end of a range: since when, why, and led by whom."""

from collections.abc import Iterable

import msgspec

from replay.image.partitions import NO_LEADER, Partition
from replay.incidents.causes import TOO_FAR_BEHIND
from replay.incidents.health import UNDER_REPLICATED
from replay.incidents.outage import Outage
from replay.incidents.replay_state import ReplayState

APART_MS_MAX = 60_000
"""Maximum time between two partitions that became under-replicated at about the same time, ms."""

DROPPED = "the leader dropped followers from the ISR"


class ShortOfReplicas(msgspec.Struct, frozen=True, kw_only=True):
    """Partitions that became under-replicated at about the same time, and still are at the end.

    Attributes:
        from_offset, from_time: Offset and append time of the first record that took replicas out of
            an ISR; None if that is before the kept history.
        to_time: Append time of the first record of the partition that was the last to become so.
        single: Number of those that have only one replica in the ISR at the end.
        leaders: The brokers that lead the partitions at the end, ascending.
        led_before: The brokers that led them when they became so, ascending.
        cause: In words; None if unknown.
    """

    partitions: int
    single: int
    from_offset: int | None
    from_time: int | None
    to_time: int | None
    leaders: tuple[int, ...]
    led_before: tuple[int, ...]
    cause: str | None


def short_of_replicas(outages: Iterable[Outage], state: ReplayState) -> tuple[ShortOfReplicas, ...]:
    """Return the partitions that are under-replicated at the end, by when that began.

    Args:
        state: The state at the end.
    """
    open_ = [each for each in outages if each.kind == UNDER_REPLICATED and each.to_offset is None]
    groups: list[list[Outage]] = []
    for outage in sorted(open_, key=_beginning):
        last = groups[-1][-1] if groups else None
        if last is None or not _is_near(last.from_time, outage.from_time):
            groups.append([])
        groups[-1].append(outage)
    return tuple([_joined(group, state) for group in groups])


def _beginning(outage: Outage) -> int:
    return -1 if outage.from_offset is None else outage.from_offset


def _is_near(before: int | None, time: int | None) -> bool:
    if before is None or time is None:
        return before is time
    return time - before <= APART_MS_MAX


def _joined(group: list[Outage], state: ReplayState) -> ShortOfReplicas:
    first = group[0]
    now = list(_partitions(group, state))
    led = {each.before.leader for each in group if each.before is not None}
    return ShortOfReplicas(
        partitions=len(group),
        single=sum(len(each.isr) == 1 for each in now),
        from_offset=first.from_offset,
        from_time=first.from_time,
        to_time=group[-1].from_time,
        leaders=tuple(sorted({each.leader for each in now if each.leader != NO_LEADER})),
        led_before=tuple(sorted(led - {NO_LEADER})),
        cause=_cause(group),
    )


def _partitions(group: Iterable[Outage], state: ReplayState) -> Iterable[Partition]:
    for outage in group:
        assert outage.after is not None, "it is an outage of a partition"
        partition = state.partition(outage.after.topic_id, outage.after.partition_id)
        if partition is not None:
            yield partition


def _cause(group: Iterable[Outage]) -> str | None:
    """Return what took the replicas out of the ISRs: the first cause that was not the leader."""
    texts = [each.cause.text for each in group if each.cause is not None]
    others = [text for text in texts if not text.endswith(TOO_FAR_BEHIND)]
    return others[0] if others else DROPPED if texts else None
