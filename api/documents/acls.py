"""JSON form of ACL entries."""

from enum import Enum
from typing import Self

import msgspec
from msgspec import UNSET, UnsetType

from controller.authorization.acls import PatternType, PermissionType
from controller.authorization.authorizer import Operation, ResourceType
from controller.decisions.security.acls import AclBinding, AclFound
from records.text import uuid_text


class Acl(msgspec.Struct, frozen=True, kw_only=True):
    """An ACL entry in Kafka's terms; `acl` is its id, None for an entry that was only validated."""

    acl: str | UnsetType | None = UNSET
    permission: str
    principal: str
    host: str
    operation: str
    resource_type: str
    resource_name: str
    pattern_type: str

    @classmethod
    def of(cls, acl: AclBinding) -> Self:
        """Return an ACL entry in its JSON form."""
        return cls(
            acl=uuid_text(acl.acl_id) if isinstance(acl, AclFound) else UNSET,
            permission=_name(PermissionType, acl.permission_type),
            principal=acl.principal,
            host=acl.host,
            operation=_name(Operation, acl.operation),
            resource_type=_name(ResourceType, acl.resource_type),
            resource_name=acl.resource_name,
            pattern_type=_name(PatternType, acl.pattern_type),
        )


class AclList(msgspec.Struct, frozen=True, kw_only=True):
    """A list of ACL entries."""

    acls: tuple[Acl, ...]


def _name(enum: type[Enum], code: int) -> str:
    """Return the name of a code, or the number if it is unknown, as in an imported log."""
    try:
        return str(enum(code).name)
    except ValueError:
        return str(code)
