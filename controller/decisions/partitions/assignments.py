"""Replica assignments of new partitions: placed by the controller, or manual and checked."""

from collections.abc import Iterable, Sequence
from operator import attrgetter

import msgspec

from controller.decisions.context.context import Context
from controller.decisions.levels import DIRECTORIES_LEVEL
from controller.decisions.partitions.broker_partitions import directory_of
from controller.decisions.partitions.partition_change import RECOVERED
from controller.placement.placer import UsableBroker
from controller.placement.registry import placer_named
from controller.results.refusals import invalid_assignment, invalid_replication_factor
from records.base import Uuid
from records.partitions import PartitionRecord
from replay.image.cluster import Broker

_BROKER_ID = attrgetter("broker_id")


class Assignment(msgspec.Struct, frozen=True, gc=False):
    """A manual assignment of one partition, the preferred leader first."""

    partition_id: int
    broker_ids: tuple[int, ...]


class Placement:
    """Replica placement for the new partitions of one request.

    New partitions count as load for the rest of the request, before they are in the image.
    """

    def __init__(self, context: Context, name: str | None = None) -> None:
        """Start the placement for one request.

        Args:
            name: Name of a placement; None means the controller's.

        Raises:
            RequestError: INVALID_REQUEST, there is no placement of that name.
        """
        placer = context.settings.placer if name is None else placer_named(name)
        self._run = placer.start(usable_brokers(context), context.rng)
        self._context = context
        self._has_directories = context.metadata_version >= DIRECTORIES_LEVEL
        self._known: dict[tuple[int, ...], _Replicas] = {}

    def place(
        self, *, partitions: int, replication_factor: int, start_partition_id: int = 0
    ) -> list[Assignment]:
        """Choose the replicas of new partitions of one topic.

        Raises:
            RequestError: INVALID_PARTITIONS, INVALID_REPLICATION_FACTOR, or
                INVALID_REPLICA_ASSIGNMENT.
        """
        placed = self._run.place(partitions, replication_factor, start_partition_id)
        if not all(self._replicas(broker_ids).isr for broker_ids in placed):
            raise invalid_replication_factor("all brokers are fenced or shutting down")
        return [Assignment(start_partition_id + n, ids) for n, ids in enumerate(placed)]

    def count(self, assignments: Iterable[Assignment]) -> None:
        """Add the request's manually assigned partitions to the load."""
        for assignment in assignments:
            self._run.count(assignment.broker_ids)

    def record(self, topic_id: Uuid, assignment: Assignment) -> PartitionRecord:
        """Return the record of a new partition, led by its first active replica."""
        replicas = self._replicas(assignment.broker_ids)
        return PartitionRecord(
            partition_id=assignment.partition_id,
            topic_id=topic_id,
            replicas=replicas.broker_ids,
            isr=replicas.isr,
            removing_replicas=(),
            adding_replicas=(),
            leader=replicas.isr[0],
            leader_recovery_state=RECOVERED,
            leader_epoch=0,
            partition_epoch=0,
            directories=replicas.directories,
        )

    def _replicas(self, broker_ids: tuple[int, ...]) -> "_Replicas":
        known = self._known.get(broker_ids)
        if known is None:
            known = self._known[broker_ids] = _Replicas(
                broker_ids, self._isr(broker_ids), self._directories(broker_ids)
            )
        return known

    def _isr(self, broker_ids: tuple[int, ...]) -> tuple[int, ...]:
        isr = tuple([b for b in broker_ids if self._context.is_active(b)])
        return broker_ids if isr == broker_ids else isr

    def _directories(self, broker_ids: tuple[int, ...]) -> tuple[Uuid, ...]:
        if not self._has_directories:
            return ()
        return tuple([directory_of(self._context, broker_id) for broker_id in broker_ids])


class _Replicas(msgspec.Struct, frozen=True, gc=False):
    """The record fields that are equal for all partitions with the same replicas; computed once.

    A large request has far more partitions than combinations of replicas.
    """

    broker_ids: tuple[int, ...]
    isr: tuple[int, ...]
    directories: tuple[Uuid, ...]


def checked(
    context: Context, assignments: Sequence[Assignment], replication_factor: int | None = None
) -> list[Assignment]:
    """Check manual assignments, and return them.

    Args:
        replication_factor: Required number of replicas per partition; None: as many as the first
            assignment has.

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
    """Check that a partition's replicas are registered brokers, at least one, each named once.

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
    """Return the brokers that can get new replicas, with their load, ordered by id."""
    usable = []
    for broker in sorted(context.image.brokers(), key=_BROKER_ID):
        if not broker.in_controlled_shutdown and _has_open_directory(broker):
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


def _has_open_directory(broker: Broker) -> bool:
    """True unless all directories of a broker are cordoned; also if it registered none."""
    if not broker.cordoned_log_dirs:
        return True
    return bool(set(broker.log_dirs) - set(broker.cordoned_log_dirs))


def _active(context: Context, assignment: Assignment) -> tuple[int, ...]:
    return tuple([b for b in assignment.broker_ids if context.is_active(b)])
