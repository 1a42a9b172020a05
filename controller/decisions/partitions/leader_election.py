"""Leader election: a pure choice among a partition's replicas.

A valid leader is in the ISR (or, if the ISR is empty, among the eligible leader replicas) and
acceptable: its broker is active and its log directory online.

Source: KIP-631 (elections), KIP-966 (eligible leader replicas), docs/kafka_rules.md, section 5.
"""

import enum
from collections.abc import Callable, Sequence

import msgspec

from replay.image.partitions import NO_LEADER


class Election(enum.Enum):
    """Kinds of elections."""

    # Prefer the first replica, even over a leader that is valid.
    PREFERRED = "preferred"
    # Keep a valid leader, else take a valid replica; an unclean one if the topic allows it.
    ONLINE = "online"
    # As ONLINE, and prefer losing records to having no leader, whatever the topic allows.
    UNCLEAN = "unclean"


class Candidates(msgspec.Struct, frozen=True, kw_only=True):
    """The partition's state for the election.

    `last_known_leader` is the last leader before both the ISR and the eligible replicas became
    empty; None if it is not known or must not be used.
    """

    replicas: Sequence[int]
    isr: Sequence[int]
    leader: int
    eligible: Sequence[int] = ()
    last_known_leader: int | None = None


class Elected(msgspec.Struct, frozen=True):
    """Result of an election.

    `leader` is -1 if no replica can lead. `unclean` is True if records may be lost.
    """

    leader: int
    unclean: bool = False


def elect(
    candidates: Candidates,
    election: Election,
    acceptable: Callable[[int], bool],
    allows_unclean: Callable[[], bool],
) -> Elected:
    """Choose the leader of a partition; return it, and whether the election is unclean.

    Args:
        acceptable: Returns True for brokers that may lead.
        allows_unclean: Returns True if the topic allows unclean elections.
    """

    def valid(replica: int) -> bool:
        members = candidates.isr or candidates.eligible
        return replica in members and acceptable(replica)

    for replica in _by_preference(candidates, election):
        if valid(replica):
            return Elected(replica)
    last_known = candidates.last_known_leader
    nobody_left = not candidates.isr and not candidates.eligible
    # Kafka 4.0 checks neither: that its broker is up, and that it still is a replica after a move.
    is_left = last_known in candidates.replicas
    if nobody_left and last_known is not None and is_left and acceptable(last_known):
        return Elected(last_known, unclean=True)
    if election is Election.UNCLEAN or (election is Election.ONLINE and allows_unclean()):
        for replica in candidates.replicas:
            if acceptable(replica):
                return Elected(replica, unclean=True)
    return Elected(NO_LEADER)


def _by_preference(candidates: Candidates, election: Election) -> Sequence[int]:
    """Return the replicas in order of preference, for the caller to take the first valid one.

    May contain -1 (no leader), which is never valid.
    """
    if election is Election.PREFERRED:
        return (candidates.replicas[0], candidates.leader, *candidates.replicas[1:])
    return (candidates.leader, *candidates.replicas)
