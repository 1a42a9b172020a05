"""Effective configs of topics: the nearest level that sets a value.

The levels, nearest first: the topic, the BROKER resource of this controller's own node, the
cluster's default (the BROKER resource without a name), the static file, the built-in default.
Above the topic a config has its server-level names.

Source: KIP-226 (dynamic broker configs); docs/kafka_rules.md, section 9.
"""

import enum
from collections.abc import Callable, Iterator
from functools import partial
from typing import Protocol

from controller.decisions.context import Settings
from controller.decisions.topic_configs import MIN_ISR, TOPIC_CONFIGS, UNCLEAN_ELECTION
from replay.image.configs import TOPIC
from replay.image.metadata import MetadataImage
from replay.image.topics import Topic

BROKER = 4
"""Resource type of a broker; the name "" means all brokers."""

CLUSTER_DEFAULT = ""
"""Name of the BROKER resource with the cluster's default configs."""


class ConfigLevels(Protocol):
    """Source of configs; a decision's `Context` is one."""

    @property
    def image(self) -> MetadataImage:
        """The image."""
        ...

    @property
    def settings(self) -> Settings:
        """The controller's settings."""
        ...


class ConfigSource(enum.Enum):
    """The level that sets the effective value."""

    TOPIC = "topic"
    BROKER = "broker"
    CLUSTER = "cluster"
    STATIC = "static"
    DEFAULT = "default"


def topic_config(context: ConfigLevels, topic: Topic, name: str) -> str:
    """Return the effective value of a topic's config."""
    own = context.image.config_value(TOPIC, context.image.full_name(topic), name)
    return effective_config(context, own, name)[0]


def effective_config(context: ConfigLevels, own: str | None, name: str) -> tuple[str, ConfigSource]:
    """Return the effective value of a topic's config, and the level that sets it.

    Args:
        own: The value set on the topic itself, None if not set.
    """
    if own is not None:
        return own, ConfigSource.TOPIC
    definition = TOPIC_CONFIGS[name]
    for source, level in _server_levels(context):
        for server_name, factor in definition.server_names:
            value = level(server_name)
            if value is not None:
                return _converted(value, factor), source
    return definition.default, ConfigSource.DEFAULT


def min_isr(context: ConfigLevels, topic: Topic) -> int:
    """Return a topic's effective min.insync.replicas."""
    number = whole_number(topic_config(context, topic, MIN_ISR))
    return int(TOPIC_CONFIGS[MIN_ISR].default) if number is None else number


def unclean_election_enabled(context: ConfigLevels, topic: Topic) -> bool:
    """True if a topic prefers losing records to having no leader."""
    return is_true(topic_config(context, topic, UNCLEAN_ELECTION))


def server_config(context: ConfigLevels, name: str, default: str) -> str:
    """Return the effective value of a server-level config for this controller."""
    for _, level in _server_levels(context):
        value = level(name)
        if value is not None:
            return value
    return default


def whole_number(value: str) -> int | None:
    """Parse an INT or LONG; None if it is invalid, as in logs of other origin."""
    try:
        return int(value)
    except ValueError:
        return None


def is_true(value: str) -> bool:
    """Parse a value of type BOOLEAN."""
    return value.strip().lower() == "true"


def _server_levels(
    context: ConfigLevels,
) -> Iterator[tuple[ConfigSource, Callable[[str], str | None]]]:
    """Yield each level with its lookup function."""
    look_up = context.image.config_value
    yield ConfigSource.BROKER, partial(look_up, BROKER, str(context.settings.node_id))
    yield ConfigSource.CLUSTER, partial(look_up, BROKER, CLUSTER_DEFAULT)
    yield ConfigSource.STATIC, context.settings.static_configs.get


def _converted(value: str, factor: int) -> str:
    number = None if factor == 1 else whole_number(value)
    # Negative values mean "unlimited" in every unit, so they are not converted.
    return value if number is None or number < 0 else str(number * factor)
