"""The stories of seeds 000 and 003 as steps, to be carried out on one log or on several nodes.

A step is a request, or a broker that starts or dies, and what the cluster has to be like before the
next step.
"""

from collections.abc import Callable
from dataclasses import dataclass

from controller.decisions.brokers.deletion_reports import ReplicaReport, ReportDeletions
from controller.decisions.brokers.isr_proposals import (
    AlterPartition,
    IsrMember,
    PartitionAlteration,
)
from controller.decisions.config_definitions.brokers import (
    DELETE_PARTITIONS_ENABLED,
    REMOVAL_INTERVAL,
)
from controller.decisions.configs.changes import AlterConfigs, ConfigChange, ResourceChange
from controller.decisions.partitions.assignments import Assignment
from controller.decisions.partitions.reassignments import AlterReassignments, PartitionTarget
from controller.decisions.topics.growth import CreatePartitions, TopicGrowth
from controller.decisions.topics.partition_removal import (
    DeletePartitions,
    TopicShrink,
)
from controller.decisions.topics.topics import CreateTopics, DeleteTopics, NewTopic
from records.base import Uuid
from replay.image.configs import BROKER
from replay.image.metadata import MetadataImage
from replay.image.partitions import NONE, READ_ONLY, Partition

Holds = Callable[[MetadataImage], bool]


class Scene:
    """What somebody who looks on knows: the image, and the ids of all topics so far, by age."""

    def __init__(self) -> None:
        self.image = MetadataImage.EMPTY
        self.topic_ids: list[Uuid] = []

    def see(self, image: MetadataImage) -> None:
        self.image = image
        known = set(self.topic_ids)
        self.topic_ids += sorted({each.topic_id for each in image.topics()} - known)

    def partition(self, topic: int, partition_id: int = 0) -> Partition:
        found = self.image.partition(self.topic_ids[topic], partition_id)
        assert found is not None
        return found

    def broker_epoch(self, broker_id: int) -> int:
        found = self.image.broker(broker_id)
        assert found is not None
        return found.broker_epoch


def _at_once(image: MetadataImage) -> bool:
    return True


@dataclass(frozen=True)
class Step:
    """A step of a story.

    Attributes:
        what: For people.
        command: The name of the request's command; empty for none.
        request: Makes the request.
        starts: Brokers whose processes start: (id, number of the process).
        stops: Brokers that fall silent.
        until: What the image has to be like afterwards.
    """

    what: str
    command: str = ""
    request: Callable[[Scene], object] = lambda scene: None
    starts: tuple[tuple[int, int], ...] = ()
    stops: tuple[int, ...] = ()
    until: Holds = _at_once


def _active(*broker_ids: int) -> Holds:
    def holds(image: MetadataImage) -> bool:
        found = [image.broker(broker_id) for broker_id in broker_ids]
        return all(broker is not None and not broker.fenced for broker in found)

    return holds


def _partitions(image: MetadataImage) -> list[Partition]:
    return [each for topic in image.topics() for each in image.partitions(topic.topic_id)]


def _fenced(broker_id: int) -> Holds:
    return lambda image: not _active(broker_id)(image)


_BEGIN = Step("brokers", starts=((1, 1), (2, 1), (3, 1)), until=_active(1, 2, 3))


def _create(name: str, *replicas: tuple[int, ...]) -> Step:
    assignments = tuple([Assignment(n, broker_ids) for n, broker_ids in enumerate(replicas)])
    request = CreateTopics(topics=(NewTopic(name=name, assignments=assignments),))
    return Step(f"create {name}", "topics create", lambda scene: request)


def _delete(topic: str | int) -> Step:
    """Delete a topic by its name, or by the id of the n-th topic of the story."""

    def request(scene: Scene) -> DeleteTopics:
        return DeleteTopics(topics=(topic if isinstance(topic, str) else scene.topic_ids[topic],))

    return Step(f"delete {topic}", "topics delete", request)


def _isr(topic: int, sender: int, *isr: int, as_if: int | None = None) -> Step:
    """A leader proposes an ISR; with `as_if` it still believes in the id of an earlier topic."""

    def request(scene: Scene) -> AlterPartition:
        partition = scene.partition(topic)
        alteration = PartitionAlteration(
            topic_id=scene.topic_ids[topic if as_if is None else as_if],
            partition_id=0,
            leader_epoch=partition.leader_epoch,
            partition_epoch=partition.partition_epoch,
            new_isr=tuple([IsrMember(broker_id, -1) for broker_id in isr]),
        )
        return AlterPartition(
            broker_id=sender, broker_epoch=scene.broker_epoch(sender), partitions=(alteration,)
        )

    return Step(f"ISR {isr} of {topic}", "alter partition", request)


SEED_000 = (
    _BEGIN,
    _create("orders", (1, 2), (2, 3)),
    _create("orders", (1,)),  # refused
    Step("broker 2 dies", stops=(2,), until=_fenced(2)),
    _delete("orders"),
    _create("orders", (1, 3)),  # at once, though broker 2 has replicas of the first
    _isr(1, 1, 1, as_if=0),  # refused: a stale leader
    _isr(1, 1, 1),
    Step("broker 2 comes back", starts=((2, 2),), until=_active(2)),
    Step(
        "move",
        "reassignments alter",
        lambda scene: AlterReassignments(
            partitions=(PartitionTarget(topic="orders", partition_id=0, broker_ids=(2, 1)),)
        ),
    ),
    _isr(1, 1, 1, 2),
    _delete(0),  # refused: this id is gone
    _delete(1),
    Step("broker 3 dies", stops=(3,), until=_fenced(3)),
    Step("broker 3 is given up", "brokers unregister", lambda scene: 3),
)
"""Topic ids: a topic of a used name, a stale leader, and a broker that missed it all."""


def _grow(count: int) -> Step:
    request = CreatePartitions(topics=(TopicGrowth(topic="events", partitions=count),))
    return Step(f"grow to {count}", "partitions create", lambda scene: request)


def _shrink(count: int, delay_ms: int, mode: int) -> Step:
    request = DeletePartitions(
        topics=(TopicShrink(topic="events", partitions=count),), delay_ms=delay_ms
    )
    return Step(
        f"shrink to {count}",
        "partitions delete",
        lambda scene: request,
        until=lambda image: {each.mode for each in _partitions(image)} >= {mode},
    )


def _report(broker_id: int, *partition_ids: int) -> Step:
    def request(scene: Scene) -> ReportDeletions:
        return ReportDeletions(
            broker_id=broker_id,
            broker_epoch=scene.broker_epoch(broker_id),
            replicas=tuple(
                ReplicaReport(topic_id=scene.topic_ids[0], partition_id=each, deleted=True)
                for each in partition_ids
            ),
        )

    return Step(f"broker {broker_id} has deleted {partition_ids}", "report deletions", request)


def _enabled() -> AlterConfigs:
    values = {DELETE_PARTITIONS_ENABLED: "true", REMOVAL_INTERVAL: "200"}
    changes = tuple([ConfigChange(name, value) for name, value in values.items()])
    change = ResourceChange(resource_type=BROKER, resource_name="", changes=changes)
    return AlterConfigs(resources=(change,))


SEED_003 = (
    _BEGIN,
    _create("events", (1, 2), (2, 3), (3, 1), (1, 2)),
    _shrink(2, 0, 0),  # refused: not enabled
    Step("enable", "configs alter", lambda scene: _enabled()),
    _shrink(2, 3_600_000, READ_ONLY),
    _grow(5),  # refused while partitions leave
    Step("cancel", "partitions cancel-delete", lambda scene: "events"),
    Step("broker 2 dies", stops=(2,), until=_fenced(2)),
    _shrink(2, 5_000, READ_ONLY),
    Step(
        "the delay ends",
        until=lambda image: [each.mode for each in _partitions(image)].count(NONE) == 2,
    ),
    _report(3, 2),
    _report(1, 2, 3),
    Step("broker 2 comes back", starts=((2, 2),), until=_active(2)),
    Step(
        "broker 2 is told",
        until=lambda image: any(
            each.broker_id == 2 and each.state == 4 for each in image.replica_deletions()
        ),
    ),
    _report(2, 3),
    Step("gone", until=lambda image: len(_partitions(image)) == 2),
    _grow(3),
)
"""Partition reduction: refused, cancelled, and carried out while a broker is away."""
