"""Follows a log and reports where each violation of an invariant begins and ends.

After a batch, only affected objects are checked again: the partitions of the batch's topics, the
partitions on brokers that changed state, and the whole-image checks whose input changed.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any

import msgspec

from controller.invariants.of_images import (
    OF_IMAGES,
    ids_are_unique,
    names_are_unique,
    namespaces_have_parents,
)
from controller.invariants.of_partitions import OF_PARTITIONS, OF_TOPICS
from controller.invariants.of_steps import OF_STEPS, Step
from controller.invariants.plain_partitions import PlainPartitions
from metadata_log.format.batch import Batch
from records.base import Uuid
from records.text import uuid_text
from replay.image.configs import TOPIC
from replay.image.delta import MetadataDelta
from replay.image.metadata import MetadataImage
from replay.image.partitions import Partition
from replay.time_travel.labels import escaped

Key = tuple[str, str | None, str]
"""Invariant, object and text of a violation, which lasts while checks find the same three."""


class Violation(msgspec.Struct, kw_only=True):
    """A violation of an invariant, or of a condition that the caller expects.

    Attributes:
        offset: Last offset of the batch with which the violation began; None: before the range.
        time: Append time of that batch, in ms since 1970; None: before the range.
        invariant: The name of the check; `expect` for a condition that the caller expects.
        object: The topic or partition; None if only the text gives the object.
        until: Offset at which the violation ended; None: it has not ended. An illegal step between
            two images ends at the offset where it began.
        type: Type of the first record of the batch.
        principal: The principal that requested the batch; None if the log does not have it.
        reason: The reason for the batch; None if the log does not have it.
    """

    offset: int | None
    time: int | None
    invariant: str
    object: str | None
    text: str
    until: int | None = None
    type: str | None = None
    principal: str | None = None
    reason: str | None = None


class _Narrowed:
    """An image that iterates over some topics and configs only; lookups by key find all objects."""

    def __init__(
        self, image: MetadataImage, topic_ids: Iterable[Uuid], configs: Iterable[Any] = ()
    ) -> None:
        self._image = image
        self._topic_ids, self._configs = topic_ids, configs
        # What the checks call most often.
        self.topic, self.topic_by_name = image.topic, image.topic_by_name
        self.topic_by_full_name, self.namespace = image.topic_by_full_name, image.namespace

    def __getattr__(self, name: str) -> Any:
        return getattr(self._image, name)

    def topics(self) -> Iterator[Any]:
        found = (self._image.topic(topic_id) for topic_id in self._topic_ids)
        return (topic for topic in found if topic is not None)

    def namespaces(self) -> Iterator[Any]:
        return iter(())

    def configs(self) -> Iterator[Any]:
        found = ((resource, self._image.config(*resource)) for resource in self._configs)
        return ((resource, values) for resource, values in found if values)


# The kinds of objects that a check of a whole image reads, by its name; see `_kinds`.
_READS: dict[str, frozenset[str]] = {
    "names_are_unique": frozenset({"names", "namespace"}),
    "ids_are_unique": frozenset({"names", "namespace"}),
    "namespaces_have_parents": frozenset({"names", "namespace"}),
    "configs_are_of_topics_that_exist": frozenset({"names", "namespace", "config"}),
    "removals_are_of_partitions_that_exist": frozenset({"removal", "partitions"}),
    "deletions_are_under_way": frozenset({"deletion", "topic"}),
    "removals_end": frozenset({"deletion", "removal", "topic"}),
    "broker_epochs_are_unique": frozenset({"broker"}),
    "directories_belong_to_one_broker": frozenset({"broker"}),
}
assert _READS.keys() == {check.__name__ for check in OF_IMAGES}

# Of these, a finding is about a single topic or namespace.
_OF_NAMES = (names_are_unique, ids_are_unique, namespaces_have_parents)


class InvariantTracker:
    """The violated invariants of the current image, while following a log.

    Attributes:
        active: The current violations.
    """

    def __init__(self, start: MetadataImage) -> None:
        """Check a whole image: O(objects)."""
        self._of_images: dict[str, set[Key]] = {}
        # By the topic whose name or id is violated; None: those of namespaces.
        self._of_names: dict[Uuid | None, set[Key]] = {}
        self._of_topics: dict[Uuid, set[Key]] = {}
        self._retired: set[Uuid] = set()
        self._plain = PlainPartitions()
        self._check_all_names(start)
        for check in OF_IMAGES:
            if check not in _OF_NAMES:
                self._check_image(check, start)
        for topic in start.topics():
            self._check_topic(start, topic.topic_id)

    @property
    def active(self) -> set[Key]:
        """The current violations."""
        return set().union(
            *self._of_images.values(), *self._of_names.values(), *self._of_topics.values()
        )

    def step(
        self, delta: MetadataDelta, keys: Mapping[str, Collection[Any]], image: MetadataImage
    ) -> list[Key]:
        """Check the next image.

        Args:
            delta: What has changed since the last image; `image` is its result.
            keys: The keys of the changed objects: `touched_keys` of the delta; those of partitions
                may be missing.

        Returns:
            The illegal steps from the last image to this one; unlike the violations in `active`,
            they do not last.
        """
        renamed = delta.topics.renamed
        kinds = _kinds(delta, keys, renamed)
        self._check_names(image, kinds, renamed)
        self._check_images(delta, image, kinds, keys)
        self._check_topics(delta, image, kinds, keys)
        step = Step.by(delta, keys.get("broker", ()), image)
        steps = [(check.__name__, None, finding) for check in OF_STEPS for finding in check(step)]
        return [*steps, *self._reused_ids(delta)]

    def _check_names(
        self, image: MetadataImage, kinds: set[str], renamed: Collection[Uuid]
    ) -> None:
        # A change of namespaces may concern any topic.
        if "namespace" in kinds or any(image.namespace(each) is not None for each in renamed):
            self._check_all_names(image)
            return
        for topic_id in renamed:
            _put(self._of_names, topic_id, _found(_OF_NAMES, _Narrowed(image, (topic_id,))))

    def _check_all_names(self, image: MetadataImage) -> None:
        self._of_names.clear()
        if _found(_OF_NAMES, image):
            for topic in image.topics():
                topic_id = topic.topic_id
                _put(self._of_names, topic_id, _found(_OF_NAMES, _Narrowed(image, (topic_id,))))
            of_topics = set().union(*self._of_names.values())
            _put(self._of_names, None, _found(_OF_NAMES, image) - of_topics)

    def _check_images(
        self,
        delta: MetadataDelta,
        image: MetadataImage,
        kinds: set[str],
        keys: Mapping[str, Collection[Any]],
    ) -> None:
        narrowed = None
        for check in OF_IMAGES:
            if check in _OF_NAMES or kinds.isdisjoint(_READS[check.__name__]):
                continue
            # A change of namespaces may concern any topic, and what is violated may end.
            if "namespace" in kinds or check.__name__ in self._of_images:
                self._check_image(check, image)
                continue
            if narrowed is None:
                narrowed = _Narrowed(image, delta.topics.renamed, _configs(delta, keys))
            self._check_image(check, narrowed)

    def _check_image(self, check: Callable[[Any], Iterator[str]], image: Any) -> None:
        _put(self._of_images, check.__name__, _found((check,), image))

    def _check_topics(
        self,
        delta: MetadataDelta,
        image: MetadataImage,
        kinds: set[str],
        keys: Mapping[str, Collection[Any]],
    ) -> None:
        topics = delta.topics
        if "broker" in kinds:
            self._plain.forget()
        if "feature" in kinds:
            # Whether eligible leader replicas are kept decides about every partition.
            for topic_id in topics.changed | {topic.topic_id for topic in image.topics()}:
                self._check_topic(image, topic_id)
            return
        touched = {
            topic_id: [*filter(None, topics.changed_partitions(topic_id).values())]
            for topic_id in topics.changed
        }
        if "broker" in kinds:
            _add_on_brokers(touched, delta.image, image, keys["broker"])
        resized = {*filter(topics.may_have_new_members, topics.changed)}
        has_removals = next(image.pending_removals(), None) is not None
        # Nearly always nothing is found, so the partitions of all topics are checked at once first.
        some: list[Partition] = []
        for topic_id, partitions in touched.items():
            # Modes are judged by what waits for removal.
            if topic_id in self._of_topics or "removal" in kinds:
                self._check_topic(image, topic_id)
                continue
            topic = image.topic(topic_id)
            if topic is not None:
                some += partitions
                # Else it is as before: its ids are the same, and nothing of it is removed.
                if (has_removals or topic_id in resized) and any(
                    next(check(image, topic, image.partitions(topic_id)), None)
                    for check in OF_TOPICS
                ):
                    self._check_topic(image, topic_id)
        some = self._plain.others(image, some)
        if some and any(next(check(image, some), None) for check in OF_PARTITIONS):
            for topic_id in {partition.topic_id for partition in some}:
                self._check_topic(image, topic_id)

    def _check_topic(self, image: MetadataImage, topic_id: Uuid) -> None:
        """Check a topic and all of its partitions."""
        topic = image.topic(topic_id)
        if topic is None:
            self._of_topics.pop(topic_id, None)
            return
        name, all_ = escaped(image.full_name(topic)), image.partitions(topic_id)
        found: set[Key] = set()
        for of_topic in OF_TOPICS:
            label = f"topic:{name}"
            found.update((of_topic.__name__, label, text) for text in of_topic(image, topic, all_))
        for check in OF_PARTITIONS:
            if next(check(image, all_), None) is None:
                continue
            for each in all_:
                label = f"partition:{name}/{each.partition_id}"
                found.update((check.__name__, label, text) for text in check(image, (each,)))
        _put(self._of_topics, topic_id, found)

    def _reused_ids(self, delta: MetadataDelta) -> Iterator[Key]:
        """H1: the id of a deleted topic is never used again."""
        topics = delta.topics
        for topic_id in sorted(topics.renamed):
            was = topics.topic_before(topic_id) is not None
            is_ = topics.topic(topic_id) is not None
            if is_ and not was and topic_id in self._retired:
                yield "ids_never_come_back", None, f"topic id {uuid_text(topic_id)}"
            if was and not is_:
                self._retired.add(topic_id)


def _found(checks: Iterable[Callable[[Any], Iterator[str]]], image: Any) -> set[Key]:
    return {(check.__name__, None, finding) for check in checks for finding in check(image)}


def _put(where: dict[Any, set[Key]], key: Any, found: set[Key]) -> None:
    if found:
        where[key] = found
    else:
        where.pop(key, None)


def _kinds(
    delta: MetadataDelta, keys: Mapping[str, Collection[Any]], renamed: Collection[Uuid]
) -> set[str]:
    """Return the kinds of objects that changed.

    Also "names" if topics or namespaces were named anew, and "partitions" if partitions may have
    been created or removed.
    """
    kinds = set(keys)
    if renamed or "namespace" in kinds:
        kinds.add("names")
    if any(map(delta.topics.may_have_new_members, delta.topics.changed)):
        kinds.add("partitions")
    return kinds


def _configs(delta: MetadataDelta, keys: Mapping[str, Collection[Any]]) -> set[tuple[int, str]]:
    """Return the config resources that changed, or whose topic may have been removed or moved."""
    topics = filter(None, map(delta.topics.topic_before, delta.topics.renamed))
    names = (delta.image.full_name(topic) for topic in topics)
    return {*keys.get("config", ()), *((TOPIC, name) for name in names)}


def _add_on_brokers(
    touched: dict[Uuid, list[Partition]],
    before: MetadataImage,
    image: MetadataImage,
    broker_ids: Collection[int],
) -> None:
    """Add the partitions on brokers that were added, removed, fenced or unfenced: O(partitions)."""
    changed = set()
    for broker_id in broker_ids:
        old, new = before.broker(broker_id), image.broker(broker_id)
        if (old is None or old.fenced) is not (new is None or new.fenced) or (old is None) is not (
            new is None
        ):
            changed.add(broker_id)
    if not changed:
        return
    for topic in image.topics():
        for partition in image.partitions(topic.topic_id):
            if partition.leader in changed or not changed.isdisjoint(partition.isr):
                touched.setdefault(topic.topic_id, []).append(partition)


def begun(keys: Iterable[Key], batch: Batch | None, *, at_once: bool = False) -> list[Violation]:
    """Return the given violations with the batch at which they begin.

    Args:
        batch: None if the violations began before the range.
        at_once: The violations also end with that batch.
    """
    origin = None if batch is None else batch.rows[0].origin
    offset = None if batch is None else batch.end_offset - 1
    return [
        Violation(
            offset=offset,
            time=None if batch is None else batch.timestamp,
            invariant=invariant,
            object=name,
            text=text,
            until=offset if at_once else None,
            type=None if batch is None else type(batch.rows[0].payload).__name__,
            principal=None if origin is None else origin.principal,
            reason=None if origin is None else origin.reason,
        )
        for invariant, name, text in keys
    ]
