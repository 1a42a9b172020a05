"""Configs: for each resource the keys that were set on it."""

from records.configs import ConfigRecord
from replay.image.changes import NestedMapDelta

TOPIC = 2
"""Resource type of a topic; the resource's name is the topic's full name."""

ConfigResource = tuple[int, str]
"""Resource type and name."""


class ConfigsDelta(NestedMapDelta[ConfigResource, str, str]):
    """Changes to configs. The resource need not exist: Kafka writes a topic's configs first."""

    def set(self, record: ConfigRecord) -> None:
        """Set a key, or remove it when the value is null, whether or not it was set."""
        values = self.at((record.resource_type, record.resource_name))
        if record.value is None:
            values.take(record.name)
        else:
            values.put(record.name, record.value)

    def move(self, old: ConfigResource, new: ConfigResource) -> None:
        """Give the configs of one resource to another."""
        for name, value in self.take(old).items():
            self.at(new).put(name, value)
