"""Configs of a topic, a broker or the cluster described."""

import msgspec
from msgspec.structs import replace

from controller.decisions.effective_configs import BROKER, ConfigSource
from controller.decisions.lookup import TopicRef, find_topic
from controller.descriptions.topics import configs_version, topic_configs
from controller.descriptions.view import View
from records.errors import RequestError
from records.secrets import REDACTED, is_secret_config
from replay.image.configs import TOPIC


class ConfigSetting(msgspec.Struct, frozen=True, kw_only=True):
    """A config, its value, and the level that sets it, such as `topic` or `broker`."""

    name: str
    value: str
    source: str

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

    Of a topic those that other levels set, too; of a broker or the cluster only its own.

    Raises:
        RequestError: UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_TOPIC_ID or BROKER_ID_NOT_REGISTERED.
    """
    if resource_type != BROKER:
        topic = find_topic(view.image, name)
        return ConfigsDescribed(
            configs=tuple(
                [
                    ConfigSetting(name=c.name, value=c.value, source=c.source.value)
                    for c in topic_configs(view, topic)
                ]
            ),
            version=configs_version(view.image, TOPIC, view.image.full_name(topic)),
        )
    if not _is_known(view, name):
        raise RequestError("BROKER_ID_NOT_REGISTERED", f"broker {name!s} is not registered")
    source = ConfigSource.BROKER if name else ConfigSource.CLUSTER
    own = sorted(view.image.config(BROKER, str(name)).items())
    return ConfigsDescribed(
        configs=tuple([ConfigSetting(name=k, value=v, source=source.value) for k, v in own]),
        version=configs_version(view.image, BROKER, str(name)),
    )


def _is_known(view: View, name: TopicRef) -> bool:
    """True for the cluster ("") and for the id of a registered broker."""
    if not isinstance(name, str):
        return False
    is_number = name.isascii() and name.isdigit()
    return name == "" or (is_number and view.image.broker(int(name)) is not None)
