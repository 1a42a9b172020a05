"""The configs that a namespace may have: those of its topics, and limits of its own.

A topic's config on a namespace counts for every topic in and below it that does not set it itself.
A limit counts for everything in and below its namespace; a nested namespace can lower it for
itself, but not raise it.
"""

from collections.abc import Mapping

from controller.decisions.config_definitions import ConfigDefinition, ConfigType
from controller.decisions.topic_configs import TOPIC_CONFIGS, check_together
from controller.refusals import invalid_config

MAX_TOPICS = "namespace.max.topics"
"""Maximum number of topics in and below a namespace."""

MAX_PARTITIONS = "namespace.max.partitions"
"""Maximum number of partitions in and below a namespace."""

MAX_MUTATIONS = "namespace.max.mutations.per.second"
"""Maximum rate of partitions created and deleted in and below a namespace."""

UNLIMITED = "-1"
"""Value of a limit that is none."""


def _limit(name: str, type_: ConfigType) -> ConfigDefinition:
    return ConfigDefinition(
        name=name, type=type_, default=UNLIMITED, minimum=-1, is_inherited=False
    )


_LIMITS = (
    _limit(MAX_TOPICS, ConfigType.INT),
    _limit(MAX_PARTITIONS, ConfigType.INT),
    _limit(MAX_MUTATIONS, ConfigType.DOUBLE),
)

NAMESPACE_CONFIGS: Mapping[str, ConfigDefinition] = {
    **TOPIC_CONFIGS,
    **{limit.name: limit for limit in _LIMITS},
}


def check_namespace_configs(values: Mapping[str, str]) -> None:
    """Check a namespace's configs, each and together.

    Args:
        values: All values that would be set on the namespace.

    Raises:
        RequestError: INVALID_CONFIG.
    """
    for name, value in values.items():
        definition = NAMESPACE_CONFIGS.get(name)
        if definition is None:
            raise invalid_config(f"a namespace has no config {name!r}")
        definition.check(value)
    check_together(values)
