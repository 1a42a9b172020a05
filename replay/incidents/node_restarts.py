"""Restarts of the same nodes: how often they restarted together, how runs ended, and times off."""

from collections.abc import Sequence
from itertools import pairwise

import msgspec

from replay.incidents.restarts import Restart, Together

TIMES_MAX = 3
"""Maximum number of restarts that ended alike whose times are kept; more are only counted."""


class NodeRestarts(msgspec.Struct, frozen=True, kw_only=True):
    """The restarts of the same node or nodes.

    Attributes:
        nodes: Ids of the nodes, which restarted together each time.
        is_broker: True if they are brokers, also if they are controllers as well.
        is_all: True if they were all registered brokers, each time.
        is_both: True if they are brokers and controllers, each in one process.
        times: How often they restarted.
        clean: How often after controlled shutdowns.
        inferred: How often of those no record says so, but it follows from others.
        unclean: How often at least one of them was not shut down: after a crash, a kill or a hang.
            For the rest it is not known.
        without_partitions: How often while no topic existed.
        harmless: How often of those for which it is not known, while no topic existed.
        clean_ends: When they began the controlled shutdowns, ms since 1970; empty if there are more
            than three.
        unclean_starts: When they were back otherwise, likewise.
        from_offset, from_time: Offset and append time of the first record that shows a restart.
        to_offset, to_time: Those of the last one.
        down_offset: Offset of the record by which the first of them went down, or which shows first
            that its process was back.
        apart_ms_min, apart_ms_max: Shortest and longest time between two restarts; 0 for one.
        off_ms, off_ms_max: How long all of them were off, in all and at most, as far as the log
            shows it.
        wrote_ms_min, wrote_ms_max: Of controllers: the shortest and the longest time from the first
            to the last record of the term that shows a restart; None if one of them is not known.
        registered_time: When a broker of the same node registered next, ms since 1970; None if
            none did.
        off_ms_most: How long they were off in all if they stopped right after the last record
            before each silence of the log; None if the log is not silent before each restart.
    """

    nodes: tuple[int, ...]
    is_broker: bool
    is_all: bool
    is_both: bool
    times: int
    clean: int
    inferred: int
    unclean: int
    without_partitions: int
    harmless: int
    clean_ends: tuple[int, ...]
    unclean_starts: tuple[int, ...]
    from_offset: int
    from_time: int
    to_offset: int
    to_time: int
    down_offset: int
    apart_ms_min: int
    apart_ms_max: int
    off_ms: int
    off_ms_max: int
    off_ms_most: int | None
    wrote_ms_min: int | None = None
    wrote_ms_max: int | None = None
    registered_time: int | None = None


def restarts_of(found: Sequence[Together]) -> tuple[NodeRestarts, ...]:
    """Return the restarts by the nodes that restarted together, those with most first."""
    by_nodes: dict[tuple[bool, tuple[int, ...]], list[Together]] = {}
    for each in found:
        by_nodes.setdefault((each.is_broker, each.nodes), []).append(each)
    registered = [it for each in found if each.is_broker for it in each.restarts]
    summed = [_summed(nodes, each, registered) for (_, nodes), each in by_nodes.items()]
    return tuple(sorted(summed, key=lambda each: (-each.times, each.from_offset)))


def _summed(
    nodes: tuple[int, ...], found: Sequence[Together], registered: Sequence[Restart]
) -> NodeRestarts:
    first, last = found[0].restarts[0], found[-1].restarts[-1]
    begins = [each.restarts[0].time for each in found]
    apart = [max(0, after - before) for before, after in pairwise(begins)]
    ends = [0, *(each.restarts[-1].time for each in found)]
    off = [each.off_ms(since) for each, since in zip(found, ends, strict=False)]
    wrote = [each.wrote_ms for each in found if each.wrote_ms is not None]
    is_known = len(wrote) == len(found)
    then = (each.time for each in registered if each.offset > last.offset and each.node_id in nodes)
    return NodeRestarts(
        nodes=nodes,
        is_broker=found[0].is_broker,
        is_all=all(each.is_all for each in found),
        is_both=all(each.is_both for each in found),
        times=len(found),
        clean=sum(each.is_clean is True for each in found),
        inferred=sum(each.is_inferred for each in found),
        unclean=sum(each.is_clean is False for each in found),
        without_partitions=sum(not each.partitions for each in found),
        harmless=sum(each.is_clean is None and not each.partitions for each in found),
        clean_ends=_few([each.down_time for each in found if each.is_clean]),
        unclean_starts=_few([each.restarts[0].time for each in found if each.is_clean is False]),
        from_offset=first.offset,
        from_time=first.time,
        to_offset=last.offset,
        to_time=last.time,
        down_offset=found[0].down_offset,
        apart_ms_min=min(apart, default=0),
        apart_ms_max=max(apart, default=0),
        off_ms=sum(off),
        off_ms_max=max(off),
        wrote_ms_min=min(wrote) if is_known else None,
        wrote_ms_max=max(wrote) if is_known else None,
        registered_time=None if found[0].is_broker else next(then, None),
        off_ms_most=_sum(
            [each.off_ms_most(since) for each, since in zip(found, ends, strict=False)]
        ),
    )


def _sum(times: Sequence[int | None]) -> int | None:
    known = [each for each in times if each is not None]
    return sum(known) if len(known) == len(times) else None


def _few(times: Sequence[int]) -> tuple[int, ...]:
    return tuple(times) if len(times) <= TIMES_MAX else ()
