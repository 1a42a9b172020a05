"""Limits of namespaces: topics and partitions in and below them, and partition changes per second.

A limit counts everything in and below its namespace, so a parent's limit applies to its children
even if theirs are higher. A check costs O(depth).
"""

from collections.abc import Iterator

from msgspec.structs import replace

from controller.authorization.authorizer import Access, Operation, namespace_resource
from controller.decisions.config_definitions.namespaces import (
    MAX_MUTATIONS,
    MAX_PARTITIONS,
    MAX_TOPICS,
)
from controller.decisions.context.mutation_quotas import MutationBuckets
from controller.decisions.context.namespace_use import NO_USE, NamespaceUse, NamespaceUses
from controller.decisions.names import tiers
from controller.results.quota_charges import Allowance
from records.errors import RequestError
from replay.image.configs import NAMESPACE
from replay.image.metadata import MetadataImage


class NamespaceLimits:
    """Checks one request against the limits, counting the topics and partitions that it adds."""

    def __init__(self, access: Access, uses: NamespaceUses) -> None:
        """Start the counts for one request.

        Args:
            access: The caller's rights.
            uses: The current topics and partitions of each namespace.
        """
        self._access = access
        self._uses = uses
        self._added: dict[str, NamespaceUse] = {}

    def add(self, namespace: str, *, topics: int, partitions: int, moved_from: str = "") -> None:
        """Count topics and partitions that are added to a namespace.

        Args:
            moved_from: The namespace that the topics leave, if they are moved. The counts of
                namespaces that contain both the old and the new namespace do not change.

        Raises:
            RequestError: POLICY_VIOLATION, a limit is exceeded; nothing is counted.
        """
        shared = frozenset(_around(moved_from))
        growing = [name for name in _around(namespace) if name not in shared]
        for name in growing:
            added = self._added.get(name, NO_USE)
            use = self._uses.of(name).plus(added.topics, added.partitions)
            self._check(namespace, name, MAX_TOPICS, use.topics, topics, "topics")
            self._check(namespace, name, MAX_PARTITIONS, use.partitions, partitions, "partitions")
        for name in growing:
            self._added[name] = self._added.get(name, NO_USE).plus(topics, partitions)

    def allowances(
        self, buckets: MutationBuckets, namespace: str, now_ms: int
    ) -> Iterator[Allowance]:
        """Yield the remaining quota of each limit on a namespace and on the namespaces above it.

        The limits are on the number of partitions created and deleted per second.
        """
        for name in _around(namespace):
            rate = limit_of(self._access.image, name, MAX_MUTATIONS)
            if rate is not None:
                subject = f"the limit {MAX_MUTATIONS} of {self._named(namespace, name)}"
                found = buckets.namespace_allowance(name, rate, now_ms)
                yield replace(found, subject=subject)

    def _check(
        self, namespace: str, name: str, config: str, used: int, more: int, what: str
    ) -> None:
        limit = limit_of(self._access.image, name, config)
        if limit is None or not more or used + more <= limit:
            return
        counts = ""
        if self._may_see(name):
            counts = f": of {limit:g} {what} {used} are used, {more} more were asked for"
        raise RequestError(
            "POLICY_VIOLATION",
            f"the limit {config} of {self._named(namespace, name)} is reached{counts}",
        )

    def _named(self, namespace: str, name: str) -> str:
        """Return a namespace's text for an error, without the name if the caller may not see it."""
        return f"namespace {name!r}" if self._may_see(name) else f"a namespace around {namespace!r}"

    def _may_see(self, name: str) -> bool:
        return self._access.allows(Operation.DESCRIBE, namespace_resource(name))


def _around(namespace: str) -> list[str]:
    """Return a namespace and all above it, topmost first; an empty list for the default one."""
    return list(tiers(namespace)) if namespace else []


def limit_of(image: MetadataImage, namespace: str, config: str) -> float | None:
    """Return the limit that a namespace itself sets; None if it sets none."""
    value = image.config_value(NAMESPACE, namespace, config)
    try:
        number = float(value) if value is not None else -1
    except ValueError:
        return None  # written by other means
    return number if number >= 0 else None
