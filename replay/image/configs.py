"""Configs: the keys set on each resource."""

from typing import Any

import msgspec
from immutables import Map

from records.configs import ConfigRecord
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


class ResourceConfigs(msgspec.Struct, frozen=True, gc=False):
    """The keys set on a resource, at least one, and the version of all of them.

    `values` must not be changed: images share it.
    """

    values: dict[str, str]
    version: int = UNKNOWN


ConfigsImage = Map[ConfigResource, ResourceConfigs]
"""The resources that have keys set."""


class ConfigsDelta:
    """Changes to configs. The resource need not exist: Kafka writes a topic's configs first."""

    def __init__(self, image: ConfigsImage) -> None:
        self._image = image
        # The newest value of each changed key; None if it was removed.
        self._changes: dict[ConfigResource, dict[str, str | None]] = {}
        self._versions: dict[ConfigResource, int] = {}

    @property
    def changed(self) -> list[ConfigResource]:
        """The resources whose keys were set or removed."""
        return [resource for resource, changes in self._changes.items() if changes]

    def set(self, record: ConfigRecord, offset: int) -> None:
        """Set a key, or remove it if the value is null, whether or not it was set."""
        resource = record.resource_type, record.resource_name
        changes = self._changes.get(resource)
        if changes is None:
            changes = self._changes[resource] = {}
        changes[record.name] = record.value
        self._versions[resource] = offset

    def value(self, resource: ConfigResource, name: str) -> str | None:
        """Return the current value of a key."""
        changes = self._changes.get(resource, _NOTHING)
        if name in changes:
            return changes[name]
        before = self._image.get(resource)
        return None if before is None else before.values.get(name)

    def names(self, resource: ConfigResource) -> list[str]:
        """Return the current keys of a resource, in any order."""
        return list(self._values(resource))

    def move(self, old: ConfigResource, new: ConfigResource, offset: int) -> None:
        """Move the configs of one resource to another."""
        values = self._values(old)
        self.remove(old)
        self._changes.setdefault(new, {}).update(values)
        self._versions[new] = offset

    def remove(self, resource: ConfigResource) -> None:
        """Remove all keys of a resource."""
        values = self._values(resource)
        if values:
            self._changes.setdefault(resource, {}).update(dict.fromkeys(values))

    def apply(self) -> ConfigsImage:
        """Return the next image; the same object if nothing changed."""
        if not self._changes:
            return self._image
        new, versions = self._image.mutate(), self._versions
        for resource in self._changes:
            values = self._values(resource)
            if values:
                new[resource] = ResourceConfigs(values, versions[resource])
            else:
                new.pop(resource, None)
        return new.finish()

    def _values(self, resource: ConfigResource) -> dict[str, str]:
        """Return the current keys and values of a resource."""
        before, changes = self._image.get(resource), self._changes.get(resource, _NOTHING)
        values: dict[str, Any] = {**changes} if before is None else {**before.values, **changes}
        if None in values.values():
            return {name: value for name, value in values.items() if value is not None}
        return values


_NOTHING: dict[str, str | None] = {}
