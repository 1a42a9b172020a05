"""Access control entries: describe, create, delete.

Source: KIP-140, KIP-290 (pattern types, version 1).
"""

from typing import Annotated

from api.kafka.fields import Int8, Int16, Int32, Message, Request, Response, since

LITERAL, ANY = 3, 1


class AclFilterFields(Message, frozen=True, kw_only=True):
    """Selects entries; null, and the code 1, match everything."""

    resource_type_filter: Int8 = ANY
    resource_name_filter: str | None = None
    pattern_type_filter: Annotated[Int8, since(1)] = LITERAL
    principal_filter: str | None = None
    host_filter: str | None = None
    operation: Int8 = ANY
    permission_type: Int8 = ANY


class DescribeAclsRequest(AclFilterFields, Request, frozen=True, kw_only=True):
    """List the entries that a filter selects."""


class AclDescription(Message, frozen=True, kw_only=True):
    """An entry on a resource."""

    principal: str
    host: str
    operation: Int8
    permission_type: Int8


class DescribeAclsResource(Message, frozen=True, kw_only=True):
    """A resource pattern and its entries."""

    resource_type: Int8
    resource_name: str
    pattern_type: Annotated[Int8, since(1)] = LITERAL
    acls: tuple[AclDescription, ...] = ()


class DescribeAclsResponse(Response, frozen=True, kw_only=True):
    """The answer."""

    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    error_message: str | None = None
    resources: tuple[DescribeAclsResource, ...] = ()


class NewAcl(Message, frozen=True, kw_only=True):
    """An entry to create."""

    resource_type: Int8
    resource_name: str
    resource_pattern_type: Annotated[Int8, since(1)] = LITERAL
    principal: str
    host: str
    operation: Int8
    permission_type: Int8


class CreateAclsRequest(Request, frozen=True, kw_only=True):
    """Create entries."""

    creations: tuple[NewAcl, ...]


class AclCreationResult(Message, frozen=True, kw_only=True):
    """Result of one entry."""

    error_code: Int16 = 0
    error_message: str | None = None


class CreateAclsResponse(Response, frozen=True, kw_only=True):
    """The answer."""

    throttle_time_ms: Int32 = 0
    results: tuple[AclCreationResult, ...] = ()


class DeleteAclsRequest(Request, frozen=True, kw_only=True):
    """Delete all entries that each filter selects."""

    filters: tuple[AclFilterFields, ...]


class DeletedAcl(Message, frozen=True, kw_only=True):
    """An entry that a filter selected."""

    error_code: Int16 = 0
    error_message: str | None = None
    resource_type: Int8
    resource_name: str
    pattern_type: Annotated[Int8, since(1)] = LITERAL
    principal: str
    host: str
    operation: Int8
    permission_type: Int8


class DeleteAclsFilterResult(Message, frozen=True, kw_only=True):
    """Result of one filter."""

    error_code: Int16 = 0
    error_message: str | None = None
    matching_acls: tuple[DeletedAcl, ...] = ()


class DeleteAclsResponse(Response, frozen=True, kw_only=True):
    """The answer."""

    throttle_time_ms: Int32 = 0
    filter_results: tuple[DeleteAclsFilterResult, ...] = ()
