"""Configs: the keys set on each resource."""

import msgspec
from immutables import Map

from records.configs import ConfigRecord
from replay.image.changes import MapDelta, NestedMapDelta
from replay.image.versions import UNKNOWN

TOPIC = 2
"""Resource type of a topic; the resource's name is the topic's full name."""

BROKER = 4
"""Resource type of a broker; the name "" means all brokers."""

BROKER_LOGGER = 8
"""Resource type of a broker's loggers, by the broker's id; the configs are the loggers' levels."""

CLIENT_METRICS = 16
"""Resource type of a subscription to metrics of clients (KIP-714)."""

GROUP = 32
"""Resource type of a group of consumers."""

NAMESPACE = 100
"""Resource type of a namespace, by its full name. Kafka has none; its codes are powers of two."""

RESOURCE_TYPES = {
    "topic": TOPIC,
    "broker": BROKER,
    "broker-logger": BROKER_LOGGER,
    "client-metrics": CLIENT_METRICS,
    "group": GROUP,
    "namespace": NAMESPACE,
}
"""The types by name, as in `config:topic/orders`."""

RESOURCE_NAMES = {code: name for name, code in RESOURCE_TYPES.items()}
"""The names of the types."""

ConfigResource = tuple[int, str]
"""Resource type and name."""


class Config(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """The keys set on one resource."""

    resource_type: int
    resource_name: str
    values: dict[str, str]
    version: int = UNKNOWN


class ConfigValue(msgspec.Struct, frozen=True, gc=False):
    """One key set on a resource."""

    resource_type: int
    resource_name: str
    name: str
    value: str


class ConfigsImage(msgspec.Struct, frozen=True, gc=False):
    """Keys and values of each resource that has any, and its version."""

    values: Map[ConfigResource, Map[str, str]] = Map()
    versions: Map[ConfigResource, int] = Map()


class ConfigsDelta:
    """Changes to configs. The resource need not exist: Kafka writes a topic's configs first."""

    def __init__(self, image: ConfigsImage) -> None:
        self._image = image
        self._values = NestedMapDelta(image.values)
        self._versions = MapDelta(image.versions)

    @property
    def changed(self) -> list[ConfigResource]:
        """The resources whose keys were set or removed."""
        return self._values.changed

    def set(self, record: ConfigRecord, offset: int) -> None:
        """Set a key, or remove it if the value is null, whether or not it was set."""
        resource = record.resource_type, record.resource_name
        values = self._values.at(resource)
        if record.value is None:
            values.take(record.name)
        else:
            values.put(record.name, record.value)
        self._versions.put(resource, offset)

    def value(self, resource: ConfigResource, name: str) -> str | None:
        """Return the current value of a key."""
        return self._values.at(resource).get(name)

    def names(self, resource: ConfigResource) -> list[str]:
        """Return the current keys of a resource, in any order."""
        return [name for name, _ in self._values.at(resource).items()]

    def move(self, old: ConfigResource, new: ConfigResource, offset: int) -> None:
        """Move the configs of one resource to another."""
        for name, value in self._values.take(old).items():
            self._values.at(new).put(name, value)
        self._versions.take(old)
        self._versions.put(new, offset)

    def remove(self, resource: ConfigResource) -> None:
        """Remove all keys of a resource."""
        self._values.take(resource)
        self._versions.take(resource)

    def apply(self) -> ConfigsImage:
        """Return the next image; a resource without keys has no version."""
        values = self._values.apply()
        for resource in self._versions.changed:
            if resource not in values:
                self._versions.take(resource)
        return ConfigsImage(values, self._versions.apply())
