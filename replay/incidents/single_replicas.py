"""Partitions that have only one replica: they have no leader while their broker is down."""

from collections import Counter

import msgspec

from replay.image.partitions import NONE
from replay.incidents.replay_state import ReplayState

NAMED_MAX = 3
"""Number of topics whose names are kept; others are only counted."""


class SingleReplicas(msgspec.Struct, frozen=True, kw_only=True):
    """The partitions with only one replica.

    Attributes:
        topics: Number of topics that have any.
        whole: Names of the topics all of whose partitions are such, those with most first; up to
            three.
    """

    partitions: int = 0
    topics: int = 0
    whole: tuple[str, ...] = ()


def single_replicas(state: ReplayState) -> SingleReplicas:
    """Return the partitions with only one replica, without those that are being removed."""
    single = Counter(
        each.topic_id
        for each in state.all_partitions()
        if len(each.replicas) == 1 and each.mode != NONE
    )
    whole = [each for each, count in single.items() if count == len(state.partitions(each))]
    ordered = sorted((-single[each], state.topic_name(each)) for each in whole)
    return SingleReplicas(
        partitions=single.total(),
        topics=len(single),
        whole=tuple([name for _, name in ordered[:NAMED_MAX]]),
    )
