"""Skips the stretches of a log in which nothing touched an object.

Snapshots hold the version of each topic and partition: the offset of the last record that touched
it. Between two snapshots with the same version nothing did.
"""

from collections.abc import Collection, Mapping
from typing import Protocol

import msgspec

from records.base import Uuid
from replay.image.versions import UNKNOWN


class TopicState(msgspec.Struct, frozen=True):
    """A topic at some point; `partition_version` is None if there is no such partition."""

    name: str
    namespace_id: Uuid | None
    version: int
    partition_version: int | None

    @property
    def is_known(self) -> bool:
        """True if the versions are known."""
        return UNKNOWN not in (self.version, self.partition_version)


class PastState(msgspec.Struct, frozen=True):
    """Some topics at some point, None for one that does not exist.

    `surroundings` are equal only if namespaces and partitions being removed are, of all topics.
    """

    topics: Mapping[Uuid, TopicState | None]
    surroundings: object


class PastTopics(Protocol):
    """The states of topics at some offsets of a log, none of them inside a transaction."""

    def end_offsets(self) -> list[int]:
        """Return these offsets, ascending; the state is that before each."""

    def state(
        self, end_offset: int, topic_ids: Collection[Uuid], partition_id: int | None
    ) -> PastState | None:
        """Return the state of some topics, and of one partition of each; None if not known."""


class Target(Protocol):
    """The object that is looked for, and the topics that it is known to depend on."""

    @property
    def ids(self) -> Collection[Uuid]:
        """Topics that the object's name meant, or will mean; and other ids."""

    @property
    def partition_id(self) -> int | None:
        """The partition, None for the topic as a whole."""

    def is_among(self, topics: Mapping[Uuid, TopicState | None]) -> bool:
        """True if one of these topics is the one that is looked for."""


def untouched_until(past: PastTopics, target: Target, at: int, end: int) -> int:
    """Return the last known offset up to which nothing touches an object from `at` on.

    As long as its topic stays as it is, its name can mean no other. Topics that will take the name
    later must not change either, nor what records about topics take for granted.

    Args:
        at: One of `past.end_offsets()`.
        end: Offsets beyond it do not count.
    """
    state = past.state(at, target.ids, target.partition_id)
    if state is None or not target.is_among(state.topics):
        return at
    if any(topic is not None and not topic.is_known for topic in state.topics.values()):
        return at
    for later in past.end_offsets():
        if at < later <= end:
            if past.state(later, target.ids, target.partition_id) != state:
                break
            at = later
    return at
