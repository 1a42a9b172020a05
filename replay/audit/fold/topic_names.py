"""Current names of topics, and topic configs, which stay with a topic when it is renamed."""

from typing import Any, NamedTuple

Fields = dict[str, Any]

TOPIC_RESOURCE = 2


class _Value(NamedTuple):
    """A config value; `is_held` is true if a topic had the name when the config was written."""

    value: str | None
    is_held: bool


class TopicNames:
    """The names and configs of topics, while records are applied in order.

    A config belongs to the topic that had the name when the config was written. If no topic had the
    name, the config is assigned to the next topic that takes it, unless that topic already has a
    value that was written for it.

    Attributes:
        spaces: The names of all namespaces that were ever created, by id.
    """

    def __init__(self) -> None:
        self.spaces: dict[str, str] = {}
        self._names: dict[str, tuple[str, bool]] = {}
        self._holders: dict[str, str] = {}
        self._configs: dict[str, dict[str, _Value]] = {}
        self._waiting: dict[str, dict[str, str | None]] = {}

    def name_space(self, namespace: Fields) -> None:
        """Apply a NamespaceRecord."""
        self.spaces[namespace["namespace_id"]] = namespace["name"]

    def place(self, topic: Fields) -> None:
        """Apply a TopicRecord or a MoveTopicRecord."""
        topic_id, namespace_id = topic["topic_id"], topic.get("namespace_id")
        name = topic["name"]
        if namespace_id in self.spaces:
            name = f"{self.spaces[namespace_id]}:{name}"
        self._leave_name(topic_id)
        self._names[topic_id] = (name, namespace_id is None)
        self._holders[name] = topic_id
        configs = self._configs.setdefault(topic_id, {})
        for key, value in self._waiting.pop(name, {}).items():
            if key not in configs or not configs[key].is_held:
                configs[key] = _Value(value, is_held=False)

    def remove(self, topic_id: str) -> None:
        """Apply a RemoveTopicRecord."""
        self._leave_name(topic_id)
        self._configs.pop(topic_id, None)

    def set_config(self, config: Fields) -> None:
        """Apply a ConfigRecord of a topic."""
        holder = self._holders.get(config["resource_name"])
        if holder is None:
            waiting = self._waiting.setdefault(config["resource_name"], {})
            waiting[config["name"]] = config.get("value")
        else:
            configs = self._configs.setdefault(holder, {})
            configs[config["name"]] = _Value(config.get("value"), is_held=True)

    def holder_in_default(self, name: str) -> str | None:
        """Return the topic that has a name in the default namespace, or None."""
        holder = self._holders.get(name)
        return holder if holder is not None and self._names[holder][1] else None

    def configs(self) -> list[Fields]:
        """Return the configs, each under the current name of its topic."""
        found = [
            (self._names[topic_id][0], key, kept.value)
            for topic_id, configs in self._configs.items()
            for key, kept in configs.items()
        ]
        found += [
            (name, key, value)
            for name, configs in self._waiting.items()
            for key, value in configs.items()
        ]
        return [
            {"resource_type": TOPIC_RESOURCE, "resource_name": name, "name": key, "value": value}
            for name, key, value in found
            if value is not None
        ]

    def _leave_name(self, topic_id: str) -> None:
        name, _ = self._names.get(topic_id, ("", True))
        if self._holders.get(name) == topic_id:
            del self._holders[name]
