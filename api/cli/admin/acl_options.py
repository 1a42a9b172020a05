"""Options of the ACL commands: resources, operations and principals, much as in kafka-acls."""

from collections.abc import Iterable, Iterator
from enum import Enum
from itertools import product
from typing import TYPE_CHECKING, Annotated, NamedTuple, TypeVar

from api.cli.options.parameters import Option, bad_parameter
from controller.authorization.authorizer import CLUSTER, Operation, Resource, ResourceType
from replay.acl_words import resource_text

if TYPE_CHECKING:
    from api.documents.acls import Acl
    from controller.decisions.security.acls import AclFilter

E = TypeVar("E", bound=Enum)

Principals = Annotated[
    list[str] | None,
    Option(
        "--principal",
        metavar="PRINCIPAL",
        help="A principal such as User:ann; User:* stands for everyone.",
    ),
]
Hosts = Annotated[
    list[str] | None,
    Option("--host", metavar="ADDRESS", help="Client IP; * stands for all."),
]
Operations = Annotated[
    list[str] | None,
    Option(
        "--operation",
        metavar="OPERATION",
        help="An operation such as read, describe-configs or all.",
    ),
]


class Selected(NamedTuple):
    """The options that select resources."""

    topic: Annotated[
        list[str] | None,
        Option("--topic", metavar="TOPIC", help="Select a topic, by full name or @ID."),
    ] = None
    group: Annotated[
        list[str] | None, Option("--group", metavar="NAME", help="Select a consumer group.")
    ] = None
    cluster: Annotated[bool, Option("--cluster", help="Select the cluster itself.")] = False
    transactional_id: Annotated[
        list[str] | None,
        Option("--transactional-id", metavar="ID", help="Select a transactional id."),
    ] = None
    delegation_token: Annotated[
        list[str] | None,
        Option("--delegation-token", metavar="ID", help="Select a delegation token, by its id."),
    ] = None
    user: Annotated[
        list[str] | None,
        Option("--user", metavar="PRINCIPAL", help="Select a user that others act as."),
    ] = None
    namespace: Annotated[
        str | None,
        Option(
            "--namespace",
            metavar="NS",
            help="Select a namespace and everything in it; with --topic: the topics' namespace.",
        ),
    ] = None

    def resources(self) -> "list[Resource]":
        """Return the resources, in the order of the options."""

        by_type = {
            ResourceType.TOPIC: self._full_topics(),
            ResourceType.GROUP: self.group,
            ResourceType.TRANSACTIONAL_ID: self.transactional_id,
            ResourceType.DELEGATION_TOKEN: self.delegation_token,
            ResourceType.USER: self.user,
        }
        found = [Resource(type_, name) for type_, names in by_type.items() for name in names or ()]
        if self.cluster:
            found.append(CLUSTER)
        if self.namespace is not None and not self.topic:
            found.append(Resource(ResourceType.NAMESPACE, self.namespace))
        return found

    def _full_topics(self) -> list[str]:
        if not self.namespace:
            return self.topic or []
        return [
            topic if topic.startswith("@") else f"{self.namespace}:{topic}"
            for topic in self.topic or ()
        ]


class Filter(NamedTuple):
    """Options that, with resources, select ACL entries; an omitted option matches anything."""

    principal: Principals = None
    operation: Operations = None
    permission: Annotated[
        str | None,
        Option("--permission", metavar="allow|deny", help="Only entries with this permission."),
    ] = None
    pattern_type: Annotated[
        str | None,
        Option(
            "--pattern-type",
            metavar="TYPE",
            help="literal, prefixed or any; match selects all entries that apply to the name.",
        ),
    ] = None
    host: Hosts = None

    def of(self, selected: Selected) -> "list[AclFilter]":
        """Return an ACL filter for each combination of options."""
        from controller.authorization.acls import PatternType, PermissionType
        from controller.decisions.security.acls import ANY, AclFilter

        resources: list[Resource | None] = [*selected.resources()]
        everyone: list[str | None] = [None]
        codes = [parse_operation(text).value for text in self.operation or ()]
        pattern_type = parse_word(self.pattern_type or "any", PatternType, "--pattern-type")
        permission = parse_word(self.permission or "any", PermissionType, "--permission")
        combined = product(
            resources or [None], self.principal or everyone, self.host or everyone, codes or [ANY]
        )
        return [
            AclFilter(
                resource_types=() if resource is None else (resource.type.value,),
                resource_name=None if resource is None else resource.name,
                pattern_type=pattern_type.value,
                principal=principal,
                host=host,
                operation=operation,
                permission_type=permission.value,
            )
            for resource, principal, host, operation in combined
        ]


def parse_operation(text: str) -> "Operation":
    """Parse an operation, written `read`, `describe-configs` or `DescribeConfigs`."""

    return parse_word(text, Operation, "OPERATION")


def parse_word(text: str, enum: type[E], hint: str) -> E:
    """Return an enumeration's member by name; case, `-` and `_` do not matter."""
    by_name = {_plain(member.name): member for member in enum}
    found = by_name.get(_plain(text))
    if found is None:
        raise bad_parameter(
            f"{text!r} is none of {', '.join(_word(member) for member in enum)}", param_hint=hint
        )
    return found


def parse_resource(text: str) -> "Resource":
    """Parse a resource, such as `topic:orders`, `namespace:org:apache` or `cluster`."""

    kind, _, name = text.partition(":")
    if kind == "cluster":
        return CLUSTER
    type_ = parse_word(kind, ResourceType, "RESOURCE")
    if not name:
        raise bad_parameter(f"{text!r} names no {kind}; write {kind}:NAME")
    return Resource(type_, name)


def resource_of(acl: "Acl") -> str:
    """Return an ACL's resource as text, such as `topic:orders` or `cluster`."""

    return resource_text(acl.resource_type, acl.pattern_type, acl.resource_name)


def acl_rows(acls: "Iterable[Acl]") -> Iterator[tuple[str, ...]]:
    """Yield the cells of a table of ACLs, one row per ACL."""
    for acl in acls:
        yield (
            acl.permission.lower(),
            acl.principal,
            acl.host,
            acl.operation,
            resource_of(acl),
            f"acl:{acl.acl}",
        )


def _word(member: Enum) -> str:
    return str(member.name).lower().replace("_", "-")


def _plain(text: str) -> str:
    return text.lower().replace("-", "").replace("_", "")
