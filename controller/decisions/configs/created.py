"""Effective configs of topics that a request creates (KIP-525)."""

from collections.abc import Mapping

import msgspec

from controller.decisions.config_definitions.topics import TOPIC_CONFIGS
from controller.decisions.configs.effective import (
    ConfigLevels,
    ConfigSource,
    effective_config,
    namespace_levels,
)


class CreatedConfig(msgspec.Struct, frozen=True):
    """An effective config of a new topic, and the kind of level that sets it."""

    name: str
    value: str
    source: ConfigSource


class CreatedConfigs:
    """Effective configs of the topics of one request; caches configs inherited from namespaces."""

    def __init__(self, context: ConfigLevels) -> None:
        """Start with an empty cache; `context` has the levels above the topics."""
        self._context = context
        self._inherited: dict[str, dict[str, CreatedConfig]] = {}

    def of_topic(self, namespace: str, own: Mapping[str, str]) -> tuple[CreatedConfig, ...]:
        """Return a topic's effective configs, ordered by name.

        Args:
            own: The configs that the topic sets itself.
        """
        found = dict(self._of_namespace(namespace))
        for name, value in own.items():
            found[name] = CreatedConfig(name, value, ConfigSource.TOPIC)
        return tuple([found[name] for name in sorted(found)])

    def _of_namespace(self, namespace: str) -> dict[str, CreatedConfig]:
        if namespace not in self._inherited:
            configs = {}
            for name, definition in TOPIC_CONFIGS.items():
                levels = namespace_levels(self._context, namespace)
                found = effective_config(levels, definition)
                configs[name] = CreatedConfig(name, found.effective, found.source)
            self._inherited[namespace] = configs
        return self._inherited[namespace]
