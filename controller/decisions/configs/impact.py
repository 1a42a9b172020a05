"""Impact of a config change: the number of topics that would inherit new values.

A topic that sets a config itself, or is in a namespace that sets it, is not affected. Counting
costs O(topics below the resource), and only for configs that topics inherit.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

from controller.decisions.config_definitions.topics import TOPIC_CONFIGS
from controller.decisions.configs.effective import (
    BROKER,
    CLUSTER_DEFAULT,
    ConfigLevels,
    ConfigSource,
    Level,
    effective_config,
    namespace_levels,
)
from controller.decisions.names import TIER_SEPARATOR
from records.base import Uuid
from records.configs import ConfigRecord
from replay.image.configs import NAMESPACE, TOPIC, ConfigResource
from replay.image.metadata import MetadataImage

NewValues = Mapping[str, str | None]


def topics_changed(
    context: ConfigLevels,
    resource: ConfigResource,
    named: Collection[str],
    records: Iterable[ConfigRecord],
) -> int | None:
    """Return the number of topics whose effective configs change with a resource's configs.

    Returns None if topics cannot inherit any of the changed configs. A change on a single broker
    affects topics only if that broker is the controller's own node, whose configs the controller
    uses.

    Args:
        named: The configs in the request.
        records: The records of the change; without records nothing changes.
    """
    source = _source(context, resource)
    if source is None:
        return None
    new = {record.name: record.value for record in records}
    names = [name for name in TOPIC_CONFIGS if not set(named).isdisjoint(_names(source, name))]
    if not names:
        return None
    count = 0
    for namespace, namespace_id in _namespaces(context.image, source, resource[1]):
        changed = [
            name for name in names if _differs(context, namespace, name, (source, resource[1]), new)
        ]
        if changed:
            count += _inheriting(context.image, namespace_id, changed)
    return count


def _source(context: ConfigLevels, resource: ConfigResource) -> ConfigSource | None:
    type_, name = resource
    if type_ == NAMESPACE:
        return ConfigSource.NAMESPACE
    if type_ == BROKER and name == CLUSTER_DEFAULT:
        return ConfigSource.CLUSTER
    if type_ == BROKER and name == str(context.settings.node_id):
        return ConfigSource.BROKER
    return None


def _names(source: ConfigSource, name: str) -> tuple[str, ...]:
    """Return the names under which a level (namespace, cluster or broker) sets a topic's config."""
    if source is ConfigSource.NAMESPACE:
        return (name,)
    return tuple([server_name for server_name, _ in TOPIC_CONFIGS[name].server_names])


def _namespaces(
    image: MetadataImage, source: ConfigSource, name: str
) -> Iterator[tuple[str, Uuid | None]]:
    """Yield name and id of namespaces that inherit from a resource; the default has id None."""
    if source is not ConfigSource.NAMESPACE:
        yield "", None
    for namespace in image.namespaces():
        is_below = f"{namespace.name}{TIER_SEPARATOR}".startswith(f"{name}{TIER_SEPARATOR}")
        if source is not ConfigSource.NAMESPACE or is_below:
            yield namespace.name, namespace.namespace_id


def _differs(
    context: ConfigLevels,
    namespace: str,
    name: str,
    at: tuple[ConfigSource, str],
    new: NewValues,
) -> bool:
    """True if the change affects the value of config `name` that topics of a namespace inherit.

    Args:
        at: The level that is changed: its kind and the name of its resource.
        new: The new values at that level.
    """
    definition = TOPIC_CONFIGS[name]
    before = effective_config(namespace_levels(context, namespace), definition)
    changed = (_changed(level, at, new) for level in namespace_levels(context, namespace))
    return effective_config(changed, definition).effective != before.effective


def _changed(level: Level, at: tuple[ConfigSource, str], new: NewValues) -> Level:
    """Return a level, with the new values if it is the level that changes (`at`)."""
    if (level.source, level.resource_name) != at:
        return level
    return level._replace(value=_overlaid(level.value, new))


def _overlaid(old: Callable[[str], str | None], new: NewValues) -> Callable[[str], str | None]:
    return lambda name: new[name] if name in new else old(name)


def _inheriting(image: MetadataImage, namespace_id: Uuid | None, names: list[str]) -> int:
    """Count the topics directly in a namespace that inherit at least one of these configs."""
    return sum(
        1
        for topic in image.topics_in(namespace_id)
        if any(image.config_value(TOPIC, image.full_name(topic), name) is None for name in names)
    )
