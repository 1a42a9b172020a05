"""Names of the static configs that have an effect on a controller."""

from collections.abc import Iterator

from controller.decisions.config_definitions.brokers import (
    BROKER_CONFIGS,
    DEFAULT_REPLICATION_FACTOR,
    DELETE_PARTITIONS_ENABLED,
    DELETE_STALE_DELAY,
    NUM_PARTITIONS,
    REMOVAL_INTERVAL,
)
from controller.decisions.config_definitions.resources import definitions
from controller.decisions.configs.checks import bound_name
from controller.decisions.security.tokens import (
    CHECK_INTERVAL,
    EXPIRY_TIME,
    MAX_LIFETIME,
    SECRET_KEY,
)
from replay.image.configs import GROUP, TOPIC


def _names() -> Iterator[str]:
    for type_ in (TOPIC, GROUP):
        for definition in definitions(type_).values():
            yield from (name for name, _ in definition.server_names)
    for name in definitions(GROUP):
        bounds = (bound_name(name, edge) for edge in ("min", "max"))
        yield from (bound for bound in bounds if bound in BROKER_CONFIGS)
    yield from (NUM_PARTITIONS, DEFAULT_REPLICATION_FACTOR)
    yield from (DELETE_PARTITIONS_ENABLED, REMOVAL_INTERVAL, DELETE_STALE_DELAY)
    yield from (SECRET_KEY, MAX_LIFETIME, EXPIRY_TIME, CHECK_INTERVAL)


DECIDING = frozenset(_names())
"""Static configs of the controller that have an effect on decisions, answers or brokers."""
