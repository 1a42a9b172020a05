"""Access control entries, by id."""

import msgspec

from records.base import Uuid
from records.security import AccessControlEntryRecord, RemoveAccessControlEntryRecord
from records.text import uuid_text
from replay.image.changes import MapDelta
from replay.image.errors import ContradictionError
from replay.image.fields import copied


class Acl(msgspec.Struct, frozen=True, gc=False):
    """Allows or denies one operation of one principal on one resource pattern."""

    id: Uuid
    resource_type: int
    resource_name: str
    pattern_type: int
    principal: str
    host: str
    operation: int
    permission_type: int


class AclsDelta(MapDelta[Uuid, Acl]):
    """Changes to ACLs."""

    def set(self, record: AccessControlEntryRecord) -> None:
        """Set the entry with this id."""
        self.put(record.id, copied(record, Acl))

    def remove(self, record: RemoveAccessControlEntryRecord) -> None:
        """Remove the entry of an id."""
        if self.take(record.id) is None:
            raise ContradictionError(f"there is no ACL of id {uuid_text(record.id)}")
