"""Changes of partitions when a broker leaves or returns.

All decisions about one broker change its partitions by the same rules. The decisions differ only in
which leaders are eligible, and which members leave the ISRs.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType

from controller.decisions.configs.effective import min_isr, unclean_election_enabled
from controller.decisions.context.context import Context
from controller.decisions.partitions.directories import MIGRATING, default_directory, is_online
from controller.decisions.partitions.leader_election import Election
from controller.decisions.partitions.partition_change import ChangeRules, PartitionChange
from records.base import Uuid
from records.partitions import PartitionChangeRecord
from replay.image.partitions import Partition

_ANY_ISR = 0
_NONE_ASSIGNED: Mapping[int, Uuid] = MappingProxyType({})


class ElectionConfigs:
    """The configs of topics that elections depend on.

    Looked up once per topic: a lookup takes a third as long as changing a partition.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._by_topic: dict[Uuid, tuple[int, bool]] = {}

    def of(self, topic_id: Uuid) -> tuple[int, bool]:
        """Return the minimum size of the ISR, and if unclean elections are allowed.

        The minimum is looked up only if eligible leader replicas are tracked: else it is not used.
        """
        found = self._by_topic.get(topic_id)
        if found is None:
            context, topic = self._context, self._context.image.topic(topic_id)
            assert topic is not None, "a partition of the image has a topic"
            size_min = min_isr(context, topic) if context.elr_enabled else _ANY_ISR
            found = size_min, unclean_election_enabled(context, topic)
            self._by_topic[topic_id] = found
        return found


def start_change(
    context: Context,
    partition: Partition,
    *,
    configs: ElectionConfigs | None = None,
    active: Callable[[int], bool] | None = None,
    assigned: Mapping[int, Uuid] = _NONE_ASSIGNED,
) -> PartitionChange:
    """Start a change under the rules of the partition's topic.

    The change elects a leader if the partition needs one to stay online; an unclean leader only if
    the topic's configs allow it.

    Args:
        configs: Shared by the changes of a decision.
        active: Returns True for brokers that may lead; None means all active brokers.
        assigned: The new log directories of replicas, by broker.
    """
    size_min, is_unclean = (configs or ElectionConfigs(context)).of(partition.topic_id)
    rules = ChangeRules(
        metadata_version=context.metadata_version,
        elr_enabled=context.elr_enabled,
        min_isr=size_min,
        acceptable=_acceptable(context, partition, active or context.is_active, assigned),
        default_directory=lambda replica: directory_of(context, replica),
    )
    change = PartitionChange(partition, rules)
    change.assigned = assigned
    if is_unclean:
        change.election = Election.UNCLEAN
    return change


def leave_partitions(context: Context, broker_id: int) -> Iterator[PartitionChangeRecord]:
    """Yield the changes that remove a broker from all ISRs, and elect other leaders where it led.

    A broker that is the only member of an ISR stays in that ISR but no longer leads, because no
    other replica has all records.
    """
    left = context.index.partitions_to_leave(context.image, broker_id)
    return leave_these(context, broker_id, left)


def leave_these(
    context: Context, broker_id: int, partitions: Iterable[Partition]
) -> Iterator[PartitionChangeRecord]:
    """Yield the changes that remove a broker from the ISRs of the given partitions only."""

    def active(replica: int) -> bool:
        return replica != broker_id and context.is_active(replica)

    configs = ElectionConfigs(context)
    for partition in partitions:
        change = start_change(context, partition, configs=configs, active=active)
        change.isr = tuple([replica for replica in partition.isr if replica != broker_id])
        yield from _built(change)


def forget_partitions(context: Context, broker_id: int) -> Iterator[PartitionChangeRecord]:
    """Yield the changes that remove a broker from ISRs and ELRs, because it lost data.

    The broker lost unflushed data or its whole disk.
    """
    if not context.elr_enabled:
        yield from leave_partitions(context, broker_id)
        return

    def active(replica: int) -> bool:
        return replica != broker_id and context.is_active(replica)

    configs = ElectionConfigs(context)
    for partition in context.index.partitions_on(context.image, broker_id):
        if broker_id in partition.isr or broker_id in partition.eligible_leader_replicas:
            change = start_change(context, partition, configs=configs, active=active)
            change.isr = tuple([replica for replica in partition.isr if replica != broker_id])
            change.unclean_shutdown = (broker_id,)
            yield from _built(change)


def return_to_partitions(context: Context, broker_id: int) -> Iterator[PartitionChangeRecord]:
    """Yield the changes that elect leaders of leaderless partitions, now that a broker may lead."""

    def active(replica: int) -> bool:
        return replica == broker_id or context.is_active(replica)

    configs = ElectionConfigs(context)
    for partition in context.index.leaderless_partitions(context.image):
        yield from _built(start_change(context, partition, configs=configs, active=active))


def directory_of(context: Context, broker_id: int) -> Uuid:
    """Return the log directory to record for a new replica on a registered broker."""
    broker = context.image.broker(broker_id)
    assert broker is not None, f"replicas are checked before they are set: {broker_id}"
    return default_directory(broker)


def _built(change: PartitionChange) -> Iterator[PartitionChangeRecord]:
    record = change.build()
    if record is not None:
        yield record


def _acceptable(
    context: Context,
    partition: Partition,
    active: Callable[[int], bool],
    assigned: Mapping[int, Uuid],
) -> Callable[[int], bool]:
    """Return a function that is True for brokers that may lead a partition.

    Such a broker is active, and its replica of the partition is in an online directory.
    """
    directories = dict(zip(partition.replicas, partition.directories, strict=False))
    directories.update(assigned)

    def acceptable(replica: int) -> bool:
        broker = context.image.broker(replica)
        if broker is None or not active(replica):
            return False
        return is_online(broker, directories.get(replica, MIGRATING))

    return acceptable
