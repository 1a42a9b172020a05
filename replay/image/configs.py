"""Configs: the keys and values set on each resource."""

from collections.abc import Callable, Mapping

import msgspec
from immutables import Map

from records.configs import ConfigRecord
from replay.image.versions import UNKNOWN

TOPIC = 2
"""Resource type of a topic; the resource's name is the topic's full name."""

BROKER = 4
"""Resource type of a broker; the name "" means all brokers."""

BROKER_LOGGER = 8
"""Resource type of a broker's loggers; the name is the broker id, the configs are log levels."""

CLIENT_METRICS = 16
"""Resource type of a client metrics subscription (KIP-714)."""

GROUP = 32
"""Resource type of a consumer group."""

NAMESPACE = 100
"""Resource type of a namespace; Kafka has no such type, and its own codes are powers of two."""

RESOURCE_TYPES = {
    "topic": TOPIC,
    "broker": BROKER,
    "broker-logger": BROKER_LOGGER,
    "client-metrics": CLIENT_METRICS,
    "group": GROUP,
    "namespace": NAMESPACE,
}
"""Resource type by its word in object names, such as `topic` in `config:topic/orders`."""

RESOURCE_NAMES = {code: name for name, code in RESOURCE_TYPES.items()}
"""The word for each resource type; the inverse of RESOURCE_TYPES."""

ConfigResource = tuple[int, str]
"""Resource type and name."""

ConfigLookup = Callable[[str], str | None]
"""Returns a key's value; None if the key is not set."""


class Config(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """The keys and values set on one resource."""

    resource_type: int
    resource_name: str
    values: dict[str, str]
    version: int = UNKNOWN


class ConfigValue(msgspec.Struct, frozen=True, gc=False):
    """One key set on a resource, and its value."""

    resource_type: int
    resource_name: str
    name: str
    value: str


class ResourceConfigs(msgspec.Struct, frozen=True, gc=False):
    """The keys and values set on one resource (never empty), and their common version.

    `values` must not be modified, because images share it.
    """

    values: dict[str, str]
    version: int = UNKNOWN


ConfigsImage = Map[ConfigResource, ResourceConfigs]
"""The configs of each resource that has at least one key set."""


class ConfigsDelta:
    """Changes to configs. A resource need not exist yet: Kafka writes a topic's configs first."""

    def __init__(self, image: ConfigsImage) -> None:
        self._image = image
        # All keys of each changed resource; none, if they were removed.
        self._changed: dict[ConfigResource, ResourceConfigs] = {}

    @property
    def changed(self) -> list[ConfigResource]:
        """The resources whose keys were set or removed."""
        return list(self._changed)

    def set(self, record: ConfigRecord, offset: int) -> None:
        """Set a key to the record's value; a null value removes the key, if it is set."""
        resource = record.resource_type, record.resource_name
        changed = self._changed.get(resource)
        if changed is not None:
            values = changed.values
        else:
            before = self._image.get(resource)
            values = {} if before is None else before.values.copy()
        if record.value is None:
            values.pop(record.name, None)
        else:
            values[record.name] = record.value
        self._changed[resource] = ResourceConfigs(values, offset)

    def value(self, resource: ConfigResource, name: str) -> str | None:
        """Return the current value of a key, None if it is not set."""
        return self.values(resource).get(name)

    def names(self, resource: ConfigResource) -> list[str]:
        """Return the current keys of a resource, in any order."""
        return list(self.values(resource))

    def move(self, old: ConfigResource, new: ConfigResource, offset: int) -> None:
        """Move the configs of one resource to another."""
        before, moved = self.values(new), self.values(old)
        self.remove(old)
        if before or moved:
            self._changed[new] = ResourceConfigs({**before, **moved}, offset)

    def remove(self, resource: ConfigResource) -> None:
        """Remove all keys of a resource."""
        if self.values(resource):
            self._changed[resource] = ResourceConfigs({})

    def apply(self) -> ConfigsImage:
        """Return the image of the configs with the changes applied.

        Returns the same object if nothing changed.
        """
        if not self._changed:
            return self._image
        new = self._image.mutate()
        new.update(self._changed)
        for resource in [r for r, configs in self._changed.items() if not configs.values]:
            del new[resource]
        # The image shares the values from now on: a later change copies them.
        self._changed, self._image = {}, new.finish()
        return self._image

    def values(self, resource: ConfigResource) -> Mapping[str, str]:
        """Return the current keys and values of a resource; the caller must not modify them."""
        configs = self._changed.get(resource)
        return (self._image.get(resource, _NONE) if configs is None else configs).values


_NONE = ResourceConfigs({})
