"""Verbs of scenarios that change ACLs or check access: one function per verb.

`let` and `deny` take a principal, an operation and a resource such as `topic:orders`.
"""

from collections.abc import Callable
from typing import Any

from controller.authorization.acls import ALLOW_EVERYONE, AclAuthorizer, PatternType, PermissionType
from controller.authorization.authorizer import Operation, Resource, ResourceType
from controller.decisions.security.acls import (
    AclBinding,
    AclFilter,
    CreateAcls,
    DeleteAcls,
    create_acls,
    delete_acls,
)
from replay.image.acls import Acl
from tests.controller.cluster import Cluster

_HOST = "10.0.0.1"


def _entry(permission: PermissionType) -> Callable[..., Any]:
    """`pattern=prefixed`: for all names with this prefix; `host`: from this host only."""

    def create(
        cluster: Cluster,
        principal: str,
        operation: str,
        resource: str,
        pattern: str = "literal",
        host: str = "*",
    ) -> Any:
        kind, _, name = resource.partition(":")
        acl = AclBinding(
            resource_type=ResourceType[kind.upper()].value,
            resource_name=name,
            pattern_type=PatternType[pattern.upper()].value,
            principal=principal,
            host=host,
            operation=Operation[operation.upper()].value,
            permission_type=permission.value,
        )
        return cluster.do(create_acls, CreateAcls(acls=(acl,)))

    return create


def _withdraw(cluster: Cluster, kind: str, name: str, match: str = "any") -> Any:
    """Delete the entries that a filter selects; `-` stands for every type."""
    selected = AclFilter(
        resource_types=() if kind == "-" else (ResourceType[kind.upper()].value,),
        resource_name=name,
        pattern_type=PatternType[match.upper()].value,
    )
    return cluster.do(delete_acls, DeleteAcls(filters=(selected,)))


def _asks(
    cluster: Cluster,
    principal: str,
    operation: str,
    resource: str,
    host: str = _HOST,
    super_user: str = "",
    everyone: str = "",
) -> str:
    """`super_user`: one super user; `everyone=yes`: everyone is allowed if there are no entries."""
    configs = {ALLOW_EVERYONE: "true"} if everyone else {}
    authorizer = AclAuthorizer.of(configs, (super_user,))
    kind, _, name = resource.partition(":")
    asked = Resource(ResourceType[kind.upper()], name)
    verdict = authorizer.decide(cluster.image, principal, host, Operation[operation.upper()], asked)
    why = verdict.reason.value if verdict.entry is None else _text(verdict.entry)
    return f"{'allowed' if verdict.allowed else 'denied'}: {why}"


def _text(acl: Acl) -> str:
    verb = "let" if acl.permission_type == PermissionType.ALLOW.value else "deny"
    resource = f"{ResourceType(acl.resource_type).name.lower()}:{acl.resource_name}"
    return f"{verb} {acl.principal} {Operation(acl.operation).name.lower()} {resource}"


VERBS: dict[str, Callable[..., Any]] = {
    "let": _entry(PermissionType.ALLOW),
    "deny": _entry(PermissionType.DENY),
    "withdraw": _withdraw,
    "asks": _asks,
}
