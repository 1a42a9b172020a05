"""Replicas of new partitions: placed by the controller, or named by hand and checked."""

from collections.abc import Iterable, Sequence

import msgspec

from controller.decisions.context import Context
from controller.decisions.directories import default_directory
from controller.decisions.levels import DIRECTORIES_LEVEL
from controller.decisions.partition_change import RECOVERED
from controller.placement.placer import UsableBroker
from controller.placement.registry import placer_named
from controller.refusals import invalid_assignment, invalid_replication_factor
from records.base import Uuid
from records.partitions import PartitionRecord


class Assignment(msgspec.Struct, frozen=True, gc=False):
    """Replicas of one partition, named by hand, the preferred leader first."""

    partition_id: int
    broker_ids: tuple[int, ...]


class Placement:
    """Places the new partitions of one request.

    What it has placed counts as load for what comes after in the same request, before any of it
    stands in the image.
    """

    def __init__(self, context: Context, name: str | None = None) -> None:
        """Begin a request.

        Args:
            name: Which placement; None is the controller's own.

        Raises:
            RequestError: INVALID_REQUEST, there is no placement of that name.
        """
        placer = context.settings.placer if name is None else placer_named(name)
        self._run = placer.start(usable_brokers(context), context.rng)
        # Looked up once: a request may make thousands of records.
        brokers = list(context.image.brokers())
        self._active = frozenset(
            [b.broker_id for b in brokers if not b.fenced and not b.in_controlled_shutdown]
        )
        self._directories: dict[int, Uuid] | None = None
        if context.metadata_version >= DIRECTORIES_LEVEL:
            self._directories = {b.broker_id: default_directory(b) for b in brokers}

    def place(
        self, *, partitions: int, replication_factor: int, start_partition_id: int = 0
    ) -> list[Assignment]:
        """Choose replicas.

        Raises:
            RequestError: INVALID_PARTITIONS, INVALID_REPLICATION_FACTOR, or
                INVALID_REPLICA_ASSIGNMENT.
        """
        replicas = self._run.place(partitions, replication_factor, start_partition_id)
        assignments = [Assignment(start_partition_id + n, ids) for n, ids in enumerate(replicas)]
        if any(self._active.isdisjoint(assignment.broker_ids) for assignment in assignments):
            raise invalid_replication_factor("all brokers are fenced or shutting down")
        return assignments

    def count(self, assignments: Iterable[Assignment]) -> None:
        """Count partitions of the request that were named by hand."""
        for assignment in assignments:
            self._run.count(assignment.broker_ids)

    def record(self, topic_id: Uuid, assignment: Assignment) -> PartitionRecord:
        """Return the record of a new partition, led by the first of its replicas that is active."""
        active, directories = self._active, self._directories
        isr = tuple([b for b in assignment.broker_ids if b in active])
        return PartitionRecord(
            partition_id=assignment.partition_id,
            topic_id=topic_id,
            replicas=assignment.broker_ids,
            isr=isr,
            removing_replicas=(),
            adding_replicas=(),
            leader=isr[0],
            leader_recovery_state=RECOVERED,
            leader_epoch=0,
            partition_epoch=0,
            directories=tuple([directories[b] for b in assignment.broker_ids])
            if directories is not None
            else (),
        )


def checked(
    context: Context, assignments: Sequence[Assignment], replication_factor: int | None = None
) -> list[Assignment]:
    """Check what was named by hand.

    Args:
        replication_factor: How many replicas each partition must have; None: as many as the
            first.

    Raises:
        RequestError: INVALID_REPLICA_ASSIGNMENT.
    """
    for assignment in assignments:
        check_replicas(context, assignment.broker_ids)
        replication_factor = replication_factor or len(assignment.broker_ids)
        if len(assignment.broker_ids) != replication_factor:
            raise invalid_assignment(
                f"partition {assignment.partition_id} has {len(assignment.broker_ids)} replicas, "
                f"the others have {replication_factor}"
            )
        if not _active(context, assignment):
            raise invalid_assignment(
                f"all replicas of partition {assignment.partition_id} are fenced or shutting down"
            )
    return list(assignments)


def check_replicas(context: Context, broker_ids: Sequence[int]) -> None:
    """Refuse replicas that no partition may have.

    Raises:
        RequestError: INVALID_REPLICA_ASSIGNMENT.
    """
    if not broker_ids:
        raise invalid_assignment("the list of replicas is empty")
    for broker_id in broker_ids:
        if context.image.broker(broker_id) is None:
            raise invalid_assignment(f"broker {broker_id} is not registered")
    if len(set(broker_ids)) < len(broker_ids):
        raise invalid_assignment(f"a broker is named twice in {list(broker_ids)}")


def usable_brokers(context: Context) -> list[UsableBroker]:
    """Return the brokers that new replicas may go to, with their load, ordered by id."""
    usable = []
    for broker in sorted(context.image.brokers(), key=lambda broker: broker.broker_id):
        if not broker.in_controlled_shutdown:
            load = context.index.load(broker.broker_id)
            usable.append(
                UsableBroker(
                    broker_id=broker.broker_id,
                    rack=broker.rack,
                    fenced=broker.fenced,
                    leaders=load.leaders,
                    replicas=load.replicas,
                )
            )
    return usable


def _active(context: Context, assignment: Assignment) -> tuple[int, ...]:
    return tuple([b for b in assignment.broker_ids if context.is_active(b)])
