"""Options of the ACL commands: resources, operations and principals, much as in kafka-acls."""

import functools
import inspect
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from itertools import product
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from api.cli.admin.verb_options import set_parameters
from api.cli.options.parameters import Option, bad_parameter
from controller.authorization.authorizer import CLUSTER, Operation, Resource, ResourceType
from replay.acl_words import resource_text

if TYPE_CHECKING:
    from api.documents.acls import Acl
    from controller.decisions.security.acls import AclFilter

E = TypeVar("E", bound=Enum)

Topics = Annotated[
    list[str] | None, Option("--topic", metavar="TOPIC", help="A topic, by full name or @ID.")
]
Groups = Annotated[list[str] | None, Option("--group", metavar="NAME", help="A group.")]
Cluster = Annotated[bool, Option("--cluster", help="The cluster itself.")]
TransactionalIds = Annotated[
    list[str] | None,
    Option("--transactional-id", metavar="ID", help="A transactional id."),
]
DelegationTokens = Annotated[
    list[str] | None,
    Option("--delegation-token", metavar="ID", help="A delegation token."),
]
Users = Annotated[
    list[str] | None,
    Option("--user", metavar="PRINCIPAL", help="A user that others act as."),
]
InNamespace = Annotated[
    str | None,
    Option(
        "--namespace",
        metavar="NS",
        help="A namespace and everything in it; with --topic: the namespace of the topics.",
    ),
]
Principals = Annotated[
    list[str] | None,
    Option(
        "--principal", metavar="PRINCIPAL", help="Such as User:ann; User:* stands for everyone."
    ),
]
Hosts = Annotated[
    list[str] | None,
    Option("--host", metavar="ADDRESS", help="Address of the client; * stands for all."),
]
Operations = Annotated[
    list[str] | None,
    Option("--operation", metavar="OPERATION", help="Such as read, describe-configs or all."),
]


@dataclass(frozen=True, kw_only=True)
class Selected:
    """The resources selected by options such as --topic and --group."""

    topics: list[str] | None
    groups: list[str] | None
    cluster: bool
    transactional_ids: list[str] | None
    delegation_tokens: list[str] | None
    users: list[str] | None
    namespace: str | None

    def resources(self) -> "list[Resource]":
        """Return the resources, in the order of the options."""

        by_type = {
            ResourceType.TOPIC: self._full_topics(),
            ResourceType.GROUP: self.groups,
            ResourceType.TRANSACTIONAL_ID: self.transactional_ids,
            ResourceType.DELEGATION_TOKEN: self.delegation_tokens,
            ResourceType.USER: self.users,
        }
        found = [Resource(type_, name) for type_, names in by_type.items() for name in names or ()]
        if self.cluster:
            found.append(CLUSTER)
        if self.namespace is not None and not self.topics:
            found.append(Resource(ResourceType.NAMESPACE, self.namespace))
        return found

    def _full_topics(self) -> list[str]:
        if not self.namespace:
            return self.topics or []
        return [
            topic if topic.startswith("@") else f"{self.namespace}:{topic}"
            for topic in self.topics or ()
        ]


def _selected(
    *,
    topic: Topics = None,
    group: Groups = None,
    cluster: Cluster = False,
    transactional_id: TransactionalIds = None,
    delegation_token: DelegationTokens = None,
    user: Users = None,
    namespace: InNamespace = None,
) -> Selected:
    return Selected(
        topics=topic,
        groups=group,
        cluster=cluster,
        transactional_ids=transactional_id,
        delegation_tokens=delegation_token,
        users=user,
        namespace=namespace,
    )


def selecting(verb: Callable[..., Any]) -> Callable[..., Any]:
    """Add the resource options to a verb, which gets their values as its parameter `selected`."""
    own = list(inspect.signature(verb).parameters.values())
    added = list(inspect.signature(_selected).parameters.values())

    @functools.wraps(verb)
    def wrapped(first: Any, **given: Any) -> Any:
        selected = _selected(**{p.name: given.pop(p.name) for p in added})
        return verb(first, selected=selected, **given)

    parameters = [p.replace(kind=p.KEYWORD_ONLY) for p in own[1:] if p.name != "selected"]
    set_parameters(wrapped, [own[0], *added, *parameters])
    return wrapped


def filters(
    selected: Selected,
    pattern_type: str | None,
    principals: list[str] | None,
    hosts: list[str] | None,
    operations: list[str] | None,
    permission: str | None,
) -> "list[AclFilter]":
    """Return an ACL filter for each combination of options; an omitted option matches anything."""
    from controller.authorization.acls import PatternType, PermissionType
    from controller.decisions.security.acls import ANY, AclFilter

    resources: list[Resource | None] = [*selected.resources()]
    everyone: list[str | None] = [None]
    codes = [parse_operation(text).value for text in operations or ()]
    return [
        AclFilter(
            resource_types=() if resource is None else (resource.type.value,),
            resource_name=None if resource is None else resource.name,
            pattern_type=parse_word(pattern_type or "any", PatternType, "--pattern-type").value,
            principal=principal,
            host=host,
            operation=operation,
            permission_type=parse_word(permission or "any", PermissionType, "--permission").value,
        )
        for resource, principal, host, operation in product(
            resources or [None], principals or everyone, hosts or everyone, codes or [ANY]
        )
    ]


def parse_operation(text: str) -> "Operation":
    """Parse an operation, written `read`, `describe-configs` or `DescribeConfigs`."""

    return parse_word(text, Operation, "OPERATION")


def parse_word(text: str, enum: type[E], hint: str) -> E:
    """Return the member of an enumeration with this name; case, `-` and `_` do not matter."""
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
