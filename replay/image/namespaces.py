"""Namespaces by id and by full name."""

from collections.abc import Iterator, KeysView

import msgspec
from immutables import Map

from records.base import Uuid
from records.errors import ContradictionError
from records.text import uuid_text
from records.topics import NamespaceRecord, RemoveNamespaceRecord
from replay.image.changes import MapDelta
from replay.image.versions import UNKNOWN


class Namespace(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """A namespace; `name` is its full name, the tiers joined by ':'."""

    namespace_id: Uuid
    name: str
    version: int = UNKNOWN


class NamespacesImage(msgspec.Struct, frozen=True, gc=False):
    """All namespaces except the default one, which has no id and always exists."""

    _by_id: Map[Uuid, Namespace] = Map()
    _ids: Map[str, Uuid] = Map()

    def namespace(self, namespace_id: Uuid) -> Namespace | None:
        """Return the namespace with this id."""
        return self._by_id.get(namespace_id)

    def namespace_by_name(self, name: str) -> Namespace | None:
        """Return the namespace with this full name."""
        namespace_id = self._ids.get(name)
        return None if namespace_id is None else self._by_id[namespace_id]

    def namespaces(self) -> Iterator[Namespace]:
        """Iterate over all namespaces, in any order."""
        return iter(self._by_id.values())


class NamespacesDelta:
    """Changes to namespaces."""

    def __init__(self, image: NamespacesImage) -> None:
        self._image = image
        self._by_id = MapDelta(image._by_id)
        self._ids = MapDelta(image._ids)

    @property
    def changed(self) -> KeysView[Uuid]:
        """Ids of the namespaces that were created or removed."""
        return self._by_id.changed

    def create(self, record: NamespaceRecord, offset: int) -> None:
        """Add a namespace."""
        if self._by_id.get(record.namespace_id) is not None:
            raise ContradictionError(f"namespace id {uuid_text(record.namespace_id)} exists")
        if self._ids.get(record.name) is not None:
            raise ContradictionError(f"namespace {record.name!r} exists")
        namespace = Namespace(record.namespace_id, record.name, version=offset)
        self._by_id.put(namespace.namespace_id, namespace)
        self._ids.put(record.name, record.namespace_id)

    def remove(self, record: RemoveNamespaceRecord) -> None:
        """Remove a namespace."""
        removed = self.existing(record.namespace_id)
        self._by_id.take(removed.namespace_id)
        self._ids.take(removed.name)

    def id_named(self, name: str) -> Uuid | None:
        """Return the id of the namespace that currently has this full name, or None."""
        return self._ids.get(name)

    def existing(self, namespace_id: Uuid) -> Namespace:
        """Return the namespace with this id, which must currently exist."""
        namespace = self._by_id.get(namespace_id)
        if namespace is None:
            raise ContradictionError(f"there is no namespace of id {uuid_text(namespace_id)}")
        return namespace

    def apply(self) -> NamespacesImage:
        """Return the image of the namespaces with the changes applied."""
        if not self._by_id.changed:
            return self._image
        return NamespacesImage(self._by_id.apply(), self._ids.apply())
