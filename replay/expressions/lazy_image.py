"""An image for expressions while a log is replayed, built only when needed."""

from collections.abc import Mapping
from typing import Any

from records.base import Uuid
from replay.image.cluster import Broker
from replay.image.partitions import Partition
from replay.image.topics import Topic
from replay.loader import Replayer


class LazyImage:
    """The current state of a replayer, with the methods of an image.

    Single objects are read from the replayer's delta, because building an image costs more than
    replaying a batch. All other methods build the image.
    """

    def __init__(self, replayer: Replayer) -> None:
        """Read the state of `replayer`; not allowed while the replayer is inside a transaction."""
        self._replayer = replayer

    def __getattr__(self, name: str) -> Any:
        """Build the image and return its attribute."""
        return getattr(self._replayer.image(), name)

    def partition(self, topic_id: Uuid, partition_id: int) -> Partition | None:
        """Return one partition."""
        return self._replayer.delta.topics.partition(topic_id, partition_id)

    def topic(self, topic_id: Uuid) -> Topic | None:
        """Return the topic with this id."""
        return self._replayer.delta.topics.topic(topic_id)

    def topic_by_full_name(self, full_name: str) -> Topic | None:
        """Return the topic with a full name."""
        topic_id = self._replayer.delta.topic_id(full_name)
        return None if topic_id is None else self.topic(topic_id)

    def full_name(self, topic: Topic) -> str:
        """Return the full name of a topic."""
        return self._replayer.delta.full_name(topic)

    def broker(self, broker_id: int) -> Broker | None:
        """Return a registered broker."""
        return self._replayer.delta.brokers.get(broker_id)

    def config(self, resource_type: int, resource_name: str) -> Mapping[str, str]:
        """Return the keys set on a resource, empty if there are none."""
        return self._replayer.delta.configs.values((resource_type, resource_name))
