"""How long partitions had no leader in only one of two futures: in the log, or in a fork."""

from collections.abc import Iterable

import msgspec

from controller.forks.comparison import Parting
from replay.image.partitions import NO_LEADER, NONE


class Leaderless(msgspec.Struct, frozen=True, kw_only=True):
    """The number of partitions without a leader, and for how long in all."""

    partitions: int
    duration_ms: int


class OnlyLeaderless(msgspec.Struct, frozen=True, kw_only=True):
    """The partitions that had no leader while they had one in the other future."""

    log: Leaderless
    fork: Leaderless


def only_leaderless(partings: Iterable[Parting], end_ms: int) -> OnlyLeaderless:
    """Return how long partitions had no leader in only one future.

    Args:
        end_ms: Time up to which differences that last are counted, ms since 1970.
    """
    partings = tuple(partings)
    # Without a leader, as planned.
    going = {
        each.object
        for each in partings
        if each.field == "mode" and NONE in (each.happened, each.forked)
    }
    of_leaders = [
        each
        for each in partings
        if each.field == "leader"
        and each.object not in going
        and None not in (each.happened, each.forked)
    ]
    return OnlyLeaderless(
        log=_sum((each for each in of_leaders if each.happened == NO_LEADER), end_ms),
        fork=_sum((each for each in of_leaders if each.forked == NO_LEADER), end_ms),
    )


def _sum(partings: Iterable[Parting], end_ms: int) -> Leaderless:
    partings = tuple(partings)
    ends = [end_ms if each.to_time is None else each.to_time for each in partings]
    return Leaderless(
        partitions=len({each.object for each in partings}),
        duration_ms=sum(
            max(0, end - each.from_time) for each, end in zip(partings, ends, strict=True)
        ),
    )
