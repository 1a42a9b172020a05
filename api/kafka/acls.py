"""ACL requests: conversion between Kafka's messages and the controller's decisions.

Kafka's clients do not know ACLs on namespaces. In their filters "any type" therefore means any of
Kafka's resource types, so that an ACL on a namespace is neither returned nor deleted.
"""

from collections.abc import Iterable
from itertools import groupby

from api.kafka.errors import code_of, refusal_code, refusal_message
from api.kafka.messages.acls import (
    ANY,
    AclCreationResult,
    AclDescription,
    AclFilterFields,
    CreateAclsRequest,
    CreateAclsResponse,
    DeleteAclsFilterResult,
    DeleteAclsRequest,
    DeleteAclsResponse,
    DeletedAcl,
    DescribeAclsRequest,
    DescribeAclsResource,
    DescribeAclsResponse,
)
from controller.authorization.authorizer import ResourceType
from controller.decisions.outcome import Refusal
from controller.decisions.security.acls import (
    AclBinding,
    AclCreation,
    AclDeletion,
    AclFilter,
    AclFound,
    CreateAcls,
    DeleteAcls,
)
from controller.descriptions.acls import ListAcls
from records.errors import RequestError
from replay.image.fields import copied

_KAFKAS = tuple([each.value for each in ResourceType if each is not ResourceType.NAMESPACE])


def listing(request: DescribeAclsRequest) -> ListAcls:
    """Return the controller's query for a DescribeAcls message."""
    return ListAcls(filter=_filter(request))


def listing_response(acls: Iterable[AclFound]) -> DescribeAclsResponse:
    """Return the response with these ACLs, which must be ordered by resource."""
    by_pattern = groupby(acls, lambda a: (a.resource_type, a.resource_name, a.pattern_type))
    return DescribeAclsResponse(
        resources=tuple(
            [
                DescribeAclsResource(
                    resource_type=resource_type,
                    resource_name=name,
                    pattern_type=pattern_type,
                    acls=tuple([_description(acl) for acl in on]),
                )
                for (resource_type, name, pattern_type), on in by_pattern
            ]
        )
    )


def listing_refused(error: RequestError) -> DescribeAclsResponse:
    """Return the response to a refused DescribeAcls."""
    return DescribeAclsResponse(error_code=code_of(error.code), error_message=str(error))


def creation(request: CreateAclsRequest) -> CreateAcls:
    """Return the controller's request for a CreateAcls message."""
    return CreateAcls(
        acls=tuple(
            [
                AclBinding(
                    resource_type=new.resource_type,
                    resource_name=new.resource_name,
                    pattern_type=new.resource_pattern_type,
                    principal=new.principal,
                    host=new.host,
                    operation=new.operation,
                    permission_type=new.permission_type,
                )
                for new in request.creations
            ]
        )
    )


def creation_response(results: Iterable[AclCreation]) -> CreateAclsResponse:
    """Return the response with the result of each ACL."""
    return CreateAclsResponse(
        results=tuple(
            [
                AclCreationResult(
                    error_code=refusal_code(result.refusal),
                    error_message=refusal_message(result.refusal),
                )
                for result in results
            ]
        )
    )


def creation_refused(request: CreateAclsRequest, error: RequestError) -> CreateAclsResponse:
    """Return the response to a request that is refused as a whole."""
    return creation_response([AclCreation(refusal=Refusal.of(error)) for _ in request.creations])


def deletion(request: DeleteAclsRequest) -> DeleteAcls:
    """Return the controller's request for a DeleteAcls message."""
    return DeleteAcls(filters=tuple([_filter(each) for each in request.filters]))


def deletion_response(results: Iterable[AclDeletion]) -> DeleteAclsResponse:
    """Return the response with the result of each filter."""
    return DeleteAclsResponse(
        filter_results=tuple(
            [
                DeleteAclsFilterResult(
                    error_code=refusal_code(result.refusal),
                    error_message=refusal_message(result.refusal),
                    matching_acls=tuple([_deleted(acl) for acl in result.deleted]),
                )
                for result in results
            ]
        )
    )


def deletion_refused(request: DeleteAclsRequest, error: RequestError) -> DeleteAclsResponse:
    """Return the response to a request that is refused as a whole."""
    return deletion_response([AclDeletion(refusal=Refusal.of(error)) for _ in request.filters])


def _filter(fields: AclFilterFields) -> AclFilter:
    wanted = fields.resource_type_filter
    return AclFilter(
        resource_types=_KAFKAS if wanted == ANY else (wanted,),
        resource_name=fields.resource_name_filter,
        pattern_type=fields.pattern_type_filter,
        principal=fields.principal_filter,
        host=fields.host_filter,
        operation=fields.operation,
        permission_type=fields.permission_type,
    )


def _description(acl: AclFound) -> AclDescription:
    return copied(acl, AclDescription)


def _deleted(acl: AclFound) -> DeletedAcl:
    return copied(acl, DeletedAcl)
