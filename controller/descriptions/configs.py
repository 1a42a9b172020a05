"""Configs of a topic, a namespace, a broker or the cluster described."""

import msgspec
from msgspec.structs import replace

from controller.decisions.config_definitions import unknown_definition
from controller.decisions.effective_configs import (
    BROKER,
    ConfigSource,
    effective_config,
    namespace_levels,
)
from controller.decisions.lookup import TopicRef, find_namespace, find_topic
from controller.decisions.namespace_configs import NAMESPACE_CONFIGS
from controller.descriptions.topics import configs_version, topic_configs
from controller.descriptions.view import View
from records.errors import RequestError
from records.secrets import REDACTED, is_secret_config
from replay.image.configs import NAMESPACE, TOPIC


class ConfigSetting(msgspec.Struct, frozen=True, kw_only=True):
    """A config, its value, and the level that sets it, such as `topic` or `broker`.

    `namespace` is the one that sets it, if one does.
    """

    name: str
    value: str
    source: str
    namespace: str | None = None

    def redacted(self) -> "ConfigSetting":
        """Return the same without its value if that is a secret."""
        return replace(self, value=REDACTED) if is_secret_config(self.name) else self


class ConfigsDescribed(msgspec.Struct, frozen=True, kw_only=True):
    """The configs of a resource, ordered by name.

    `version` is that of the configs that it sets itself; None if it sets none.
    """

    configs: tuple[ConfigSetting, ...]
    version: int | None = None

    def redacted(self) -> "ConfigsDescribed":
        """Return the same without the values of secrets."""
        return replace(self, configs=tuple([config.redacted() for config in self.configs]))


def describe_configs(view: View, resource_type: int, name: TopicRef) -> ConfigsDescribed:
    """Describe the configs of a resource.

    Of a topic or namespace those that other levels set, too; of a broker or the cluster only its
    own.

    Raises:
        RequestError: UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_TOPIC_ID, INVALID_TOPIC_EXCEPTION (an
            InvalidNamespace) or BROKER_ID_NOT_REGISTERED.
    """
    if resource_type == BROKER:
        return _broker_configs(view, name)
    if resource_type == NAMESPACE:
        return _namespace_configs(view, str(name))
    topic = find_topic(view.image, name)
    return ConfigsDescribed(
        configs=tuple(
            [
                ConfigSetting(
                    name=c.name, value=c.value, source=c.source.value, namespace=c.namespace
                )
                for c in topic_configs(view, topic)
            ]
        ),
        version=configs_version(view.image, TOPIC, view.image.full_name(topic)),
    )


def _broker_configs(view: View, name: TopicRef) -> ConfigsDescribed:
    if not _is_known(view, name):
        raise RequestError("BROKER_ID_NOT_REGISTERED", f"broker {name!s} is not registered")
    source = ConfigSource.BROKER if name else ConfigSource.CLUSTER
    own = sorted(view.image.config(BROKER, str(name)).items())
    return ConfigsDescribed(
        configs=tuple([ConfigSetting(name=k, value=v, source=source.value) for k, v in own]),
        version=configs_version(view.image, BROKER, str(name)),
    )


def _namespace_configs(view: View, name: str) -> ConfigsDescribed:
    find_namespace(view.image, name)
    found = []
    for config in sorted(NAMESPACE_CONFIGS.keys() | view.image.config(NAMESPACE, name).keys()):
        definition = NAMESPACE_CONFIGS.get(config) or unknown_definition(config)
        setting = effective_config(namespace_levels(view, name), definition)
        found.append(
            ConfigSetting(
                name=config,
                value=setting.effective,
                source=setting.source.value,
                namespace=setting.namespace,
            )
        )
    version = configs_version(view.image, NAMESPACE, name)
    return ConfigsDescribed(configs=tuple(found), version=version)


def _is_known(view: View, name: TopicRef) -> bool:
    """True for the cluster ("") and for the id of a registered broker."""
    if not isinstance(name, str):
        return False
    is_number = name.isascii() and name.isdigit()
    return name == "" or (is_number and view.image.broker(int(name)) is not None)
