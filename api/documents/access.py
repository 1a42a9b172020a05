"""JSON form of the explanation of an access decision."""

from typing import Any

import msgspec

from api.documents.acls import Acl
from api.documents.document import Document
from api.questions.blame import Blame, ShowBlame
from controller.descriptions.acls import AccessExplained
from records.text import uuid_text


class Created(msgspec.Struct, frozen=True, kw_only=True):
    """The record that created an ACL entry."""

    offset: int | None
    timestamp: int | None
    origin: dict[str, Any] | None


class Access(msgspec.Struct, frozen=True, kw_only=True):
    """The explanation of an access decision: whether ACLs allow an operation, and why.

    `created` is the record that created the deciding ACL entry; None if it is unknown.
    """

    allowed: bool
    reason: str
    entry: Acl | None
    created: Created | None


def blame_of_access(answer: AccessExplained) -> ShowBlame | None:
    """Return a request for the record that created the deciding ACL entry, if there is one."""
    if answer.entry is None:
        return None
    return ShowBlame(object=f"acl:{uuid_text(answer.entry.acl_id)}#permission_type")


def access_explained(answer: AccessExplained, blame: Blame | None) -> Access:
    """Return the explanation of an access decision; `blame` is the answer to `blame_of_access`."""
    created = None
    if blame is not None:
        setter = blame.fields["permission_type"]
        if setter.known:
            created = Created(
                offset=setter.offset, timestamp=setter.timestamp, origin=setter.origin
            )
    return Access(
        allowed=answer.allowed,
        reason=answer.reason,
        entry=None if answer.entry is None else Acl.of(answer.entry),
        created=created,
    )


ACCESS = Document(type=Access, of=lambda _, found: access_explained(found, None))
