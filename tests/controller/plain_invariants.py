"""A plain check of all invariants, compared with the check that only looks at changed objects."""

from collections.abc import Callable, Collection, Iterator
from typing import Any

from controller.descriptions.affected import Affected
from controller.invariants.checks import Violation, check_step
from controller.invariants.of_images import OF_IMAGES
from controller.invariants.of_partitions import OF_PARTITIONS, OF_TOPICS
from metadata_log.format.batch import Batch
from records.base import Uuid
from records.text import uuid_text
from replay.image.metadata import MetadataImage


def check_image(image: MetadataImage) -> Iterator[Violation]:
    """Check all invariants of one image: O(objects)."""
    for check in OF_IMAGES:
        yield from _named(check, check(image))
    yield from _check_topics(image, [topic.topic_id for topic in image.topics()])


def _check_topics(image: MetadataImage, topic_ids: Collection[Uuid]) -> Iterator[Violation]:
    """Check topics with all their partitions; ignores topics that do not exist."""
    for topic_id in sorted(topic_ids):
        topic = image.topic(topic_id)
        if topic is None:
            continue
        partitions = image.partitions(topic_id)
        about = f"topic {image.full_name(topic)!r}"
        for of_topic in OF_TOPICS:
            yield from _named(of_topic, of_topic(image, topic, partitions), about)
        for of_partitions in OF_PARTITIONS:
            yield from _named(of_partitions, of_partitions(image, partitions), about)


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
        yield from _check_topics(after, all_ids if affected.broker_ids else affected.topic_ids)
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


def _named(
    check: Callable[..., Any], findings: Iterator[str], about: str = ""
) -> Iterator[Violation]:
    for finding in findings:
        yield Violation(check.__name__, f"{about}: {finding}" if about else finding)
