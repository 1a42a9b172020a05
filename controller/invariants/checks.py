"""Runs the invariants: over one image, one step, or a whole log."""

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any

import msgspec

from controller.affected import Affected
from controller.invariants.of_images import OF_IMAGES
from controller.invariants.of_partitions import OF_PARTITIONS, OF_TOPICS
from controller.invariants.of_steps import OF_STEPS, Step
from metadata_log.batch import Batch
from records.base import Uuid
from records.text import uuid_text
from replay.image.metadata import MetadataImage
from replay.image.partitions import Partition
from replay.image.topics import Topic


class Violation(msgspec.Struct, frozen=True):
    """A violated invariant: the name of its check, and a description of the violation."""

    invariant: str
    finding: str

    def __str__(self) -> str:
        return f"{self.invariant}: {self.finding}"


def check_image(image: MetadataImage) -> Iterator[Violation]:
    """Check all invariants of one image: O(objects)."""
    for check in OF_IMAGES:
        yield from _named(check, check(image))
    yield from check_topics(image, [topic.topic_id for topic in image.topics()])


def check_topics(image: MetadataImage, topic_ids: Collection[Uuid]) -> Iterator[Violation]:
    """Check topics with all their partitions; ignores topics that do not exist."""
    for topic_id in sorted(topic_ids):
        topic = image.topic(topic_id)
        if topic is not None:
            yield from _topic_violations(image, topic, image.partitions(topic_id))


def check_affected(image: MetadataImage, affected: Affected) -> Iterator[Violation]:
    """Check the topics and partitions affected by records: O(partitions affected)."""
    for topic_id in sorted(affected.topic_ids):
        topic = image.topic(topic_id)
        if topic is not None:
            yield from _topic_violations(image, topic, list(affected.partitions(image, topic_id)))


def _topic_violations(
    image: MetadataImage, topic: Topic, partitions: Iterable[Partition]
) -> Iterator[Violation]:
    """Check a topic as a whole, and some of its partitions."""
    name, all_ = image.full_name(topic), image.partitions(topic.topic_id)
    for of_topic in OF_TOPICS:
        for finding in of_topic(image, topic, all_):
            yield Violation(of_topic.__name__, f"topic {name!r}: {finding}")
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


class HistoryCheck:
    """Follows a log and checks every image and every step, and that no topic id is reused.

    Images are checked at the ends of batches and transactions, but not inside a transaction, where
    the state may be inconsistent.
    """

    def __init__(self, start: MetadataImage = MetadataImage.EMPTY) -> None:
        """Start from the image before the first batch."""
        self._before = start
        self._touched = Affected()
        self._retired: set[Uuid] = set()

    def step(self, batch: Batch, after: MetadataImage) -> Iterator[Violation]:
        """Check the image after a batch.

        All topics affected by the batch are checked completely, and so are all objects that are not
        topics. The partitions of other topics are checked only if a broker changed, because that
        broker may lead some of them.
        """
        self._touched.add(row.payload for row in batch.rows)
        if after.provenance.pending_transaction is not None:
            return
        before, affected = self._before, self._touched
        self._before, self._touched = after, Affected()
        for check in OF_IMAGES:
            yield from _named(check, check(after))
        all_ids = [topic.topic_id for topic in after.topics()]
        yield from check_topics(after, all_ids if affected.broker_ids else affected.topic_ids)
        yield from check_step(before, after, affected)
        yield from self._check_ids(before, after, affected)

    def _check_ids(
        self, before: MetadataImage, after: MetadataImage, affected: Affected
    ) -> Iterator[Violation]:
        """H1: the id of a deleted topic is never used again."""
        for topic_id in sorted(affected.topic_ids):
            was, is_ = before.topic(topic_id) is not None, after.topic(topic_id) is not None
            if is_ and topic_id in self._retired:
                yield Violation("ids_never_come_back", f"topic id {uuid_text(topic_id)}")
            if was and not is_:
                self._retired.add(topic_id)


def _named(check: Callable[..., Any], findings: Iterator[str]) -> Iterator[Violation]:
    return (Violation(check.__name__, finding) for finding in findings)
