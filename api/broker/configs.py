"""The configs that a broker receives from the controller, and their effective values.

The value comes from the first of these levels that has one: the broker's configs in the log, the
cluster's default in the log, the broker's command line, the controller's static configs, the
built-in default.

Source: KIP-226 (dynamic broker configs), KIP-516 (the delay for stale folders).
"""

from collections.abc import Iterable, Mapping

from api.kafka.messages.replicas import BrokerConfig
from controller.decisions.config_definitions.brokers import (
    BROKER_CONFIGS,
    DELETE_STALE_DELAY,
)
from controller.decisions.config_definitions.definition import whole_number
from controller.decisions.configs.effective import BROKER, CLUSTER_DEFAULT
from replay.image.metadata import MetadataImage

FOLLOWED = (DELETE_STALE_DELAY,)
"""Names of configs that brokers use."""


def broker_configs(
    image: MetadataImage, broker_id: int, static: Mapping[str, str]
) -> tuple[BrokerConfig, ...]:
    """Return the configs to send to a broker; a value in the log overrides a static value.

    Args:
        static: The controller's static configs.
    """
    found = []
    for name in FOLLOWED:
        value = image.config_value(BROKER, str(broker_id), name)
        if value is None:
            value = image.config_value(BROKER, CLUSTER_DEFAULT, name)
        if value is not None:
            found.append(BrokerConfig(name=name, value=value))
        elif name in static:
            found.append(BrokerConfig(name=name, value=static[name], is_static=True))
    return tuple(found)


def delete_stale_delay_ms(latest: Iterable[BrokerConfig], own: int | None) -> int:
    """Return the effective delay in ms before stale folders are deleted.

    Args:
        latest: The latest configs from the controller.
        own: The value from the broker's command line; None if the option was not given.
    """
    by_name = {config.name: config for config in latest}
    config = by_name.get(DELETE_STALE_DELAY)
    if config is not None and (own is None or not config.is_static):
        value = whole_number(config.value)
        # A log made by other software may hold any value.
        if value is not None and value >= 0:
            return value
    return int(BROKER_CONFIGS[DELETE_STALE_DELAY].default) if own is None else own
