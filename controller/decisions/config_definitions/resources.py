"""Kinds of resources that have configs, and which configs each may have.

Source: ConfigResource.Type of Kafka 4.0 and its codes; NAMESPACE is ours.
"""

import enum
import functools
from collections.abc import Mapping
from typing import Annotated

from controller.decisions.config_definitions.brokers import BROKER_CONFIGS, broker_config
from controller.decisions.config_definitions.definition import ConfigDefinition, ConfigType
from controller.decisions.config_definitions.namespaces import NAMESPACE_CONFIGS
from controller.decisions.config_definitions.tables.clients import CLIENT_METRICS as _CLIENT_METRICS
from controller.decisions.config_definitions.tables.clients import GROUPS, LOG_LEVELS
from controller.decisions.config_definitions.tables.table_parser import parse_table
from controller.decisions.config_definitions.topics import TOPIC_CONFIGS
from controller.results.refusals import invalid_config
from records.errors import RequestError
from replay.image import configs
from replay.image.configs import (
    BROKER,
    BROKER_LOGGER,
    CLIENT_METRICS,
    GROUP,
    NAMESPACE,
    RESOURCE_NAMES,
    TOPIC,
)


class ConfigResourceType(enum.Enum):
    """Types of resources that have configs."""

    TOPIC = configs.TOPIC
    BROKER = configs.BROKER
    BROKER_LOGGER = configs.BROKER_LOGGER
    CLIENT_METRICS = configs.CLIENT_METRICS
    GROUP = configs.GROUP
    NAMESPACE = configs.NAMESPACE


_NAME_LENGTH_MAX = 100
"""Maximum length of an unknown config name for which a similar known name is searched."""

ConfigResourceCode = Annotated[int, ConfigResourceType]

_DEFINITIONS: Mapping[int, Mapping[str, ConfigDefinition]] = {
    TOPIC: TOPIC_CONFIGS,
    BROKER: BROKER_CONFIGS,
    BROKER_LOGGER: {},
    CLIENT_METRICS: parse_table(_CLIENT_METRICS),
    GROUP: parse_table(GROUPS),
    NAMESPACE: NAMESPACE_CONFIGS,
}

_SERVER_NAMES: Mapping[str, str] = {
    name: definition.server_names[0][0]
    for name, definition in TOPIC_CONFIGS.items()
    if definition.server_names
}
_TOPIC_NAMES: Mapping[str, str] = {
    server_name: name
    for name, definition in TOPIC_CONFIGS.items()
    for server_name, _ in definition.server_names
}
# Names of topics on other levels, and the other way round: better than the nearest spelling.
_ELSEWHERE = {BROKER: _SERVER_NAMES, TOPIC: _TOPIC_NAMES, NAMESPACE: _TOPIC_NAMES}


def definitions(resource_type: int) -> Mapping[str, ConfigDefinition]:
    """Return the configs that every resource of a type may have; loggers also accept other names.

    Raises:
        RequestError: INVALID_REQUEST, there is no such type.
    """
    found = _DEFINITIONS.get(resource_type)
    if found is None:
        known = ", ".join(f"{code} a {name}" for code, name in sorted(RESOURCE_NAMES.items()))
        raise RequestError(
            "INVALID_REQUEST",
            f'resource type {resource_type} has no configs; {known}; the broker "" is the cluster',
        )
    return found


def find_definition(resource_type: int, name: str) -> ConfigDefinition | None:
    """Return the definition of a resource type's config, or None if the type has no such config."""
    if resource_type == BROKER_LOGGER:
        return _logger(name)
    if resource_type == BROKER:
        return broker_config(name)
    return definitions(resource_type).get(name)


def unknown_config(resource_type: int, name: str) -> RequestError:
    """Return the error for a config that a resource type lacks; suggests a similar known name."""
    kind = RESOURCE_NAMES[resource_type]
    elsewhere = _ELSEWHERE.get(resource_type, {}).get(name)
    if elsewhere is not None:
        return invalid_config(
            resource_type, f"a {kind} has no config {name!r}; here it is {elsewhere!r}"
        )
    near = _nearest(resource_type, name)
    hint = f"; did you mean {near!r}?" if near else ""
    return invalid_config(resource_type, f"a {kind} has no config {name!r}{hint}")


def _nearest(resource_type: int, name: str) -> str | None:
    """Return the known config with the most similar name, or None.

    The names differ in one letter (added, removed, swapped or replaced) or have the same beginning.
    Takes a few us, as a request may have thousands of unknown names (difflib takes 75 us for each).
    """
    spellings = _spellings(resource_type)
    if len(name) > _NAME_LENGTH_MAX:
        return None
    shorter = [name[:-2], name[:-3]]
    tried = [name, *_one_letter_less(name), *shorter]
    return next((spellings[each] for each in tried if each in spellings), None)


@functools.cache
def _spellings(resource_type: int) -> dict[str, str]:
    """Return each config by its name, by the name without one letter, and by its first words."""
    known = definitions(resource_type)
    found = {name: name for name in known}
    for name in known:
        words = name.split(".")
        begun = [".".join(words[:count]) for count in range(1, len(words))]
        for spelling in (*_one_letter_less(name), *begun):
            found.setdefault(spelling, name)
    return found


def _one_letter_less(name: str) -> list[str]:
    return [name[:at] + name[at + 1 :] for at in range(len(name))]


def _logger(name: str) -> ConfigDefinition:
    return ConfigDefinition(
        name=name,
        type=ConfigType.STRING,
        default="",
        allowed=frozenset(LOG_LEVELS.split()),
        doc="Level of the logger.",
        since="2.4",
    )
