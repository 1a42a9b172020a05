"""Messages about configs: describe, replace all, change some.

Source: KIP-133, KIP-226 (synonyms), KIP-339 (incremental changes), KIP-569 (types, documentation),
KIP-1142 (list of resources).
"""

from typing import Annotated

from api.kafka.fields import Int8, Int16, Int32, Message, Request, Response, since

UNKNOWN_SOURCE = 0


class DescribeConfigsResource(Message, frozen=True, kw_only=True):
    """A resource and the names of its configs to describe; null or an empty list means all."""

    resource_type: Int8
    resource_name: str
    configuration_keys: tuple[str, ...] | None = None


class DescribeConfigsRequest(Request, frozen=True, kw_only=True):
    """Describe the configs of resources."""

    resources: tuple[DescribeConfigsResource, ...]
    include_synonyms: bool = False
    include_documentation: Annotated[bool, since(3)] = False


class DescribeConfigsSynonym(Message, frozen=True, kw_only=True):
    """A config's name and value at one level that sets it; a secret value is null."""

    name: str
    value: str | None = None
    source: Int8 = UNKNOWN_SOURCE


class DescribeConfigsResourceResult(Message, frozen=True, kw_only=True):
    """A config and its effective value; a secret value is null."""

    name: str
    value: str | None = None
    read_only: bool = False
    config_source: Int8 = UNKNOWN_SOURCE
    is_sensitive: bool = False
    synonyms: tuple[DescribeConfigsSynonym, ...] = ()
    config_type: Annotated[Int8, since(3)] = 0
    documentation: Annotated[str | None, since(3)] = None


class DescribeConfigsResult(Message, frozen=True, kw_only=True):
    """The configs of a resource, or an error."""

    error_code: Int16 = 0
    error_message: str | None = None
    resource_type: Int8
    resource_name: str
    configs: tuple[DescribeConfigsResourceResult, ...] = ()


class DescribeConfigsResponse(Response, frozen=True, kw_only=True):
    """The results of DescribeConfigs, one for each resource."""

    throttle_time_ms: Int32 = 0
    results: tuple[DescribeConfigsResult, ...] = ()


class ReplacedConfig(Message, frozen=True, kw_only=True):
    """A config to set."""

    name: str
    value: str | None = None


class ReplacedResource(Message, frozen=True, kw_only=True):
    """A resource and the new list of all its configs."""

    resource_type: Int8
    resource_name: str
    configs: tuple[ReplacedConfig, ...]


class AlterConfigsRequest(Request, frozen=True, kw_only=True):
    """Replace all configs of resources; configs that are not in the request are deleted."""

    resources: tuple[ReplacedResource, ...]
    validate_only: bool = False


class AlterableConfig(Message, frozen=True, kw_only=True):
    """A config to change: its name, the operation, and the operand."""

    name: str
    config_operation: Int8
    value: str | None = None


class AlterableResource(Message, frozen=True, kw_only=True):
    """A resource and the changes to its configs."""

    resource_type: Int8
    resource_name: str
    configs: tuple[AlterableConfig, ...]


class IncrementalAlterConfigsRequest(Request, frozen=True, kw_only=True):
    """Change some configs of resources."""

    resources: tuple[AlterableResource, ...]
    validate_only: bool = False


class AlterConfigsResourceResponse(Message, frozen=True, kw_only=True):
    """Result of changing the configs of one resource."""

    error_code: Int16 = 0
    error_message: str | None = None
    resource_type: Int8
    resource_name: str


class AlterConfigsResponse(Response, frozen=True, kw_only=True):
    """The results of AlterConfigs, one for each resource."""

    throttle_time_ms: Int32 = 0
    responses: tuple[AlterConfigsResourceResponse, ...] = ()


class IncrementalAlterConfigsResponse(AlterConfigsResponse, frozen=True, kw_only=True):
    """The results of IncrementalAlterConfigs, one for each resource."""
