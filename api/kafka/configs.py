"""Config requests: conversion between Kafka's messages and our commands and queries.

Each config level becomes one of Kafka's synonyms. The namespace level, which Kafka does not have,
gets the code of an unknown config source.

Source: ConfigHelper and ConfigAdminManager of Kafka 4.0.
"""

from collections.abc import Iterable, Sequence

from api.kafka.errors import code_of, refusal_code, refusal_message
from api.kafka.messages.configs import (
    AlterableConfig,
    AlterConfigsRequest,
    AlterConfigsResourceResponse,
    AlterConfigsResponse,
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from controller.decisions.config_definitions.brokers import OF_BROKERS
from controller.decisions.config_definitions.definition import ConfigType
from controller.decisions.config_definitions.resources import find_definition
from controller.decisions.configs.changes import (
    AlterConfigs,
    ConfigChange,
    Operation,
    ReplaceConfigs,
    ResourceChange,
    ResourceResult,
)
from controller.decisions.configs.effective import CLUSTER_DEFAULT, ConfigSource
from controller.decisions.outcome import Refusal
from controller.descriptions.configs import ConfigAtLevel, ConfigExplained, ExplainConfigs
from records.errors import RequestError
from records.secrets import is_secret_config
from replay.image.configs import BROKER, BROKER_LOGGER, GROUP, NAMESPACE, TOPIC

_OPERATIONS = dict(
    enumerate((Operation.SET, Operation.DELETE, Operation.APPEND, Operation.SUBTRACT))
)

_TYPES = {
    ConfigType.BOOLEAN: 1,
    ConfigType.STRING: 2,
    ConfigType.INT: 3,
    ConfigType.SHORT: 4,
    ConfigType.LONG: 5,
    ConfigType.DOUBLE: 6,
    ConfigType.LIST: 7,
    ConfigType.CLASS: 8,
    ConfigType.PASSWORD: 9,
}
_TEXTS = {ConfigType.STRING.value, ConfigType.LIST.value}


def question(resource: DescribeConfigsResource) -> ExplainConfigs:
    """Return the query for one resource of a DescribeConfigs."""
    return ExplainConfigs(
        resource_type=resource.resource_type, resource_name=resource.resource_name
    )


def described(
    request: DescribeConfigsRequest,
    resource: DescribeConfigsResource,
    configs: Iterable[ConfigExplained],
) -> DescribeConfigsResult:
    """Return the result for a resource: all of its configs, or the requested ones that exist."""
    wanted = resource.configuration_keys
    entries = [_entry(request, resource, c) for c in configs if not wanted or c.name in wanted]
    return DescribeConfigsResult(
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
        configs=tuple([entry for entry in entries if entry is not None]),
    )


def not_described(resource: DescribeConfigsResource, error: RequestError) -> DescribeConfigsResult:
    """Return the result for a resource whose configs may not be described."""
    return DescribeConfigsResult(
        error_code=code_of(error.code),
        error_message=str(error),
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
    )


def description_refused(
    request: DescribeConfigsRequest, error: RequestError
) -> DescribeConfigsResponse:
    """Return the response to a request that is refused as a whole."""
    return DescribeConfigsResponse(
        results=tuple([not_described(resource, error) for resource in request.resources])
    )


def _entry(
    request: DescribeConfigsRequest, resource: DescribeConfigsResource, config: ConfigExplained
) -> DescribeConfigsResourceResult | None:
    """Return a config's entry; None for the cluster default if that does not have the config."""
    levels = _levels(resource, config)
    if not levels and _is_cluster(resource):
        return None
    first = levels[0] if levels else None
    value: str | None = config.value
    if resource.resource_type == BROKER:
        value = None if first is None or _is_of_the_broker(config, first) else first.value
    # Names of loggers are of any kind, and their levels no secrets.
    is_sensitive = resource.resource_type != BROKER_LOGGER and is_secret_config(config.name)
    if is_sensitive or (value == "" and config.type not in _TEXTS):
        value = None
    source = ConfigSource.DEFAULT.code if first is None else first.source_code
    return DescribeConfigsResourceResult(
        name=config.name,
        value=value,
        read_only=config.read_only,
        config_source=source,
        is_sensitive=is_sensitive,
        synonyms=tuple([_synonym(each, is_sensitive) for each in levels])
        if request.include_synonyms and _has_synonyms(resource)
        else (),
        config_type=_TYPES[ConfigType(config.type)],
        documentation=config.doc if request.include_documentation else None,
    )


def _is_of_the_broker(config: ConfigExplained, level: ConfigAtLevel) -> bool:
    """True if the value is an option of the broker's process, which adds it to its own answers."""
    return config.name in OF_BROKERS and level.source_code == ConfigSource.DEFAULT.code


def _levels(resource: DescribeConfigsResource, config: ConfigExplained) -> Sequence[ConfigAtLevel]:
    """Return the levels that a Kafka broker uses for the config, the most specific first."""
    type_, levels = resource.resource_type, config.levels
    if _is_cluster(resource):
        return [each for each in levels if each.source_code == ConfigSource.CLUSTER.code]
    if type_ == BROKER:
        # Without the ones before it that have other names, as of `log.retention.hours`.
        skipped = next((i for i, each in enumerate(levels) if each.name == config.name), None)
        return [] if skipped is None else levels[skipped:]
    if type_ == GROUP:
        return [_of_group(config)]
    definition = find_definition(type_, config.name)
    if type_ in (TOPIC, NAMESPACE) and (definition is None or not definition.server_names):
        return [each for each in levels if each.source_code != ConfigSource.DEFAULT.code]
    return levels


def _of_group(config: ConfigExplained) -> ConfigAtLevel:
    """Return a group config's value as a level: GROUP if the group sets it, else DEFAULT."""
    nearest = config.levels[0] if config.levels else None
    own = ConfigSource.GROUP.code
    is_own = nearest is not None and nearest.source_code == own
    code = own if is_own else ConfigSource.DEFAULT.code
    return ConfigAtLevel(level="", name=config.name, value=config.value, source_code=code)


def _is_cluster(resource: DescribeConfigsResource) -> bool:
    return resource.resource_type == BROKER and resource.resource_name == CLUSTER_DEFAULT


def _has_synonyms(resource: DescribeConfigsResource) -> bool:
    return resource.resource_type in (TOPIC, BROKER, GROUP, NAMESPACE)


def _synonym(level: ConfigAtLevel, is_sensitive: bool) -> DescribeConfigsSynonym:
    return DescribeConfigsSynonym(
        name=level.name,
        value=None if is_sensitive else level.value,
        source=level.source_code,
    )


def replacement(request: AlterConfigsRequest) -> ReplaceConfigs:
    """Return the command for an AlterConfigs."""
    return ReplaceConfigs(
        resources=tuple(
            [
                ResourceChange(
                    resource_type=resource.resource_type,
                    resource_name=resource.resource_name,
                    changes=tuple([ConfigChange(c.name, c.value) for c in resource.configs]),
                )
                for resource in request.resources
            ]
        ),
        validate_only=request.validate_only,
    )


def alteration(request: IncrementalAlterConfigsRequest) -> AlterConfigs:
    """Return the command for an IncrementalAlterConfigs."""
    return AlterConfigs(
        resources=tuple(
            [
                ResourceChange(
                    resource_type=resource.resource_type,
                    resource_name=resource.resource_name,
                    changes=tuple([_change(config) for config in resource.configs]),
                )
                for resource in request.resources
            ]
        ),
        validate_only=request.validate_only,
    )


def _change(config: AlterableConfig) -> ConfigChange:
    operation = _OPERATIONS.get(config.config_operation, Operation.UNKNOWN)
    return ConfigChange(config.name, config.value, operation)


def replacement_response(results: Iterable[ResourceResult]) -> AlterConfigsResponse:
    """Return the response with the result of each resource."""
    return AlterConfigsResponse(responses=_responses(results))


def alteration_response(results: Iterable[ResourceResult]) -> IncrementalAlterConfigsResponse:
    """Return the response with the result of each resource."""
    return IncrementalAlterConfigsResponse(responses=_responses(results))


def replacement_refused(request: AlterConfigsRequest, error: RequestError) -> AlterConfigsResponse:
    """Return the response to a request that is refused as a whole."""
    return replacement_response(_refused(request, error))


def alteration_refused(
    request: IncrementalAlterConfigsRequest, error: RequestError
) -> IncrementalAlterConfigsResponse:
    """Return the response to a request that is refused as a whole."""
    return alteration_response(_refused(request, error))


def _refused(
    request: AlterConfigsRequest | IncrementalAlterConfigsRequest, error: RequestError
) -> list[ResourceResult]:
    return [
        ResourceResult(
            resource_type=resource.resource_type,
            resource_name=resource.resource_name,
            refusal=Refusal.of(error),
        )
        for resource in request.resources
    ]


def _responses(results: Iterable[ResourceResult]) -> tuple[AlterConfigsResourceResponse, ...]:
    return tuple(
        [
            AlterConfigsResourceResponse(
                error_code=refusal_code(result.refusal),
                error_message=refusal_message(result.refusal),
                resource_type=result.resource_type,
                resource_name=result.resource_name,
            )
            for result in results
        ]
    )
