"""Verbs of scenarios about configs and feature levels."""

from collections.abc import Callable
from functools import partial
from typing import Any

from controller.decisions.config_definitions.topics import TOPIC_CONFIGS
from controller.decisions.configs.changes import (
    AlterConfigs,
    ConfigChange,
    Operation,
    ReplaceConfigs,
    ResourceChange,
    alter_configs,
    replace_configs,
)
from controller.decisions.configs.effective import (
    BROKER,
    CLUSTER_DEFAULT,
    effective_config,
    topic_levels,
)
from controller.decisions.features.levels_in_use import (
    FeatureUpdate,
    UpdateFeatures,
    UpgradeType,
    update_features,
)
from records.configs import ConfigRecord
from replay.image.configs import RESOURCE_TYPES, TOPIC
from tests.controller.cluster import Cluster


def _configure(cluster: Cluster, resources: str, *deleted: str, **values: str) -> Any:
    """Resources such as `cluster`, `broker/1`, `topic/a+topic/b`; a name without a value is
    deleted.
    """
    changes = [ConfigChange(key, value) for key, value in values.items()]
    changes += [ConfigChange(key, operation=Operation.DELETE) for key in deleted]
    changed = tuple([_changed(name, changes) for name in resources.split("+")])
    return cluster.do(alter_configs, AlterConfigs(resources=changed))


def _change_items(cluster: Cluster, resource: str, *, operation: Operation, **values: str) -> Any:
    """Append items to list configs, or remove them."""
    changes = [ConfigChange(key, value, operation) for key, value in values.items()]
    return cluster.do(alter_configs, AlterConfigs(resources=(_changed(resource, changes),)))


def _replace_configs(cluster: Cluster, resource: str, **values: str) -> Any:
    changes = [ConfigChange(key, value) for key, value in values.items()]
    return cluster.do(replace_configs, ReplaceConfigs(resources=(_changed(resource, changes),)))


def _changed(resource: str, changes: list[ConfigChange]) -> ResourceChange:
    type_, name = _config_resource(resource)
    return ResourceChange(resource_type=type_, resource_name=name, changes=tuple(changes))


def _config_resource(text: str) -> tuple[int, str]:
    kind, _, name = text.partition("/")
    return (BROKER, CLUSTER_DEFAULT) if kind == "cluster" else (RESOURCE_TYPES[kind], name)


def _update_features(cluster: Cluster, by: str = "upgrade", **levels: str) -> Any:
    """`by`: upgrade, safe_downgrade or unsafe_downgrade, for all given features."""
    updates = [
        FeatureUpdate(name=name, level=int(level), upgrade_type=UpgradeType[by.upper()])
        for name, level in levels.items()
    ]
    return cluster.do(update_features, UpdateFeatures(updates=tuple(updates)))


def _write_config(cluster: Cluster, resource: str, **values: str) -> None:
    """Write configs without validation, like in a log from elsewhere."""
    type_, name = _config_resource(resource)
    if type_ == TOPIC:
        name = cluster.image.full_name(cluster.topic(name))
    cluster.write(
        [
            ConfigRecord(resource_type=type_, resource_name=name, name=key, value=value)
            for key, value in values.items()
        ]
    )


def _effective(cluster: Cluster, topic: str, name: str) -> str:
    """Return the effective value of a topic's config, and the kind of level that sets it."""
    levels = topic_levels(cluster.context(), cluster.topic(topic))
    found = effective_config(levels, TOPIC_CONFIGS[name])
    return f"{found.effective} from {found.source.value}"


VERBS: dict[str, Callable[..., Any]] = {
    "update-features": _update_features,
    "configure": _configure,
    "append-items": partial(_change_items, operation=Operation.APPEND),
    "subtract-items": partial(_change_items, operation=Operation.SUBTRACT),
    "replace-configs": _replace_configs,
    "write-config": _write_config,
    "effective": _effective,
}
