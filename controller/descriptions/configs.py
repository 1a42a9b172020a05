"""Describes the configs of any resource, and explains them level by level."""

import msgspec
from msgspec.structs import replace

from controller.decisions.config_definitions.brokers import OF_BROKERS, OF_EACH_PROCESS
from controller.decisions.config_definitions.definition import (
    ConfigDefinition,
    Update,
    unknown_definition,
)
from controller.decisions.config_definitions.resources import (
    ConfigResourceCode,
    definitions,
    find_definition,
    unknown_config,
)
from controller.decisions.configs.effective import (
    BROKER,
    CLUSTER_DEFAULT,
    ConfigSource,
    Setting,
    default_settings,
    effective_config,
    levels_of,
    settings_of,
)
from controller.decisions.lookup import TopicRef, find_namespace, find_topic, is_broker_id
from controller.decisions.request import Request
from controller.descriptions.topics import configs_version
from controller.descriptions.view import View
from records.errors import RequestError
from records.secrets import REDACTED, is_secret_config
from replay.image.configs import BROKER_LOGGER, NAMESPACE, TOPIC, ConfigResource


class ConfigSetting(msgspec.Struct, frozen=True, kw_only=True):
    """A config, its value, and the kind of level that sets it, such as `topic` or `broker`.

    `namespace` is the namespace that sets it, or None; `level` is the level with its resource, such
    as `namespace/org`.
    """

    name: str
    value: str
    source: str
    namespace: str | None = None
    level: str | None = None

    def redacted(self) -> "ConfigSetting":
        """Return a copy without its value if the value is secret."""
        return replace(self, value=REDACTED) if is_secret_config(self.name) else self


class ConfigsDescribed(msgspec.Struct, frozen=True, kw_only=True):
    """The configs of a resource, ordered by name.

    `version` is the version of the configs that the resource sets itself; None if it sets none.
    """

    configs: tuple[ConfigSetting, ...]
    version: int | None = None

    def redacted(self) -> "ConfigsDescribed":
        """Return a copy without the values of secrets."""
        return replace(self, configs=tuple([config.redacted() for config in self.configs]))


class ConfigAtLevel(msgspec.Struct, frozen=True, kw_only=True):
    """A config set at one level: `name` is its name there, `value` the text there.

    `source_code` is Kafka's code for the kind of level.
    """

    level: str
    name: str
    value: str
    source_code: int


class ConfigExplained(msgspec.Struct, frozen=True, kw_only=True):
    """A config: its effective value, the levels that set it, and its definition.

    The levels are ordered by precedence, highest first. The last one is the built-in default; a
    config that this release does not know has no default.
    `of_process`: the broker's process may have an option with another value, which only the broker
    itself knows; DescribeConfigs sent to the broker returns that value.
    """

    name: str
    value: str
    level: str
    levels: tuple[ConfigAtLevel, ...]
    type: str
    valid_values: str
    default: str
    doc: str
    since: str
    read_only: bool
    of_process: bool = False

    def redacted(self) -> "ConfigExplained":
        """Return a copy without its values if the config is secret."""
        if not is_secret_config(self.name):
            return self
        levels = tuple([replace(level, value=REDACTED) for level in self.levels])
        return replace(self, value=REDACTED, levels=levels)


class DescribeConfigs(Request["ConfigsDescribed"], frozen=True, kw_only=True):
    """A request for the configs of a resource; the cluster is the broker "".

    `show_secrets`: include the values of secrets, which requires a separate right. `effective`: for
    all types, include configs that the resource does not set itself; for topics and namespaces
    these are always included.
    """

    resource_type: ConfigResourceCode
    resource_name: TopicRef
    show_secrets: bool = False
    effective: bool = False


class ExplainConfigs(Request["tuple[ConfigExplained, ...]"], frozen=True, kw_only=True):
    """A request for the levels that set a resource's config; None means each of its configs."""

    resource_type: ConfigResourceCode
    resource_name: TopicRef
    config: str | None = None
    show_secrets: bool = False


def configs_described(view: View, request: DescribeConfigs) -> ConfigsDescribed:
    """Describe a resource's configs, ordered by name, and return the version of its configs.

    Raises:
        RequestError: UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_TOPIC_ID, BROKER_ID_NOT_REGISTERED,
            INVALID_TOPIC_EXCEPTION if there is no such namespace, or INVALID_REQUEST if the type
            of the resource is unknown.
    """
    resource = _resource(view, request.resource_type, request.resource_name)
    is_effective = request.effective or request.resource_type in (TOPIC, NAMESPACE)
    found = []
    for config in _names(view, resource, is_effective):
        setting = effective_config(levels_of(view, resource), _definition(resource, config))
        found.append(
            ConfigSetting(
                name=config,
                value=setting.effective,
                source=setting.source.value,
                namespace=setting.namespace,
                level=setting.level,
            )
        )
    described = ConfigsDescribed(
        configs=tuple(found), version=configs_version(view.image, *resource)
    )
    return described if _is_shown(request) else described.redacted()


def configs_explained(view: View, request: ExplainConfigs) -> tuple[ConfigExplained, ...]:
    """Explain one config of a resource, or all its configs, ordered by name.

    Raises:
        RequestError: as of `configs_described`, or INVALID_CONFIG: the resource does not have the
            config, and cannot have it.
    """
    resource, config = _resource(view, request.resource_type, request.resource_name), request.config
    if config is None:
        names = _names(view, resource, True)
    else:
        names = [config]
        is_set = view.image.config_value(*resource, config) is not None
        if find_definition(request.resource_type, config) is None and not is_set:
            raise unknown_config(request.resource_type, config)
    found = [_explained(view, resource, name) for name in names]
    return tuple(found if _is_shown(request) else [config.redacted() for config in found])


def _is_shown(request: DescribeConfigs | ExplainConfigs) -> bool:
    """True if no value is redacted: if so requested, or for levels of loggers, never secret."""
    return request.show_secrets or request.resource_type == BROKER_LOGGER


def _explained(view: View, resource: ConfigResource, config: str) -> ConfigExplained:
    definition = _definition(resource, config)
    settings = [*settings_of(levels_of(view, resource), definition)]
    defaults = default_settings(definition) if definition.since else []
    effective = effective_config(iter(()), definition) if not settings else settings[0]
    return ConfigExplained(
        name=config,
        value=effective.effective,
        level=effective.level,
        levels=tuple([_at_level(setting) for setting in (*settings, *defaults)]),
        type=definition.type.value,
        valid_values=definition.valid_values,
        default=definition.default,
        doc=definition.doc,
        since=definition.since,
        read_only=resource[0] == BROKER and definition.update is Update.FILE,
        of_process=_is_of_process(resource, config, effective),
    )


def _is_of_process(resource: ConfigResource, config: str, effective: Setting) -> bool:
    type_, name = resource
    is_unset = effective.source is ConfigSource.DEFAULT
    is_own = config in OF_BROKERS or config in OF_EACH_PROCESS
    return type_ == BROKER and name != CLUSTER_DEFAULT and is_own and is_unset


def _at_level(setting: Setting) -> ConfigAtLevel:
    return ConfigAtLevel(
        level=setting.level,
        name=setting.name,
        value=setting.value,
        source_code=setting.source.code,
    )


def _definition(resource: ConfigResource, config: str) -> ConfigDefinition:
    return find_definition(resource[0], config) or unknown_definition(config)


def _names(view: View, resource: ConfigResource, with_all: bool) -> list[str]:
    own = view.image.config(*resource)
    return sorted(own.keys() | definitions(resource[0]).keys() if with_all else own)


def _resource(view: View, resource_type: int, name: TopicRef) -> ConfigResource:
    """Return an existing resource by its name.

    Client metrics and groups of any name count as existing, and loggers of any registered broker.
    """
    definitions(resource_type)  # refuses an unknown type
    if resource_type == TOPIC:
        return TOPIC, view.image.full_name(find_topic(view.image, name))
    if not isinstance(name, str):
        raise RequestError("INVALID_REQUEST", "only topics can be given by id; give a name")
    if resource_type == NAMESPACE and find_namespace(view.image, name) is None:
        raise RequestError("INVALID_REQUEST", "the default namespace has no configs")
    needs_broker = resource_type == BROKER_LOGGER or (
        resource_type == BROKER and name != CLUSTER_DEFAULT
    )
    if needs_broker and not _is_registered(view, name):
        raise RequestError("BROKER_ID_NOT_REGISTERED", f"broker {name} is not registered")
    return resource_type, name


def _is_registered(view: View, name: str) -> bool:
    return is_broker_id(name) and view.image.broker(int(name)) is not None
