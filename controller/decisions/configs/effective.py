"""Effective configs: the value from the level of highest precedence that sets one.

The levels of a topic, highest precedence first: the topic, its namespace and those above it, the
BROKER resource of this controller's own node, the cluster's default (the BROKER resource without a
name), the static file, the built-in default. On topics and namespaces, a config has its own name;
on all levels from the broker on, it has its server-level names.

Source: KIP-226 (dynamic broker configs), KIP-37 (namespaces); docs/configs.md.
"""

import enum
from collections.abc import Iterable, Iterator
from typing import NamedTuple, Protocol

from controller.decisions.config_definitions.brokers import BROKER_CONFIGS, OF_EACH_PROCESS
from controller.decisions.config_definitions.definition import ConfigDefinition, whole_number
from controller.decisions.config_definitions.topics import MIN_ISR, TOPIC_CONFIGS, UNCLEAN_ELECTION
from controller.decisions.configs.registered import registered_config
from controller.decisions.context.context import Settings
from controller.decisions.lookup import is_broker_id
from controller.decisions.names import tiers
from replay.image.configs import BROKER as BROKER
from replay.image.configs import (
    GROUP,
    NAMESPACE,
    RESOURCE_NAMES,
    TOPIC,
    ConfigLookup,
    ConfigResource,
)
from replay.image.metadata import MetadataImage
from replay.image.topics import Topic

CLUSTER_DEFAULT = ""
"""Name of the BROKER resource with the cluster's default configs."""


class ConfigLevels(Protocol):
    """Interface of the input for effective configs: an image and the controller's settings.

    Implemented by `Context`, the input of decisions.
    """

    @property
    def image(self) -> MetadataImage:
        """The image that contains the configs."""
        ...

    @property
    def settings(self) -> Settings:
        """The controller's settings."""
        ...


class ConfigSource(enum.Enum):
    """The kind of level that sets the effective value."""

    TOPIC = "topic"
    NAMESPACE = "namespace"
    BROKER = "broker"
    CLUSTER = "cluster"
    STATIC = "static"
    DEFAULT = "default"
    BROKER_LOGGER = "broker-logger"
    CLIENT_METRICS = "client-metrics"
    GROUP = "group"

    @property
    def code(self) -> int:
        """Kafka's code; NAMESPACE, which is ours, has Kafka's code for an unknown source."""
        return _SOURCE_CODES[self]


_SOURCE_CODES = {
    ConfigSource.TOPIC: 1,
    ConfigSource.BROKER: 2,
    ConfigSource.CLUSTER: 3,
    ConfigSource.STATIC: 4,
    ConfigSource.DEFAULT: 5,
    ConfigSource.BROKER_LOGGER: 6,
    ConfigSource.CLIENT_METRICS: 7,
    ConfigSource.GROUP: 8,
    # Clients such as kafka-python raise at codes that Kafka does not have.
    ConfigSource.NAMESPACE: 0,
}
_SERVER_SOURCES = (ConfigSource.BROKER, ConfigSource.CLUSTER, ConfigSource.STATIC)


def source_of(code: int) -> ConfigSource:
    """Return the source with a code; DEFAULT if the code is unknown."""
    return next((s for s, known in _SOURCE_CODES.items() if known == code), ConfigSource.DEFAULT)


class Level(NamedTuple):
    """A level: its kind, the name of its resource ("" if none), and a lookup of its configs."""

    source: ConfigSource
    resource_name: str
    value: ConfigLookup

    @property
    def takes_server_names(self) -> bool:
        """True if this level uses the server-level names of topic configs."""
        return self.source in _SERVER_SOURCES


class Setting(NamedTuple):
    """A config value set at a level.

    `name` is the config's name at that level, `value` the text there, `effective` the value
    converted to the unit of the topic's config.
    """

    source: ConfigSource
    resource_name: str
    name: str
    value: str
    effective: str

    @property
    def namespace(self) -> str | None:
        """The namespace that sets the config, or None if another level does."""
        return self.resource_name if self.source is ConfigSource.NAMESPACE else None

    @property
    def level(self) -> str:
        """The level as text: `topic/orders`, `namespace/org`, `cluster`, `default`."""
        named = f"{self.source.value}/{self.resource_name}"
        return named if self.resource_name else self.source.value


def topic_config(context: ConfigLevels, topic: Topic, name: str) -> str:
    """Return the effective value of a topic's config."""
    return effective_config(topic_levels(context, topic), TOPIC_CONFIGS[name]).effective


def effective_config(levels: Iterable[Level], definition: ConfigDefinition) -> Setting:
    """Return a config's setting of highest precedence; the built-in default if no level sets it."""
    return next(settings_of(levels, definition), default_setting(definition))


def settings_of(levels: Iterable[Level], definition: ConfigDefinition) -> Iterator[Setting]:
    """Yield the settings of a config, highest precedence first, without the built-in default."""
    for level in levels:
        names = definition.server_names if level.takes_server_names else ((definition.name, 1),)
        for name, factor in names:
            value = level.value(name)
            if value is not None:
                effective = _converted(value, factor)
                yield Setting(level.source, level.resource_name, name, value, effective)
        if not definition.is_inherited:
            return


def default_setting(definition: ConfigDefinition) -> Setting:
    """Return a config's built-in default as a setting, under the config's own name."""
    return _default(definition.name, definition.default, 1)


def default_settings(definition: ConfigDefinition) -> list[Setting]:
    """Return the built-in defaults of a config's server-level names.

    If none of these names has a default, return the built-in default of the config itself.
    """
    found = []
    for name, factor in definition.server_names:
        of_broker = BROKER_CONFIGS.get(name)
        if of_broker is not None and of_broker.default:
            found.append(_default(name, of_broker.default, factor))
    return found or [default_setting(definition)]


def _default(name: str, value: str, factor: int) -> Setting:
    return Setting(ConfigSource.DEFAULT, "", name, value, _converted(value, factor))


def levels_of(context: ConfigLevels, resource: ConfigResource) -> Iterator[Level]:
    """Yield the config levels of an existing resource, highest precedence first."""
    type_, name = resource
    if type_ == TOPIC:
        topic = context.image.topic_by_full_name(name)
        assert topic is not None, "the resource exists"
        yield from topic_levels(context, topic)
    elif type_ == NAMESPACE:
        yield from namespace_levels(context, name)
    elif type_ == BROKER:
        yield from broker_levels(context, name)
    else:
        source = ConfigSource(RESOURCE_NAMES[type_])
        yield Level(source, name, context.image.config_lookup(type_, name))
        if type_ == GROUP:
            yield from server_levels(context)


def broker_levels(context: ConfigLevels, name: str) -> Iterator[Level]:
    """Yield the config levels of a broker or the cluster, highest precedence first.

    A broker's static values are those of its registration, then those of this controller, except
    the ones that each process has for itself.
    """
    lookup = context.image.config_lookup
    if name != CLUSTER_DEFAULT:
        yield Level(ConfigSource.BROKER, name, lookup(BROKER, name))
    yield Level(ConfigSource.CLUSTER, CLUSTER_DEFAULT, lookup(BROKER, CLUSTER_DEFAULT))
    yield Level(ConfigSource.STATIC, "", _static_values(context, name))


def _static_values(context: ConfigLevels, broker_name: str) -> ConfigLookup:
    """Return the lookup of a broker's static values."""
    is_here = broker_name in (CLUSTER_DEFAULT, str(context.settings.node_id))
    broker = context.image.broker(int(broker_name)) if is_broker_id(broker_name) else None
    static_configs = context.settings.static_configs
    if broker is None and is_here:
        return static_configs.get

    def value(config: str) -> str | None:
        registered = None if broker is None else registered_config(broker, config)
        if registered is not None or (config in OF_EACH_PROCESS and not is_here):
            return registered
        return static_configs.get(config)

    return value


def topic_levels(context: ConfigLevels, topic: Topic) -> Iterator[Level]:
    """Yield the config levels of a topic, highest precedence first."""
    image = context.image
    name = image.full_name(topic)
    yield Level(ConfigSource.TOPIC, name, image.config_lookup(TOPIC, name))
    namespace = topic.namespace_id and image.namespace(topic.namespace_id)
    yield from namespace_levels(context, namespace.name if namespace else "")


def namespace_levels(context: ConfigLevels, name: str) -> Iterator[Level]:
    """Yield the config levels of a namespace, highest precedence first; "" is the default one."""
    lookup = context.image.config_lookup
    for tier in reversed(list(tiers(name))) if name else ():
        yield Level(ConfigSource.NAMESPACE, tier, lookup(NAMESPACE, tier))
    yield from server_levels(context)


def server_levels(context: ConfigLevels) -> Iterator[Level]:
    """Yield the config levels of this controller's node, highest precedence first."""
    return broker_levels(context, str(context.settings.node_id))


def min_isr(context: ConfigLevels, topic: Topic) -> int:
    """Return a topic's effective min.insync.replicas."""
    number = whole_number(topic_config(context, topic, MIN_ISR))
    return int(TOPIC_CONFIGS[MIN_ISR].default) if number is None else number


def unclean_election_enabled(context: ConfigLevels, topic: Topic) -> bool:
    """True if a topic allows unclean elections, which elect a leader even if records are lost."""
    return is_true(topic_config(context, topic, UNCLEAN_ELECTION))


def server_config(context: ConfigLevels, name: str, default: str) -> str:
    """Return the effective value of a server-level config for this controller."""
    for level in server_levels(context):
        value = level.value(name)
        if value is not None:
            return value
    return default


def is_true(value: str) -> bool:
    """True if a value of type BOOLEAN is true."""
    return value.strip().lower() == "true"


def _converted(value: str, factor: int) -> str:
    number = None if factor == 1 else whole_number(value)
    # Negative values mean "unlimited" in every unit, so they are not converted.
    return value if number is None or number < 0 else str(number * factor)
