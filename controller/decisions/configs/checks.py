"""Checks of the configs that a resource would have after a change.

Configs that a change does not touch are not checked again. They were checked when written, or came
from an import or a raw append. So values that this release would refuse stay valid, and can be
deleted.
"""

import re
from collections.abc import Collection, Iterator, Mapping

from controller.decisions.config_definitions.brokers import BROKER_CONFIGS
from controller.decisions.config_definitions.definition import Update, list_items, whole_number
from controller.decisions.config_definitions.resources import (
    definitions,
    find_definition,
    unknown_config,
)
from controller.decisions.config_definitions.topics import CLEANUP_POLICY
from controller.decisions.configs.effective import (
    CLUSTER_DEFAULT,
    ConfigLevels,
    server_config,
)
from controller.decisions.context.cluster_index import SUBSCRIBED_PATTERN
from controller.results.refusals import invalid_config
from replay.image.configs import BROKER, CLIENT_METRICS, GROUP, NAMESPACE, TOPIC, ConfigResource

_REMOTE = "remote.storage.enable"


def check_configs(
    context: ConfigLevels,
    resource: ConfigResource,
    changed: Collection[str],
    values: Mapping[str, str],
) -> None:
    """Check each changed config of a resource, and the combination of all its configs.

    Args:
        changed: Names of the configs whose values differ from before.
        values: All values that the resource would have.

    Raises:
        RequestError: INVALID_CONFIG.
    """
    type_ = resource[0]
    for config in changed:
        if config in values:
            _check_value(context, resource, config, values[config])
    if changed:
        _check_together(context, type_, values)


def _check_value(context: ConfigLevels, resource: ConfigResource, name: str, value: str) -> None:
    type_, resource_name = resource
    definition = find_definition(type_, name)
    if definition is None and context.settings.accepts_unknown_configs:
        return
    if definition is None:
        raise unknown_config(type_, name)
    if type_ == BROKER and definition.update is Update.FILE:
        raise invalid_config(
            type_, f"{name} can only be set in the file of a broker, not in the log"
        )
    for_all = type_ == BROKER and resource_name == CLUSTER_DEFAULT
    if for_all and definition.update is Update.BROKER:
        raise invalid_config(type_, f"{name} can be set for one broker, not for the whole cluster")
    if type_ == GROUP and name == SUBSCRIBED_PATTERN:
        raise invalid_config(type_, f"only `metalog subscriptions register` sets {name}")
    try:
        definition.check(value)
    except ValueError as error:
        raise invalid_config(type_, str(error)) from None
    if type_ == CLIENT_METRICS and name == "match":
        _check_patterns(value)


def _check_patterns(value: str) -> None:
    for item in list_items(value):
        try:
            re.compile(item.partition("=")[2])
        except (re.error, OverflowError, RecursionError) as error:
            raise invalid_config(
                CLIENT_METRICS, f"match: {item!r} has no valid pattern: {error}"
            ) from None


def _check_together(context: ConfigLevels, type_: int, values: Mapping[str, str]) -> None:
    if type_ in (TOPIC, NAMESPACE):
        for problem in (*_compaction(values), *_tiered_storage(values)):
            raise invalid_config(type_, problem)
    elif type_ == GROUP:
        for problem in _groups(context, values):
            raise invalid_config(type_, problem)


def _compaction(values: Mapping[str, str]) -> Iterator[str]:
    shortest = _number(TOPIC, values, "min.compaction.lag.ms")
    longest = _number(TOPIC, values, "max.compaction.lag.ms")
    if shortest > longest:
        yield (f"min.compaction.lag.ms ({shortest}) is above max.compaction.lag.ms ({longest})")


def _tiered_storage(values: Mapping[str, str]) -> Iterator[str]:
    if values.get(_REMOTE, "").strip().lower() != "true":
        return
    if "compact" in list_items(values.get(CLEANUP_POLICY, "")):
        yield f"{_REMOTE} is not for topics whose {CLEANUP_POLICY} is compact"
    for unit in ("ms", "bytes"):
        kept = _number(TOPIC, values, f"retention.{unit}")
        local = _number(TOPIC, values, f"local.retention.{unit}")
        if kept != -1 and local != -2 and (local == -1 or local > kept):
            yield f"local.retention.{unit} ({local}) is above retention.{unit} ({kept})"


def _groups(context: ConfigLevels, values: Mapping[str, str]) -> Iterator[str]:
    for kind in ("consumer", "share", "streams"):
        names = (f"{kind}.session.timeout.ms", f"{kind}.heartbeat.interval.ms")
        session, heartbeat = (_number(GROUP, values, name) for name in names)
        if session <= heartbeat:
            yield f"{names[0]} ({session}) is not above {names[1]} ({heartbeat})"
    for name, value in values.items():
        low, high = (_bound(context, name, edge) for edge in ("min", "max"))
        number = whole_number(value)
        if number is not None and low is not None and number < low:
            yield f"{name} ({number}) is below the brokers' {low}"
        if number is not None and high is not None and number > high:
            yield f"{name} ({number}) is above the brokers' {high}"


def bound_name(name: str, edge: str) -> str:
    """Return the name of the broker config that limits a group's config; it need not exist.

    For example, `group.consumer.min.session.timeout.ms` limits `consumer.session.timeout.ms`.

    Args:
        name: The group's config.
        edge: `min` or `max`.
    """
    kind, _, rest = name.partition(".")
    return f"group.{kind}.{edge}.{rest.removeprefix('num.')}"


def _bound(context: ConfigLevels, name: str, edge: str) -> int | None:
    """Return the limit that the brokers' configs set for a group's config, or None."""
    bound = bound_name(name, edge)
    definition = BROKER_CONFIGS.get(bound)
    if definition is None:
        return None
    return whole_number(server_config(context, bound, definition.default))


def _number(type_: int, values: Mapping[str, str], name: str) -> int:
    """Return the value of an integer config; its default if it is not set.

    The default is also returned for a value that is not a number, as imported logs may have.
    """
    default = int(definitions(type_)[name].default)
    number = whole_number(values.get(name, ""))
    return default if number is None else number
