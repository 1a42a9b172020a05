"""Skips parts of a log in which an object was not touched.

Snapshots contain the version of each topic and partition: the offset of the last record that
touched it. If two snapshots have the same version, no record between them touched it.
"""

from collections.abc import Collection, Mapping
from typing import Protocol

import msgspec

from records.base import Uuid
from replay.image.versions import UNKNOWN


class TopicState(msgspec.Struct, frozen=True):
    """A topic at some offset; `partition_version` is None if the partition does not exist."""

    name: str
    namespace_id: Uuid | None
    version: int
    partition_version: int | None

    @property
    def is_known(self) -> bool:
        """True if the versions are known."""
        return UNKNOWN not in (self.version, self.partition_version)


class PastState(msgspec.Struct, frozen=True):
    """The state of some topics at some offset; None for a topic that does not exist.

    `surroundings` of two states are equal only if both have the same namespaces and the same
    partition removals in progress.
    """

    topics: Mapping[Uuid, TopicState | None]
    surroundings: object


class PastTopics(Protocol):
    """The states of topics at some offsets of a log; no transaction is open at these offsets."""

    def end_offsets(self) -> list[int]:
        """Return the end offsets (exclusive) at which the states are known, ascending."""

    def state(
        self, end_offset: int, topic_ids: Collection[Uuid], partition_id: int | None
    ) -> PastState | None:
        """Return the state below an end offset: of topics, and of one partition of each topic.

        Returns None if the state is not known.
        """


class Target(Protocol):
    """The object to search for, and the topics that it is known to depend on."""

    @property
    def ids(self) -> Collection[Uuid]:
        """Ids of topics that the object's name meant or will mean, and of related objects."""

    @property
    def partition_id(self) -> int | None:
        """The partition id, None for the topic as a whole."""

    def is_among(self, topics: Mapping[Uuid, TopicState | None]) -> bool:
        """True if the object's topic is one of `topics`."""


def untouched_until(past: PastTopics, target: Target, at: int, end: int) -> int:
    """Return the last known end offset up to which no record from `at` on touches the object.

    Known end offsets are `past.end_offsets()`. While the object's topic is unchanged, the object's
    name cannot mean another object. Topics that later take the name must also be unchanged, and so
    must namespaces and partition removals.

    Args:
        at: A known end offset; returned if the object was touched before the next known one.
        end: Upper limit of the result.
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
