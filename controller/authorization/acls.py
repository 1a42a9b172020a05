"""The authorizer of ACLs: decides as Kafka does, and lets entries be inherited in namespaces.

1. A super user may do everything.
2. Entries match a resource by its name, by a prefix of it, or by `*`.
3. An entry applies if principal, host and operation are the caller's. ALLOW implies: READ, WRITE,
   DELETE or ALTER allow DESCRIBE; ALTER_CONFIGS allows DESCRIBE_CONFIGS. DENY implies nothing.
4. Any DENY that applies denies; without one, any ALLOW that applies allows.
5. If no entry matches the resource, `allow.everyone.if.no.acl.found` decides. If entries match
   but none applies, the operation is denied.

Topics and namespaces inherit the entries of the namespaces around them. A topic in a namespace also
requires access to the namespace: a caller without any ALLOW on that namespace or a parent is
denied, whatever the topic's own entries are.

Source: StandardAuthorizerData of Kafka 4.0 (1 to 5), KIP-37 (namespaces), KIP-1276 (host ranges).
"""

import enum
import ipaddress
from collections.abc import Iterable, Iterator, Mapping

import msgspec
from immutables import Map

from controller.authorization.authorizer import (
    Operation,
    Resource,
    ResourceType,
    namespace_resource,
)
from controller.authorization.caller import Caller
from replay.image.acls import HOST_RANGE, Acl, AclPattern, AclsBySubject, AclSubject
from replay.image.metadata import NAMESPACE_SEPARATOR, MetadataImage

SUPER_USERS = "super.users"
ALLOW_EVERYONE = "allow.everyone.if.no.acl.found"
"""Server-level config, with Kafka's name: allow everything on a resource without ACLs."""

WILDCARD = "*"
"""As a resource's name: all resources of the type; as a host: all hosts."""

EVERYBODY = "User:*"
"""The principal of entries for all principals."""

HOST_RANGES_LEVEL = 32
"""First metadata.version at which a host may be a range of addresses."""


class PatternType(enum.Enum):
    """Kafka's types of resource patterns, with their codes; ANY and MATCH are for filters."""

    ANY = 1
    MATCH = 2
    LITERAL = 3
    PREFIXED = 4


class PermissionType(enum.Enum):
    """Kafka's permissions, with their codes; ANY is for filters."""

    ANY = 1
    DENY = 2
    ALLOW = 3


_ALLOW, _ALL = PermissionType.ALLOW.value, Operation.ALL.value
_LITERAL, _PREFIXED = PatternType.LITERAL.value, PatternType.PREFIXED.value

_IMPLIED_BY = {
    Operation.DESCRIBE.value: frozenset(
        o.value for o in (Operation.READ, Operation.WRITE, Operation.DELETE, Operation.ALTER)
    ),
    Operation.DESCRIBE_CONFIGS.value: frozenset({Operation.ALTER_CONFIGS.value}),
}
"""For an operation, the other operations whose ALLOW also allows it."""

_NOTHING: frozenset[int] = frozenset()


class Reason(enum.Enum):
    """The reason for a verdict."""

    SUPER_USER = "super user"
    ENTRY = "entry"
    NO_ENTRY_APPLIES = "no entry applies"
    NO_ACCESS_TO_NAMESPACE = "no access to the namespace"
    NO_ENTRY_AT_ALL = "no entry at all"


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """Whether an operation is allowed, and why.

    `entry` is the deciding entry. If several would decide, it is the first in this order: DENY
    before ALLOW; then the outermost namespace first, the object itself last; then an equal name,
    prefixes from the longest to the shortest, `*`; then the principal itself before `User:*`; then
    an equal host, a range, `*`; then an equal operation, ALL, an implied one; then the lowest id.
    """

    allowed: bool
    reason: Reason
    entry: Acl | None = None


class _Query(msgspec.Struct, frozen=True):
    """The requested operation, and the caller's subjects and address."""

    operation: int
    subjects: tuple[AclSubject, ...]
    address: ipaddress.IPv4Address | ipaddress.IPv6Address | None


class _Found(msgspec.Struct):
    """The first applicable entry of each kind, among those matching a resource or its namespaces.

    `matches` is True if any entry matches, even if none applies. `denies` and `allows` are the
    first entries that deny and allow the requested operation. `enters` is the first entry that
    allows the caller any operation at all.
    """

    matches: bool = False
    denies: Acl | None = None
    allows: Acl | None = None
    enters: Acl | None = None


class AclAuthorizer(msgspec.Struct, frozen=True, kw_only=True):
    """Authorizer that decides from the ACLs of an image.

    A decision costs O(length of the names), independent of the number of entries.
    """

    super_users: frozenset[str] = frozenset()
    allow_everyone: bool = False

    @classmethod
    def of(
        cls, configs: Mapping[str, str] = Map(), super_users: tuple[str, ...] = ()
    ) -> "AclAuthorizer":
        """Return the authorizer configured by server-level configs, with additional super users."""
        listed = [user.strip() for user in configs.get(SUPER_USERS, "").split(";")]
        return cls(
            super_users=frozenset(user for user in (*listed, *super_users) if user),
            allow_everyone=configs.get(ALLOW_EVERYONE, "").strip().lower() == "true",
        )

    def allows(
        self, image: MetadataImage, caller: Caller, operation: Operation, resource: Resource
    ) -> bool:
        """True if the entries allow a caller an operation on a resource."""
        return self.decide(image, caller.principal, caller.host, operation, resource).allowed

    def decide(
        self,
        image: MetadataImage,
        principal: str,
        host: str | None,
        operation: Operation,
        resource: Resource,
    ) -> Verdict:
        """Return the verdict on an operation, with the reason.

        Args:
            host: Address of the caller; if None, only entries for all hosts apply.
        """
        if principal in self.super_users:
            return Verdict(allowed=True, reason=Reason.SUPER_USER)
        query = _query(image, principal, host, operation)
        above = _Found()
        for namespace in namespaces_around(resource):
            _search(image, namespace, query, above)
        own = _Found()
        if above.denies is None:
            _search(image, resource, query, own)
        return self._verdict(resource, above, own)

    def _verdict(self, resource: Resource, above: _Found, own: _Found) -> Verdict:
        denies = above.denies or own.denies
        if denies is not None:
            return Verdict(allowed=False, reason=Reason.ENTRY, entry=denies)
        may_enter = above.enters or (self.allow_everyone and not above.matches)
        if _is_in_namespace(resource) and not may_enter:
            return Verdict(allowed=False, reason=Reason.NO_ACCESS_TO_NAMESPACE)
        allows = above.allows or own.allows
        if allows is not None:
            return Verdict(allowed=True, reason=Reason.ENTRY, entry=allows)
        if above.matches or own.matches:
            return Verdict(allowed=False, reason=Reason.NO_ENTRY_APPLIES)
        return Verdict(allowed=self.allow_everyone, reason=Reason.NO_ENTRY_AT_ALL)


def namespaces_around(resource: Resource) -> list[Resource]:
    """Return the namespaces that contain a topic or a namespace, the outermost first."""
    if resource.type not in (ResourceType.TOPIC, ResourceType.NAMESPACE):
        return []
    parts = resource.name.split(NAMESPACE_SEPARATOR)
    return [
        namespace_resource(NAMESPACE_SEPARATOR.join(parts[:count]))
        for count in range(1, len(parts))
    ]


def patterns_that_count(image: MetadataImage, resource: Resource) -> frozenset[AclPattern]:
    """Return the patterns of ACLs that match a resource or a namespace around it."""
    return frozenset(
        [
            pattern
            for each in (*namespaces_around(resource), resource)
            for pattern, _ in _matching(image, each)
        ]
    )


def entries_on(image: MetadataImage, patterns: Iterable[AclPattern]) -> Iterator[Acl]:
    """Yield the entries on exactly these patterns, for any principal."""
    for pattern in patterns:
        for entries in image.acls_on(*pattern).values():
            yield from entries


def _is_in_namespace(resource: Resource) -> bool:
    # A namespace only inherits: its parents do not have to be entered.
    return resource.type is ResourceType.TOPIC and NAMESPACE_SEPARATOR in resource.name


def _query(image: MetadataImage, principal: str, host: str | None, operation: Operation) -> _Query:
    hosts = [WILDCARD] if host is None else [host, HOST_RANGE, WILDCARD]
    address = None
    if host is not None and (image.feature("metadata.version") or 0) >= HOST_RANGES_LEVEL:
        address = _address(host)
    if address is None and HOST_RANGE in hosts:
        hosts.remove(HOST_RANGE)
    principals = dict.fromkeys((principal, EVERYBODY))
    subjects = tuple([(name, each) for name in principals for each in hosts])
    return _Query(operation.value, subjects, address)


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def _search(image: MetadataImage, resource: Resource, query: _Query, found: _Found) -> None:
    """Add the entries that match a resource to `found`, keeping entries found earlier."""
    for _, subjects in _matching(image, resource):
        found.matches = True
        for subject in query.subjects:
            entries = subjects.get(subject)
            if entries is not None:
                _take(entries, query, found)


def _matching(
    image: MetadataImage, resource: Resource
) -> Iterator[tuple[AclPattern, AclsBySubject]]:
    """Yield the patterns that match a resource, with their entries; most specific ones first."""
    code, name = resource.type.value, resource.name
    literal = image.acls_on(code, _LITERAL, name)
    if literal:
        yield (code, _LITERAL, name), literal
    for length in range(len(name), -1, -1):
        prefixed = image.acls_on(code, _PREFIXED, name[:length])
        if prefixed:
            yield (code, _PREFIXED, name[:length]), prefixed
    if name != WILDCARD:
        wildcard = image.acls_on(code, _LITERAL, WILDCARD)
        if wildcard:
            yield (code, _LITERAL, WILDCARD), wildcard


def _take(entries: frozenset[Acl], query: _Query, found: _Found) -> None:
    implied_by = _IMPLIED_BY.get(query.operation, _NOTHING)

    def order(entry: Acl) -> tuple[bool, bool, bytes]:
        return entry.operation != query.operation, entry.operation != _ALL, entry.id

    for entry in sorted(entries, key=order) if len(entries) > 1 else entries:
        if HOST_RANGE in entry.host and not _is_in_range(query, entry.host):
            continue
        is_named = entry.operation in (query.operation, _ALL)
        if entry.permission_type != _ALLOW:
            if is_named:
                found.denies = found.denies or entry
            continue
        found.enters = found.enters or entry
        if is_named or entry.operation in implied_by:
            found.allows = found.allows or entry


def _is_in_range(query: _Query, host: str) -> bool:
    try:
        return query.address in ipaddress.ip_network(host, strict=False)
    except (ValueError, TypeError):
        return False
