"""Which value of a topic's config counts: the nearest level that sets one.

The levels, nearest first: the topic, the BROKER resource of this controller's own node, the
cluster's default (the BROKER resource without a name), the static file, the built-in default.
Above the topic a config goes by its server-level names.

Source: KIP-226 (dynamic broker configs); section 9 of Kafka's rules.
"""

from collections.abc import Iterator, Mapping

from controller.decisions.config_definitions import ConfigDefinition
from controller.decisions.context import Context
from controller.decisions.topic_configs import MIN_ISR, TOPIC_CONFIGS, UNCLEAN_ELECTION
from replay.image.configs import TOPIC
from replay.image.topics import Topic

BROKER = 4
"""Resource type of a broker; the name "" stands for all of them."""

CLUSTER_DEFAULT = ""
"""Name of the BROKER resource whose configs count for the whole cluster."""


def topic_config(context: Context, topic: Topic, name: str) -> str:
    """Return the value of a topic's config that counts."""
    definition = TOPIC_CONFIGS[name]
    own = context.image.config(TOPIC, context.image.full_name(topic)).get(name)
    if own is not None:
        return own
    for level in _server_levels(context):
        value = _server_value(level, definition)
        if value is not None:
            return value
    return definition.default


def min_isr(context: Context, topic: Topic) -> int:
    """Return how many in-sync replicas a topic's writes need."""
    return int(topic_config(context, topic, MIN_ISR))


def unclean_election_enabled(context: Context, topic: Topic) -> bool:
    """Return whether a topic would rather lose records than have no leader."""
    return is_true(topic_config(context, topic, UNCLEAN_ELECTION))


def server_config(context: Context, name: str, default: str) -> str:
    """Return the value of a server-level config that counts for this controller."""
    for level in _server_levels(context):
        if name in level:
            return level[name]
    return default


def is_true(value: str) -> bool:
    """Read a value of type BOOLEAN."""
    return value.strip().lower() == "true"


def _server_levels(context: Context) -> Iterator[Mapping[str, str]]:
    yield context.image.config(BROKER, str(context.settings.node_id))
    yield context.image.config(BROKER, CLUSTER_DEFAULT)
    yield context.settings.static_configs


def _server_value(level: Mapping[str, str], definition: ConfigDefinition) -> str | None:
    for name, factor in definition.server_names:
        if name in level:
            return _converted(level[name], factor)
    return None


def _converted(value: str, factor: int) -> str:
    # Below zero is no number of hours but the word for "without limit" in every unit.
    return value if factor == 1 or int(value) < 0 else str(int(value) * factor)
