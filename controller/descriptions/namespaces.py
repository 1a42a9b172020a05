"""Descriptions of namespaces."""

import msgspec

from controller.decisions.config_definitions.namespaces import (
    MAX_MUTATIONS,
    MAX_PARTITIONS,
    MAX_TOPICS,
)
from controller.decisions.lookup import find_namespace
from controller.decisions.quotas.namespace_limits import limit_of
from controller.decisions.request import Request
from controller.descriptions.view import View
from records.base import Uuid
from replay.image.namespaces import Namespace


class ListNamespaces(Request["tuple[NamespaceListing, ...]"], frozen=True, kw_only=True):
    """A request for namespaces: all, or those below a namespace."""

    below: str = ""


class NamespaceListing(msgspec.Struct, frozen=True, kw_only=True):
    """A namespace, its version, and the number of topics directly in it.

    `topics_below` and `partitions_below` count everything in and below it. `topics_max`,
    `partitions_max` and `mutations_max` (per second) are its own limits on these; None: no limit.
    """

    name: str
    namespace_id: Uuid
    topics: int
    version: int | None = None
    topics_below: int = 0
    partitions_below: int = 0
    topics_max: float | None = None
    partitions_max: float | None = None
    mutations_max: float | None = None


def namespaces_listed(view: View, request: ListNamespaces) -> tuple[NamespaceListing, ...]:
    """List namespaces, ordered by name.

    Raises:
        RequestError: INVALID_TOPIC_EXCEPTION, there is no namespace `below`.
    """
    find_namespace(view.image, request.below)
    return tuple(
        [
            _listing(view, namespace)
            for namespace in sorted(view.image.namespaces(), key=lambda n: n.name)
            if not request.below or namespace.name.startswith(f"{request.below}:")
        ]
    )


def _listing(view: View, namespace: Namespace) -> NamespaceListing:
    name, use = namespace.name, view.index.uses.of(namespace.name)
    return NamespaceListing(
        name=name,
        namespace_id=namespace.namespace_id,
        topics=sum(1 for _ in view.image.topics_in(namespace.namespace_id)),
        version=namespace.version,
        topics_below=use.topics,
        partitions_below=use.partitions,
        topics_max=limit_of(view.image, name, MAX_TOPICS),
        partitions_max=limit_of(view.image, name, MAX_PARTITIONS),
        mutations_max=limit_of(view.image, name, MAX_MUTATIONS),
    )
