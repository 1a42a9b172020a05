"""The states of a replica, and which may follow which.

Only the deletion's states are written to the log (ReplicaDeletionRecord); the others follow from
the partition and its broker: a replica is online while its broker serves it, else offline.

Source: Kafka's ReplicaStateMachine (KIP-694 uses it for single partitions); section 17 of its
rules.
"""

from collections.abc import Mapping
from itertools import pairwise

NEW = 1
ONLINE = 2
OFFLINE = 3
DELETION_STARTED = 4
DELETION_SUCCESSFUL = 5
DELETION_INELIGIBLE = 6
NON_EXISTENT = 7

VALID_PREVIOUS: Mapping[int, frozenset[int]] = {
    NEW: frozenset({NON_EXISTENT}),
    ONLINE: frozenset({NEW, ONLINE, OFFLINE, DELETION_INELIGIBLE}),
    OFFLINE: frozenset({NEW, ONLINE, OFFLINE, DELETION_INELIGIBLE}),
    DELETION_STARTED: frozenset({OFFLINE}),
    DELETION_SUCCESSFUL: frozenset({DELETION_STARTED}),
    DELETION_INELIGIBLE: frozenset({OFFLINE, DELETION_STARTED}),
    NON_EXISTENT: frozenset({DELETION_SUCCESSFUL}),
}


def walk(*states: int) -> int:
    """Go through states in order and return the last; only that one needs to be written."""
    for before, after in pairwise(states):
        assert before in VALID_PREVIOUS[after], f"a replica cannot go from {before} to {after}"
    return states[-1]
