"""Access control entries, indexed by id and by resource pattern."""

from collections.abc import Iterable, KeysView

import msgspec
from immutables import Map

from records.base import Uuid
from records.errors import ContradictionError
from records.security import AccessControlEntryRecord, RemoveAccessControlEntryRecord
from records.text import uuid_text
from replay.image.changes import MapDelta, NestedMapDelta
from replay.image.fields import copied

HOST_RANGE = "/"
"""The character that only address ranges such as `10.0.0.0/8` contain."""


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


AclPattern = tuple[int, int, str]
"""Resource type, pattern type, and the name or prefix of the resources."""

AclSubject = tuple[str, str]
"""Principal and host; HOST_RANGE stands for every host that is an address range."""

AclsBySubject = Map[AclSubject, frozenset[Acl]]

NO_ACLS: AclsBySubject = Map()


def subject(principal: str, host: str) -> AclSubject:
    """Return the key under which an ACL of this principal and host is indexed."""
    return principal, HOST_RANGE if HOST_RANGE in host else host


class AclsImage(msgspec.Struct, frozen=True, gc=False):
    """All ACLs, by id and by resource pattern, then principal and host."""

    by_id: Map[Uuid, Acl] = Map()
    by_pattern: Map[AclPattern, AclsBySubject] = Map()


class AclsDelta:
    """Changes to ACLs."""

    def __init__(self, image: AclsImage) -> None:
        self._image = image
        self._by_id = MapDelta(image.by_id)

    @property
    def changed(self) -> KeysView[Uuid]:
        """Ids of the entries that were set or removed."""
        return self._by_id.changed

    def set(self, record: AccessControlEntryRecord) -> None:
        """Add the record's entry, or replace the existing entry with the same id."""
        self.put(copied(record, Acl))

    def put(self, acl: Acl) -> None:
        """Add an entry, or replace the existing entry with the same id."""
        self._by_id.put(acl.id, acl)

    def get(self, acl_id: Uuid) -> Acl | None:
        """Return the entry with this id, None if there is none."""
        return self._by_id.get(acl_id)

    def remove(self, record: RemoveAccessControlEntryRecord) -> None:
        """Remove the entry with the record's id."""
        if self._by_id.take(record.id) is None:
            acl_id = uuid_text(record.id)
            raise ContradictionError(f"there is no ACL of id {acl_id}", about=f"acl:{acl_id}")

    def apply(self) -> AclsImage:
        """Return the image of the ACLs with the changes applied."""
        if not self._by_id.changed:
            return self._image
        by_pattern = NestedMapDelta(self._image.by_pattern)
        for acl_id in self._by_id.changed:
            old, new = self._image.by_id.get(acl_id), self._by_id.get(acl_id)
            if old is not None:
                _discard(by_pattern, old)
            if new is not None:
                _add(by_pattern, new)
        return AclsImage(self._by_id.apply(), by_pattern.apply())


def acls_image(acls: Iterable[Acl]) -> AclsImage:
    """Return an image that contains exactly these entries."""
    delta = AclsDelta(AclsImage())
    for acl in acls:
        delta.put(acl)
    return delta.apply()


_Patterns = NestedMapDelta[AclPattern, AclSubject, frozenset[Acl]]


def _at(patterns: _Patterns, acl: Acl) -> MapDelta[AclSubject, frozenset[Acl]]:
    return patterns.at((acl.resource_type, acl.pattern_type, acl.resource_name))


def _add(patterns: _Patterns, acl: Acl) -> None:
    subjects, key = _at(patterns, acl), subject(acl.principal, acl.host)
    subjects.put(key, (subjects.get(key) or frozenset()) | {acl})


def _discard(patterns: _Patterns, acl: Acl) -> None:
    subjects, key = _at(patterns, acl), subject(acl.principal, acl.host)
    left = (subjects.get(key) or frozenset()) - {acl}
    if left:
        subjects.put(key, left)
    else:
        subjects.take(key)
