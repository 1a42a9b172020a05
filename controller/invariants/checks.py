"""Checks the invariants of the topics and partitions that records affect, and of one step."""

from collections.abc import Iterator

import msgspec

from controller.descriptions.affected import Affected
from controller.invariants.of_partitions import OF_PARTITIONS, OF_TOPICS
from controller.invariants.of_steps import OF_STEPS, Step
from replay.image.metadata import MetadataImage


class Violation(msgspec.Struct, frozen=True):
    """A violated invariant: the name of its check, and a description of the violation."""

    invariant: str
    finding: str

    def __str__(self) -> str:
        return f"{self.invariant}: {self.finding}"


def check_affected(image: MetadataImage, affected: Affected) -> Iterator[Violation]:
    """Check the topics and partitions affected by records: O(partitions affected)."""
    for topic_id in sorted(affected.topic_ids):
        topic = image.topic(topic_id)
        if topic is None:
            continue
        name, all_ = image.full_name(topic), image.partitions(topic_id)
        for of_topic in OF_TOPICS:
            for finding in of_topic(image, topic, all_):
                yield Violation(of_topic.__name__, f"topic {name!r}: {finding}")
        partitions = list(affected.partitions(image, topic_id))
        for of_partitions in OF_PARTITIONS:
            for finding in of_partitions(image, partitions):
                yield Violation(of_partitions.__name__, f"topic {name!r}: {finding}")


def check_step(
    before: MetadataImage, after: MetadataImage, affected: Affected
) -> Iterator[Violation]:
    """Check the change between two consecutive images: O(objects affected)."""
    step = Step.of(before, after, affected)
    for check in OF_STEPS:
        for finding in check(step):
            yield Violation(check.__name__, finding)
