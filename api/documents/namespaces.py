"""JSON form of namespaces: in lists, deleted, and the effects of moving topics between them."""

from collections.abc import Sequence
from typing import Self

import msgspec

from api.documents.acls import Acl
from controller.decisions.namespaces.move_effects import ConfigShift
from controller.decisions.namespaces.move_effects import MoveEffects as Effects
from controller.decisions.namespaces.namespaces import DeletedConfigs as Deleted
from controller.decisions.namespaces.namespaces import NamespaceResult
from controller.decisions.security.acls import AclFound
from controller.decisions.topics.subscriptions import Subscription
from controller.descriptions.namespaces import NamespaceListing
from records.text import uuid_text
from replay.image.configs import RESOURCE_NAMES
from replay.image.fields import copied


class NamespaceUse(msgspec.Struct, frozen=True, kw_only=True):
    """The numbers of topics and partitions in and below a namespace."""

    topics: int
    partitions: int


class NamespaceLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Limits set on a namespace, for all topics in and below it; None is no limit."""

    topics: float | None
    partitions: float | None
    mutations_per_second: float | None


class Namespace(msgspec.Struct, frozen=True, kw_only=True):
    """A namespace in a list, with its limits.

    `topics` is the number of topics directly in it; `use` counts also those below it.
    """

    name: str
    namespace_id: str
    topics: int
    version: int | None
    use: NamespaceUse
    limits: NamespaceLimits

    @classmethod
    def of(cls, listed: NamespaceListing) -> Self:
        """Return the JSON form of a listed namespace."""
        return cls(
            name=listed.name,
            namespace_id=uuid_text(listed.namespace_id),
            topics=listed.topics,
            version=listed.version,
            use=NamespaceUse(topics=listed.topics_below, partitions=listed.partitions_below),
            limits=NamespaceLimits(
                topics=listed.topics_max,
                partitions=listed.partitions_max,
                mutations_per_second=listed.mutations_max,
            ),
        )


class NamespaceList(msgspec.Struct, frozen=True, kw_only=True):
    """Namespaces, ordered by name."""

    namespaces: tuple[Namespace, ...]


class DeletedConfigs(msgspec.Struct, frozen=True, kw_only=True):
    """The names of the configs that were deleted with a resource, such as `topic/orders`."""

    resource: str
    names: tuple[str, ...]

    @classmethod
    def of(cls, deleted: Deleted) -> Self:
        """Return the JSON form of deleted configs."""
        resource = f"{RESOURCE_NAMES[deleted.resource_type]}/{deleted.resource_name}"
        return cls(resource=resource, names=deleted.names)


class Deletion(msgspec.Struct, frozen=True, kw_only=True):
    """Partitions, configs and ACLs deleted with topics and namespaces; `acls` is None if hidden.

    `acls` is hidden from callers who may not see ACLs.
    """

    partitions: int
    configs: tuple[DeletedConfigs, ...]
    acls: tuple[Acl, ...] | None

    @classmethod
    def of(cls, result: NamespaceResult) -> Self:
        """Return the JSON form of the objects that were deleted with a namespace."""
        return cls(
            partitions=result.partitions,
            configs=tuple(map(DeletedConfigs.of, result.configs)),
            acls=_acls(result.acls),
        )


class MoveEffects(msgspec.Struct, frozen=True, kw_only=True):
    """The effects of moving topics to another name or namespace.

    Effects that the caller may not see are None.
    """

    partitions: int
    brokers: tuple[int, ...]
    configs: tuple[ConfigShift, ...] | None
    acls_lost: tuple[Acl, ...] | None
    acls_gained: tuple[Acl, ...] | None
    subscriptions_lost: tuple[Subscription, ...] | None
    subscriptions_gained: tuple[Subscription, ...] | None

    @classmethod
    def of(cls, effects: Effects) -> Self:
        """Return the effects of moving topics in their JSON form."""
        return copied(
            effects, cls, acls_lost=_acls(effects.acls_lost), acls_gained=_acls(effects.acls_gained)
        )


class Moved(msgspec.Struct, frozen=True, kw_only=True):
    """Result of moving topics: the effects of the move."""

    effects: MoveEffects


def _acls(acls: Sequence[AclFound] | None) -> tuple[Acl, ...] | None:
    return None if acls is None else tuple(map(Acl.of, acls))
