"""Messages about access control entries (ACLs): describe, create, delete.

Source: KIP-140, KIP-290 (pattern types, version 1).
"""

from typing import Annotated

from api.kafka.fields import Int8, Int16, Int32, Message, Request, Response, since

LITERAL, ANY = 3, 1


class AclFilterFields(Message, frozen=True, kw_only=True):
    """A filter for ACLs; in each field, null or the code 1 (ANY) matches everything."""

    resource_type_filter: Int8 = ANY
    resource_name_filter: str | None = None
    pattern_type_filter: Annotated[Int8, since(1)] = LITERAL
    principal_filter: str | None = None
    host_filter: str | None = None
    operation: Int8 = ANY
    permission_type: Int8 = ANY


class DescribeAclsRequest(AclFilterFields, Request, frozen=True, kw_only=True):
    """List the ACLs that a filter matches."""


class AclDescription(Message, frozen=True, kw_only=True):
    """An ACL, without its resource."""

    principal: str
    host: str
    operation: Int8
    permission_type: Int8


class DescribeAclsResource(Message, frozen=True, kw_only=True):
    """A resource pattern and its ACLs."""

    resource_type: Int8
    resource_name: str
    pattern_type: Annotated[Int8, since(1)] = LITERAL
    acls: tuple[AclDescription, ...] = ()


class DescribeAclsResponse(Response, frozen=True, kw_only=True):
    """The matching ACLs, grouped by resource pattern, or an error."""

    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    error_message: str | None = None
    resources: tuple[DescribeAclsResource, ...] = ()


class NewAcl(Message, frozen=True, kw_only=True):
    """An ACL to create."""

    resource_type: Int8
    resource_name: str
    resource_pattern_type: Annotated[Int8, since(1)] = LITERAL
    principal: str
    host: str
    operation: Int8
    permission_type: Int8


class CreateAclsRequest(Request, frozen=True, kw_only=True):
    """Create ACLs."""

    creations: tuple[NewAcl, ...]


class AclCreationResult(Message, frozen=True, kw_only=True):
    """Result of creating one ACL."""

    error_code: Int16 = 0
    error_message: str | None = None


class CreateAclsResponse(Response, frozen=True, kw_only=True):
    """One result for each ACL, in the order of the request."""

    throttle_time_ms: Int32 = 0
    results: tuple[AclCreationResult, ...] = ()


class DeleteAclsRequest(Request, frozen=True, kw_only=True):
    """Delete all ACLs that match any of the filters."""

    filters: tuple[AclFilterFields, ...]


class DeletedAcl(Message, frozen=True, kw_only=True):
    """A deleted ACL, or the error of its deletion."""

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
    """The ACLs deleted for one filter, or an error."""

    error_code: Int16 = 0
    error_message: str | None = None
    matching_acls: tuple[DeletedAcl, ...] = ()


class DeleteAclsResponse(Response, frozen=True, kw_only=True):
    """One result for each filter, in the order of the request."""

    throttle_time_ms: Int32 = 0
    filter_results: tuple[DeleteAclsFilterResult, ...] = ()
