"""Finds the record that set each value of a topic's configs, even if the topic was moved since.

A topic's configs are stored under the topic's name, so they are renamed when the topic is moved,
and Kafka may write them before the topic. So the record that moved or created the topic is not the
record that set its configs.
"""

from collections.abc import Mapping
from typing import Any

from records.base import Uuid
from records.configs import ConfigRecord
from records.envelope import Envelope
from records.topics import MoveTopicRecord, RemoveTopicRecord
from replay.image.configs import TOPIC, ConfigResource
from replay.image.metadata import MetadataImage


class ConfigSetters:
    """Follows a log and keeps the row that set each current config value of a topic.

    Values set before the first row that was replayed are not known.
    """

    def __init__(self) -> None:
        self._rows: dict[str, dict[str, Envelope]] = {}

    def replay(self, before: MetadataImage, row: Envelope, after: MetadataImage) -> None:
        """Process a row, given the images immediately before and after it."""
        match row.payload:
            case ConfigRecord(resource_type=type_, resource_name=name, name=key, value=value):
                if type_ == TOPIC:
                    self._set(name, key, None if value is None else row)
            case RemoveTopicRecord(topic_id=topic_id):
                self._rows.pop(_full_name(before, topic_id), None)
            case MoveTopicRecord(topic_id=topic_id):
                moved = self._rows.pop(_full_name(before, topic_id), {})
                self._rows.setdefault(_full_name(after, topic_id), {}).update(moved)

    def of(self, resource: ConfigResource | Any) -> Mapping[str, Envelope]:
        """Return the rows that set the values of a topic's configs, by key."""
        return {} if resource is None else dict(self._rows.get(resource[1], {}))

    def _set(self, name: str, key: str, row: Envelope | None) -> None:
        if row is not None:
            self._rows.setdefault(name, {})[key] = row
        elif name in self._rows:
            self._rows[name].pop(key, None)


def _full_name(image: MetadataImage, topic_id: Uuid) -> str:
    topic = image.topic(topic_id)
    assert topic is not None, "the record would have contradicted the image"
    return image.full_name(topic)
