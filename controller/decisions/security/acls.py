"""Access control entries: create, and delete by filter.

Source: KIP-50, KIP-290 (prefixes); AclControlManager of Kafka 4.0; docs/kafka_rules.md, section 13.
Entries on namespaces (KIP-37) are ours.
"""

import ipaddress
from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated

import msgspec
from msgspec.structs import replace

from controller.authorization.acls import (
    HOST_RANGES_LEVEL,
    WILDCARD,
    PatternType,
    PermissionType,
)
from controller.authorization.authorizer import CLUSTER, Operation, ResourceType
from controller.decisions.context.context import Context, RecordList
from controller.decisions.ids import new_id
from controller.decisions.items import decide_each
from controller.decisions.levels import NAMESPACE_FEATURE
from controller.decisions.lookup import full_name
from controller.decisions.names import check_namespace_name
from controller.decisions.outcome import Refusal
from controller.decisions.request import Request
from controller.results.result import ControllerResult
from records.base import Uuid
from records.errors import RequestError
from records.security import AccessControlEntryRecord, RemoveAccessControlEntryRecord
from replay.image.acls import HOST_RANGE, Acl, subject
from replay.image.metadata import MetadataImage

ANY = 1
"""Code with which a filter's field matches everything."""

ResourceCode = Annotated[int, ResourceType]
PatternCode = Annotated[int, PatternType]
OperationCode = Annotated[int, Operation]
PermissionCode = Annotated[int, PermissionType]

_RESOURCE_TYPES = frozenset(each.value for each in ResourceType)
_OPERATIONS = frozenset(each.value for each in Operation)


class AclBinding(msgspec.Struct, frozen=True, kw_only=True):
    """An ACL entry without its id. All codes are Kafka's."""

    resource_type: ResourceCode
    resource_name: str
    pattern_type: PatternCode = PatternType.LITERAL.value
    principal: str
    host: str = WILDCARD
    operation: OperationCode
    permission_type: PermissionCode = PermissionType.ALLOW.value


COMPARISONS_MAX = 25_000
"""Maximum of entries with which one request's filters are compared: 20,000 comparisons, of which
half match, take 49 ms of CPU (benchmarks/README.md, "Longest turns").
"""


class AclFound(AclBinding, frozen=True, kw_only=True):
    """An entry and its id."""

    acl_id: Uuid

    @classmethod
    def of(cls, acl: Acl) -> "AclFound":
        """Return an entry of an image as an `AclFound`."""
        return cls(acl_id=acl.id, **{name: getattr(acl, name) for name in _FIELDS})


_FIELDS = AclBinding.__struct_fields__


class CreateAcls(Request["tuple[AclCreation, ...]"], frozen=True, kw_only=True):
    """A request to create entries. An entry that already exists is not created again.

    `allow_lockout`: create the entries even if the caller could then no longer change ACLs, or the
    brokers no longer reach the controller.
    """

    acls: tuple[AclBinding, ...]
    validate_only: bool = False
    allow_lockout: bool = False


class AclCreation(msgspec.Struct, frozen=True, kw_only=True):
    """Result of creating one entry: its id; `created` is False if the entry already existed.

    `resource_name` is the name of a topic that the request gave as `@ID`, else None.
    """

    acl_id: Uuid | None = None
    created: bool = False
    resource_name: str | None = None
    refusal: Refusal | None = None


class AclFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Selects ACL entries. None, ANY, and an empty list of types each match everything.

    The pattern type MATCH selects all entries that apply to the resource of the given name,
    including those on prefixes of the name and on `*`.
    """

    resource_types: tuple[ResourceCode, ...] = ()
    resource_name: str | None = None
    pattern_type: PatternCode = PatternType.ANY.value
    principal: str | None = None
    host: str | None = None
    operation: OperationCode = ANY
    permission_type: PermissionCode = PermissionType.ANY.value

    @property
    def names_patterns(self) -> bool:
        """True if the filter gives resource types, a name, and a literal or prefixed pattern."""
        exact = (PatternType.LITERAL.value, PatternType.PREFIXED.value)
        return (
            bool(self.resource_types)
            and self.resource_name is not None
            and self.pattern_type in exact
        )

    def check(self) -> None:
        """Check that all codes are known.

        Raises:
            RequestError: INVALID_REQUEST.
        """
        for code in self.resource_types:
            _check_code("resource type", code, _RESOURCE_TYPES)
        _check_code("pattern type", self.pattern_type, _codes(PatternType))
        _check_code("operation", self.operation, _OPERATIONS | {ANY})
        _check_code("permission type", self.permission_type, _codes(PermissionType))

    def matches(self, acl: Acl) -> bool:
        """True if the filter selects an entry."""
        return (
            (not self.resource_types or acl.resource_type in self.resource_types)
            and self._matches_pattern(acl)
            and self.principal in (None, acl.principal)
            and self.host in (None, acl.host)
            and self.operation in (ANY, acl.operation)
            and self.permission_type in (ANY, acl.permission_type)
        )

    def _matches_pattern(self, acl: Acl) -> bool:
        pattern = PatternType(self.pattern_type)
        is_of_one_type = pattern in (PatternType.LITERAL, PatternType.PREFIXED)
        if is_of_one_type and acl.pattern_type != pattern.value:
            return False
        if self.resource_name is None:
            return True
        if pattern is not PatternType.MATCH:
            return acl.resource_name == self.resource_name
        if acl.pattern_type == PatternType.PREFIXED.value:
            return self.resource_name.startswith(acl.resource_name)
        return acl.resource_name in (self.resource_name, WILDCARD)


class DeleteAcls(Request["tuple[AclDeletion, ...]"], frozen=True, kw_only=True):
    """A request to delete all entries that each filter selects; `allow_lockout` as to create."""

    filters: tuple[AclFilter, ...]
    validate_only: bool = False
    allow_lockout: bool = False


class AclDeletion(msgspec.Struct, frozen=True, kw_only=True):
    """Result of one filter: the entries that it selected, which are now deleted."""

    deleted: tuple[AclFound, ...] = ()
    refusal: Refusal | None = None


def create_acls(context: Context, request: CreateAcls) -> ControllerResult[tuple[AclCreation, ...]]:
    """Create entries; a refused entry does not stop the others.

    Raises:
        TooLargeError: POLICY_VIOLATION, the request makes too many records.
    """
    records = RecordList()
    made: dict[AclBinding, Uuid] = {}

    def create(given: AclBinding) -> AclCreation:
        acl = _by_name(context.image, given)
        name = None if acl is given else acl.resource_name
        _check(context, acl)
        existing = made.get(acl) or _existing(context.image, acl)
        if existing is not None:
            return AclCreation(acl_id=existing, resource_name=name)
        acl_id = new_id(context.rng)
        fields = {name: getattr(acl, name) for name in _FIELDS}
        records.add(AccessControlEntryRecord(id=acl_id, **fields))
        made[acl] = acl_id
        return AclCreation(acl_id=acl_id, created=True, resource_name=name)

    results = decide_each(request.acls, create, lambda _, refusal: AclCreation(refusal=refusal))
    return records.result(results, validate_only=request.validate_only)


def delete_acls(context: Context, request: DeleteAcls) -> ControllerResult[tuple[AclDeletion, ...]]:
    """Delete entries by filters; an entry selected by several filters is in the result of each.

    Raises:
        RequestError: POLICY_VIOLATION, the filters are compared with too many entries.
        TooLargeError: POLICY_VIOLATION, the request makes too many records.
    """
    check_comparisons(context.image, request.filters)
    records = RecordList()
    gone: set[Uuid] = set()

    def delete(wanted: AclFilter) -> AclDeletion:
        found = select_acls(context.image, wanted)
        ids = [acl.acl_id for acl in found if acl.acl_id not in gone]
        records.add(*[RemoveAccessControlEntryRecord(id=acl_id) for acl_id in ids])
        gone.update(ids)
        return AclDeletion(deleted=found)

    results = decide_each(request.filters, delete, lambda _, refusal: AclDeletion(refusal=refusal))
    return records.result(results, validate_only=request.validate_only)


def select_acls(image: MetadataImage, wanted: AclFilter) -> tuple[AclFound, ...]:
    """Return the entries that a filter selects, ordered by resource, principal and operation.

    Raises:
        RequestError: INVALID_REQUEST, the filter has an unknown code; UNKNOWN_TOPIC_ID.
    """
    wanted.check()
    if ResourceType.TOPIC.value in wanted.resource_types and wanted.resource_name is not None:
        wanted = replace(wanted, resource_name=full_name(image, wanted.resource_name))
    return in_order(acl for acl in _candidates(image, wanted) if wanted.matches(acl))


def check_comparisons(image: MetadataImage, filters: Sequence[AclFilter]) -> None:
    """Check that the filters of a request need at most COMPARISONS_MAX comparisons in total.

    A comparison is of a filter with an ACL. A request of one filter has no limit.

    Raises:
        RequestError: POLICY_VIOLATION.
    """
    if len(filters) < 2:
        return
    broad = sum(1 for wanted in filters if not wanted.names_patterns)
    compared = broad * sum(1 for _ in image.acls()) if broad else 0
    for wanted in filters:
        if wanted.names_patterns and compared <= COMPARISONS_MAX:
            compared += sum(1 for _ in _candidates(image, wanted))
    if compared > COMPARISONS_MAX:
        raise RequestError(
            "POLICY_VIOLATION",
            f"{len(filters)} filters would be compared with more than {COMPARISONS_MAX} entries;"
            " name the resources and their pattern type, or send fewer filters in a request",
        )


def _candidates(image: MetadataImage, wanted: AclFilter) -> Iterable[Acl]:
    """Return the entries to compare with a filter: all that it selects, and perhaps others."""
    if not wanted.names_patterns:
        return image.acls()
    assert wanted.resource_name is not None
    return [
        acl
        for resource_type in wanted.resource_types
        for acls in image.acls_on(resource_type, wanted.pattern_type, wanted.resource_name).values()
        for acl in acls
    ]


def _by_name(image: MetadataImage, acl: AclBinding) -> AclBinding:
    """Return an entry with its topic by name: ACLs are about names, not about ids.

    Raises:
        RequestError: UNKNOWN_TOPIC_ID; INVALID_REQUEST, no id follows `@`, or the id is a prefix.
    """
    if acl.resource_type != ResourceType.TOPIC.value or not acl.resource_name.startswith("@"):
        return acl
    if acl.pattern_type != PatternType.LITERAL.value:
        raise RequestError(
            "INVALID_REQUEST",
            f"{acl.resource_name} is an id; a prefix must be the beginning of topic names",
        )
    return replace(acl, resource_name=full_name(image, acl.resource_name))


def in_order(acls: Iterable[Acl]) -> tuple[AclFound, ...]:
    """Return entries ordered by resource, principal and operation."""
    found = map(AclFound.of, acls)
    return tuple(sorted(found, key=lambda acl: [getattr(acl, n) for n in (*_FIELDS, "acl_id")]))


def _check(context: Context, acl: AclBinding) -> None:
    """Check an entry to create.

    Raises:
        RequestError: INVALID_REQUEST; UNSUPPORTED_VERSION or INVALID_TOPIC_EXCEPTION for
            namespaces; UNSUPPORTED_VERSION for a range of hosts.
    """
    _check_code("resource type", acl.resource_type, _RESOURCE_TYPES)
    _check_code(
        "pattern type", acl.pattern_type, {PatternType.LITERAL.value, PatternType.PREFIXED.value}
    )
    _check_code("operation", acl.operation, _OPERATIONS)
    _check_code(
        "permission type",
        acl.permission_type,
        {PermissionType.ALLOW.value, PermissionType.DENY.value},
    )
    if not acl.resource_name:
        raise RequestError("INVALID_REQUEST", "the name of the resource is empty")
    if ":" not in acl.principal:
        raise RequestError(
            "INVALID_REQUEST",
            f"{acl.principal!r} is not a principal; write its type and name, as User:ann",
        )
    if HOST_RANGE in acl.host:
        _check_host_range(context, acl.host)
    if acl.resource_type == ResourceType.CLUSTER.value and acl.resource_name != CLUSTER.name:
        raise RequestError(
            "INVALID_REQUEST", f"the only name of a cluster resource is {CLUSTER.name!r}"
        )
    if acl.resource_type == ResourceType.NAMESPACE.value:
        context.require_feature(NAMESPACE_FEATURE, "ACLs of namespaces")
        is_literal = acl.pattern_type == PatternType.LITERAL.value
        if is_literal and acl.resource_name != WILDCARD:
            check_namespace_name(acl.resource_name)


def _check_host_range(context: Context, host: str) -> None:
    """Refuse a host range that matches no host, as a DENY on it would have no effect."""
    try:
        ipaddress.ip_network(host, strict=False)
    except ValueError:
        raise RequestError("INVALID_REQUEST", f"{host!r} is no range like 10.0.0.0/8") from None
    context.require_level(HOST_RANGES_LEVEL, "ranges of hosts")


def _check_code(what: str, code: int, known: set[int] | frozenset[int]) -> None:
    if code not in known:
        codes = ", ".join(str(each) for each in sorted(known))
        raise RequestError("INVALID_REQUEST", f"{what} {code} is none of {codes}")


def _codes(enum: type[PatternType] | type[PermissionType]) -> frozenset[int]:
    return frozenset(each.value for each in enum)


def _existing(image: MetadataImage, acl: AclBinding) -> Uuid | None:
    """Return the id of an equal entry, or None."""
    return next((each.id for each in _similar(image, acl) if _is_equal(each, acl)), None)


def _similar(image: MetadataImage, acl: AclBinding) -> Iterator[Acl]:
    on = image.acls_on(acl.resource_type, acl.pattern_type, acl.resource_name)
    return iter(on.get(subject(acl.principal, acl.host), ()))


def _is_equal(acl: Acl, other: AclBinding) -> bool:
    return all(getattr(acl, name) == getattr(other, name) for name in _FIELDS)
