"""The topic configs that brokers apply to new records, as the controller sends them to brokers.

A broker applies the values that DescribeConfigs shows for the topic.
"""

from collections.abc import Mapping

import msgspec

from api.broker.record_rules import RECORD_CONFIGS
from api.kafka.messages.replicas import BrokerConfig
from api.service.history import Change
from controller.decisions.config_definitions.topics import TOPIC_CONFIGS
from controller.decisions.configs.effective import (
    BROKER,
    CLUSTER_DEFAULT,
    effective_config,
    namespace_levels,
)
from controller.decisions.context.context import Settings
from records.base import Uuid
from replay.image.configs import NAMESPACE, TOPIC, ConfigResource
from replay.image.metadata import MetadataImage
from replay.image.topics import Topic

_NAMES = frozenset(RECORD_CONFIGS).union(
    *[[n for n, _ in TOPIC_CONFIGS[name].server_names] for name in RECORD_CONFIGS]
)
"""The names of the configs at all levels."""


class _Levels(msgspec.Struct, frozen=True):
    image: MetadataImage
    settings: Settings


class RecordConfigs:
    """The effective values for the topics of one image."""

    def __init__(self, image: MetadataImage, settings: Settings) -> None:
        self._levels = _Levels(image, settings)
        self._inherited: dict[str, Mapping[str, str]] = {}

    def of(self, topic: Topic) -> tuple[BrokerConfig, ...]:
        """Return a topic's values that differ from the built-in defaults."""
        image = self._levels.image
        name = image.full_name(topic)
        found = []
        for key, inherited in self._inherited_by(topic).items():
            own = image.config_value(TOPIC, name, key)
            value = inherited if own is None else own
            if value != TOPIC_CONFIGS[key].default:
                found.append(BrokerConfig(name=key, value=value))
        return tuple(found)

    def _inherited_by(self, topic: Topic) -> Mapping[str, str]:
        """Return the values that a topic inherits; cached by namespace."""
        found = topic.namespace_id and self._levels.image.namespace(topic.namespace_id)
        name = found.name if found else ""
        if name not in self._inherited:
            self._inherited[name] = {
                key: effective_config(
                    namespace_levels(self._levels, name), TOPIC_CONFIGS[key]
                ).effective
                for key in RECORD_CONFIGS
            }
        return self._inherited[name]


def newly_configured(change: Change, settings: Settings) -> set[Uuid]:
    """Return the ids of the topics whose effective values may have changed with a config.

    Takes O(configs changed), and O(topics) if a value that many topics inherit has changed.
    """
    after = change.after
    changed = [r for r in change.config_resources if _has_changed(change, r)]
    topics = [after.topic_by_full_name(name) for type_, name in changed if type_ == TOPIC]
    ids = {topic.topic_id for topic in topics if topic is not None}
    above = (CLUSTER_DEFAULT, str(settings.node_id))
    if any(t == NAMESPACE or (t == BROKER and name in above) for t, name in changed):
        old, new = RecordConfigs(change.before, settings), RecordConfigs(after, settings)
        for topic in after.topics():
            if change.before.topic(topic.topic_id) == topic and old.of(topic) != new.of(topic):
                ids.add(topic.topic_id)
    return ids


def _has_changed(change: Change, resource: ConfigResource) -> bool:
    before, after = change.before.config_value, change.after.config_value
    return any(before(*resource, name) != after(*resource, name) for name in _NAMES)
