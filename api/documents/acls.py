"""ACL entries, and the explanation of what they allow."""

from enum import Enum
from typing import Any, Self

import msgspec
from msgspec import UNSET, UnsetType

from controller.authorization.acls import PatternType, PermissionType
from controller.authorization.authorizer import Operation, ResourceType
from controller.decisions.acls import AclBinding, AclFound
from records.text import uuid_text


class Acl(msgspec.Struct, frozen=True, kw_only=True):
    """An entry in Kafka's names; `acl` is its id, None for one that only could be created."""

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
        """Return the document of an entry."""
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
    """Entries."""

    acls: tuple[Acl, ...]


class AclCreated(msgspec.Struct, frozen=True, kw_only=True):
    """Whether an entry was created; False: there was one like it already."""

    created: bool


class Created(msgspec.Struct, frozen=True, kw_only=True):
    """The record that created an entry."""

    offset: int | None
    timestamp: int | None
    origin: dict[str, Any] | None


class Access(msgspec.Struct, frozen=True, kw_only=True):
    """What ACLs say of an operation; `created` is None if not known."""

    allowed: bool
    reason: str
    entry: Acl | None
    created: Created | None


def _name(enum: type[Enum], code: int) -> str:
    """Return the name of a code; an imported log may hold one that is not known here."""
    try:
        return str(enum(code).name)
    except ValueError:
        return str(code)
