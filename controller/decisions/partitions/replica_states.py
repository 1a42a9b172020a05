"""The states of a replica and the legal transitions.

Only the states of a deletion are written to the log (ReplicaDeletionRecord). The others are derived
from the partition and its broker: a replica is online while its broker serves it, else offline.

Source: Kafka's ReplicaStateMachine (KIP-694 uses it for single partitions); docs/kafka_rules.md,
section 11.
"""

from controller.decisions.partitions.directories import MIGRATING, is_online
from controller.decisions.partitions.partition_states import is_new
from controller.decisions.partitions.state_machine import StateMachine
from records.errors import RequestError
from replay.image.metadata import MetadataImage
from replay.image.partitions import NONE, Partition

NEW = 1
ONLINE = 2
OFFLINE = 3
DELETION_STARTED = 4
DELETION_SUCCESSFUL = 5
DELETION_INELIGIBLE = 6
NON_EXISTENT = 7

REPLICAS = StateMachine(
    subject="a replica",
    names={
        NEW: "NewReplica",
        ONLINE: "OnlineReplica",
        OFFLINE: "OfflineReplica",
        DELETION_STARTED: "ReplicaDeletionStarted",
        DELETION_SUCCESSFUL: "ReplicaDeletionSuccessful",
        DELETION_INELIGIBLE: "ReplicaDeletionIneligible",
        NON_EXISTENT: "NonExistentReplica",
    },
    valid_previous={
        NEW: frozenset({NON_EXISTENT}),
        ONLINE: frozenset({NEW, ONLINE, OFFLINE, DELETION_INELIGIBLE}),
        OFFLINE: frozenset({NEW, ONLINE, OFFLINE, DELETION_INELIGIBLE}),
        DELETION_STARTED: frozenset({OFFLINE}),
        DELETION_SUCCESSFUL: frozenset({DELETION_STARTED}),
        DELETION_INELIGIBLE: frozenset({OFFLINE, DELETION_STARTED}),
        NON_EXISTENT: frozenset({DELETION_SUCCESSFUL}),
    },
    absent=NON_EXISTENT,
)

walk = REPLICAS.walk

# Intermediate states need no record: a replica whose deletion failed goes through offline before
# the retry, and a deleted one need not have been tracked.
_UNSAID = frozenset({OFFLINE, DELETION_SUCCESSFUL})
_WRITTEN = frozenset({DELETION_STARTED, DELETION_SUCCESSFUL, DELETION_INELIGIBLE, NON_EXISTENT})


def replica_state(image: MetadataImage, partition: Partition, broker_id: int) -> int:
    """Return the state of a replica that is in the image and not being deleted."""
    if is_new(partition):
        return NEW
    broker = image.broker(broker_id)
    directories = dict(zip(partition.replicas, partition.directories, strict=False))
    serves = (
        broker is not None
        and not broker.fenced
        and partition.mode != NONE
        and is_online(broker, directories.get(broker_id, MIGRATING))
    )
    return ONLINE if serves else OFFLINE


def check_deletion(before: int | None, after: int, *, registered: bool) -> None:
    """Check the transition of a replica's deletion.

    Args:
        before: The last recorded state; None if the deletion is not tracked.
        registered: True if the broker is registered.

    Raises:
        RequestError: INVALID_REQUEST.
    """
    if after not in _WRITTEN:
        raise RequestError(
            "INVALID_REQUEST", f"{REPLICAS.name(after)} is not a state of a replica's deletion"
        )
    if before is not None and after == NON_EXISTENT and not registered:
        return
    start = OFFLINE if before is None else before
    unsaid = any(REPLICAS.allows(start, s) and REPLICAS.allows(s, after) for s in _UNSAID)
    if not unsaid:
        REPLICAS.check(start, after)
