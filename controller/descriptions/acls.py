"""Lists ACLs and explains verdicts."""

import msgspec

from controller.authorization.acls import AclAuthorizer
from controller.authorization.authorizer import Operation, Resource, ResourceType
from controller.decisions.lookup import full_name
from controller.decisions.request import Request
from controller.decisions.security.acls import (
    AclFilter,
    AclFound,
    OperationCode,
    ResourceCode,
    select_acls,
)
from controller.descriptions.view import View
from records.errors import RequestError


class ListAcls(Request["tuple[AclFound, ...]"], frozen=True, kw_only=True):
    """A request for the entries that a filter selects."""

    filter: AclFilter = AclFilter()


class ExplainAccess(Request["AccessExplained"], frozen=True, kw_only=True):
    """A request to explain whether the ACLs allow a principal one operation.

    `super_users` and `allow_everyone` (if no entry matches) are settings of a service, which the
    log does not contain. For the present state of a service, they are added to its own settings;
    for the state at an offset, only the given ones apply.
    """

    principal: str
    host: str | None = None
    operation: OperationCode
    resource_type: ResourceCode
    resource_name: str
    super_users: tuple[str, ...] = ()
    allow_everyone: bool = False


class AccessExplained(msgspec.Struct, frozen=True, kw_only=True):
    """A verdict: is the operation allowed, the reason, and the ACL entry that decides, if any."""

    allowed: bool
    reason: str
    entry: AclFound | None = None


def acls_listed(view: View, request: ListAcls) -> tuple[AclFound, ...]:
    """List entries, ordered by resource, principal and operation.

    Raises:
        RequestError: INVALID_REQUEST, the filter has an unknown code.
    """
    return select_acls(view.image, request.filter)


def access_explained(view: View, request: ExplainAccess) -> AccessExplained:
    """Return the verdict on an operation, and why.

    Raises:
        RequestError: INVALID_REQUEST, an unknown operation or resource type; UNKNOWN_TOPIC_ID.
    """
    try:
        operation = Operation(request.operation)
        resource_type = ResourceType(request.resource_type)
    except ValueError as error:
        raise RequestError("INVALID_REQUEST", str(error)) from error
    name = request.resource_name
    if resource_type is ResourceType.TOPIC:
        name = full_name(view.image, name)
    resource = Resource(resource_type, name)
    configured = AclAuthorizer.of(view.settings.static_configs, request.super_users)
    authorizer = AclAuthorizer(
        super_users=configured.super_users,
        allow_everyone=configured.allow_everyone or request.allow_everyone,
    )
    verdict = authorizer.decide(view.image, request.principal, request.host, operation, resource)
    return AccessExplained(
        allowed=verdict.allowed,
        reason=verdict.reason.value,
        entry=None if verdict.entry is None else AclFound.of(verdict.entry),
    )
