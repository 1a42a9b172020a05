"""Changes of partitions when a broker leaves or returns.

All decisions about one broker change its partitions by the same rules. The decisions differ only in
which leaders are eligible, and which members leave the ISRs.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType

from controller.decisions.configs.effective import min_isr, unclean_election_enabled
from controller.decisions.context.context import Context
from controller.decisions.partitions.directories import default_directory, is_online
from controller.decisions.partitions.partition_change import ChangeRules, PartitionChange
from records.base import Uuid
from records.partitions import PartitionChangeRecord
from replay.image.cluster import Broker
from replay.image.configs import TOPIC
from replay.image.partitions import Partition
from replay.image.topics import Topic

_ANY_ISR = 0
_NONE_ASSIGNED: Mapping[int, Uuid] = MappingProxyType({})


class PartitionChanges:
    """Starts the changes of partitions of one decision.

    Looks up what many of them share only once: the topics' configs, and which brokers may lead. A
    lookup of a config takes longer than changing a partition.
    """

    def __init__(self, context: Context, active: Callable[[int], bool] | None = None) -> None:
        """Read the cluster's levels.

        Args:
            active: Returns True for brokers that may lead; None means all active brokers.
        """
        self._context = context
        self._is_active = active or context.is_active
        self._elr_enabled = context.elr_enabled
        self._metadata_version = context.metadata_version
        # By broker id; None for a broker that may not lead.
        self._leaders: dict[int, Broker | None] = {}
        self._by_topic: dict[Uuid, ChangeRules] = {}
        # The rules of topics without configs of their own.
        self._usual: ChangeRules | None = None

    def start(
        self, partition: Partition, assigned: Mapping[int, Uuid] = _NONE_ASSIGNED
    ) -> PartitionChange:
        """Start a change under the rules of the partition's topic.

        The change elects a leader if the partition needs one to stay online; an unclean leader only
        if the topic's configs allow it.

        Args:
            assigned: The new log directories of replicas, by broker.
        """
        found = self._by_topic.get(partition.topic_id)
        if found is None:
            found = self._by_topic[partition.topic_id] = self._of_topic(partition.topic_id)
        change = PartitionChange(partition, found)
        change.assigned = assigned
        return change

    def _of_topic(self, topic_id: Uuid) -> ChangeRules:
        context, topic = self._context, self._context.image.topic(topic_id)
        assert topic is not None, "a partition of the image has a topic"
        is_usual = topic.namespace_id is None and not context.image.has_configs(TOPIC, topic.name)
        if is_usual and self._usual is not None:
            return self._usual
        rules = ChangeRules(
            metadata_version=self._metadata_version,
            elr_enabled=self._elr_enabled,
            # Looked up only if eligible leader replicas are tracked: else it is not used.
            min_isr=min_isr(context, topic) if self._elr_enabled else _ANY_ISR,
            acceptable=self._may_lead,
            default_directory=lambda replica: directory_of(context, replica),
            allows_unclean=_UncleanElections(context, topic),
        )
        if is_usual:
            self._usual = rules
        return rules

    def _may_lead(self, replica: int, directory: Uuid) -> bool:
        """True if a broker is active, and its replica's log directory online."""
        leaders = self._leaders
        if replica in leaders:
            broker = leaders[replica]
        else:
            is_active = self._is_active(replica)
            broker = leaders[replica] = self._context.image.broker(replica) if is_active else None
        return broker is not None and is_online(broker, directory)


class _UncleanElections:
    """Says whether a topic's configs allow unclean elections; looks that up once, if at all.

    Most decisions make one for a topic and never ask it, and `functools.cache` takes longer to
    make one than the rest of a change does.
    """

    __slots__ = ("_context", "_known", "_topic")

    def __init__(self, context: Context, topic: Topic) -> None:
        self._context, self._topic = context, topic
        self._known: bool | None = None

    def __call__(self) -> bool:
        if self._known is None:
            self._known = unclean_election_enabled(self._context, self._topic)
        return self._known


def start_change(
    context: Context, partition: Partition, *, assigned: Mapping[int, Uuid] = _NONE_ASSIGNED
) -> PartitionChange:
    """Start a change of one partition; as `PartitionChanges.start`."""
    return PartitionChanges(context).start(partition, assigned)


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

    changes = PartitionChanges(context, active)
    for partition in partitions:
        change = changes.start(partition)
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

    changes = PartitionChanges(context, active)
    for partition in context.index.partitions_on(context.image, broker_id):
        if broker_id in partition.isr or broker_id in partition.eligible_leader_replicas:
            change = changes.start(partition)
            change.isr = tuple([replica for replica in partition.isr if replica != broker_id])
            change.unclean_shutdown = (broker_id,)
            yield from _built(change)


def return_to_partitions(context: Context, broker_id: int) -> Iterator[PartitionChangeRecord]:
    """Yield the changes that elect leaders of leaderless partitions, now that a broker may lead."""

    def active(replica: int) -> bool:
        return replica == broker_id or context.is_active(replica)

    changes = PartitionChanges(context, active)
    for partition in context.index.leaderless_partitions(context.image):
        yield from _built(changes.start(partition))


def directory_of(context: Context, broker_id: int) -> Uuid:
    """Return the log directory to record for a new replica on a registered broker."""
    broker = context.image.broker(broker_id)
    assert broker is not None, f"replicas are checked before they are set: {broker_id}"
    return default_directory(broker)


def _built(change: PartitionChange) -> Iterator[PartitionChangeRecord]:
    record = change.build()
    if record is not None:
        yield record
