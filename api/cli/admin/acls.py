"""ACLs: create, list, delete, and explain whether an operation is allowed and why."""

from itertools import product
from typing import TYPE_CHECKING, Annotated

from msgspec.structs import replace

from api.cli.admin import acl_options as options
from api.cli.admin.admin_client import AdminClient, Item
from api.cli.admin.change import changing
from api.cli.admin.look import Look, reading
from api.cli.admin.options import ValidateOnly
from api.cli.options.parameters import Argument, Option, bad_parameter
from api.cli.parser.typer_app import App
from api.cli.source.origins import origin_text
from api.cli.terminal.output import print_json, print_line, print_table, time_text
from records.text import uuid_text
from replay.acl_words import acl_text

if TYPE_CHECKING:
    from api.documents.acls import AclList
    from controller.decisions.security.acls import AclBinding, AclFound
    from controller.descriptions.acls import AccessExplained

app = App()

_PatternType = Annotated[
    str,
    Option(
        "--pattern-type",
        metavar="TYPE",
        help="How the entry applies to names: literal (one name) or prefixed.",
    ),
]
_AllowLockout = Annotated[
    bool,
    Option(
        "--allow-lockout",
        help="Make the change even if you could then no longer change ACLs, or brokers no longer "
        "reach the service.",
    ),
]


@changing(app)
def create(
    ask: AdminClient,
    *,
    selected: options.Selected,
    principal: options.Principals = None,
    operation: options.Operations = None,
    allow: Annotated[
        bool,
        Option(
            "--allow/--deny",
            help="Permission of the entries; a deny entry overrides all allow entries.",
        ),
    ] = True,
    pattern_type: _PatternType = "literal",
    host: options.Hosts = None,
    validate_only: ValidateOnly = False,
    allow_lockout: _AllowLockout = False,
) -> int:
    """Create an entry for each principal, host, operation and resource that is named."""
    from api.documents.changes import AclAltered
    from controller.authorization.acls import PatternType, PermissionType
    from controller.decisions.security.acls import AclBinding, CreateAcls

    if not (principal and operation and selected.resources()):
        raise bad_parameter(
            "name --principal, --operation, and a resource such as --topic NAME or --namespace NS"
        )
    acls = tuple(
        [
            AclBinding(
                resource_type=resource.type.value,
                resource_name=resource.name,
                pattern_type=options.parse_word(pattern_type, PatternType, "--pattern-type").value,
                principal=who,
                host=where,
                operation=options.parse_operation(what).value,
                permission_type=(PermissionType.ALLOW if allow else PermissionType.DENY).value,
            )
            for resource, who, where, what in product(
                selected.resources(), principal, host or ["*"], operation
            )
        ]
    )
    result = ask.run(
        "acls create",
        CreateAcls(acls=acls, validate_only=validate_only, allow_lockout=allow_lockout),
    )
    named = [
        acl if made.resource_name is None else replace(acl, resource_name=made.resource_name)
        for acl, made in zip(acls, result.response, strict=True)
    ]
    items = [
        Item(
            answer=AclAltered.made(acl, made.acl_id, created=made.created),
            lines=(f"{_verb(made.created, validate_only)} {_named(made.acl_id, acl)}",),
            refusal=made.refusal,
        )
        for acl, made in zip(named, result.response, strict=True)
    ]
    return ask.report(result, items, validate_only=validate_only)


@changing(app)
def delete(
    ask: AdminClient,
    *,
    selected: options.Selected,
    entries: options.Filter,
    all_: Annotated[bool, Option("--all", help="Select all entries.")] = False,
    validate_only: ValidateOnly = False,
    allow_lockout: _AllowLockout = False,
) -> int:
    """Delete all entries that match the options."""
    from api.documents.changes import AclAltered, Nothing
    from controller.decisions.security.acls import AclFilter, DeleteAcls

    filters = entries.of(selected)
    if filters == [AclFilter()] and not all_:
        raise bad_parameter(
            "these options would select all entries; name some entries, or use --all"
        )
    result = ask.run(
        "acls delete",
        DeleteAcls(
            filters=tuple(filters), validate_only=validate_only, allow_lockout=allow_lockout
        ),
    )
    verb = "can delete" if validate_only else "deleted"
    found = {acl.acl_id: acl for each in result.response for acl in each.deleted}
    items = [
        Item(
            answer=AclAltered.of(acl),
            lines=(f"{verb} {_named(acl.acl_id, acl)}",),
        )
        for acl in found.values()
    ]
    refused = [
        Item(answer=Nothing(), refusal=each.refusal) for each in result.response if each.refusal
    ]
    return ask.report(result, items + refused, validate_only=validate_only)


@reading(app, "list")
def list_(
    look: Look,
    *,
    selected: options.Selected,
    entries: options.Filter,
) -> None:
    """List the ACL entries that match the options; without options, all entries."""
    from api.documents.acls import Acl, AclList
    from controller.descriptions.acls import ListAcls

    filters = entries.of(selected)
    found: dict[object, AclFound] = {}
    for wanted in filters:
        answer, about = look.answer("acls list", ListAcls(filter=wanted))
        found.update({acl.acl_id: acl for acl in answer})
    look.print(AclList(acls=tuple(map(Acl.of, found.values()))), about, _print_acls)


def _print_acls(found: "AclList") -> None:
    rows = [*options.acl_rows(found.acls)]
    print_table(("says", "principal", "host", "operation", "on", "acl"), rows)


@reading(app)
def explain(
    look: Look,
    principal: Annotated[
        str,
        Argument(metavar="PRINCIPAL", help="The principal, such as User:ann.", show_default=False),
    ],
    operation: Annotated[
        str, Argument(metavar="OPERATION", help="The operation, such as read.", show_default=False)
    ],
    resource: Annotated[
        str,
        Argument(
            metavar="RESOURCE",
            help="The resource, such as topic:NAME, topic:@ID, group:NAME, namespace:NS, "
            "transactional-id:ID or cluster.",
            show_default=False,
        ),
    ],
    host: Annotated[str | None, Option("--host", metavar="ADDRESS", help="Client IP.")] = None,
    super_user: Annotated[
        list[str] | None,
        Option(
            "--super-user",
            metavar="PRINCIPAL",
            help="Treat this principal as a super user, as `serve --super-user` does.",
        ),
    ] = None,
    allow_everyone: Annotated[
        bool,
        Option(
            "--allow-everyone",
            help="Decide as if the config allow.everyone.if.no.acl.found were true.",
        ),
    ] = False,
) -> None:
    """Show whether an operation is allowed, the entry that decides, and who added it when."""
    from api.documents.access import access_explained, blame_of_access
    from controller.descriptions.acls import ExplainAccess

    if ":" not in principal:
        raise bad_parameter(f"{principal!r} has no type: write User:{principal}")
    asked = options.parse_resource(resource)
    request = ExplainAccess(
        principal=principal,
        host=host,
        operation=options.parse_operation(operation).value,
        resource_type=asked.type.value,
        resource_name=asked.name,
        super_users=tuple(super_user or ()),
        allow_everyone=allow_everyone,
    )
    answer, about = look.answer("acls explain", request)
    blame = blame_of_access(answer)
    shown = access_explained(answer, None if blame is None else look.answer("blame", blame)[0])
    created = shown.created
    if look.json:
        print_json(about, shown)
        return
    verdict = "allowed" if answer.allowed else "denied"
    print_line(f"{verdict}: {_because(answer, principal)}")
    if created is not None:
        print_line(
            f"since offset {created.offset}, {time_text(created.timestamp)}, "
            f"by {origin_text(created.origin)}"
        )


def _because(answer: "AccessExplained", principal: str) -> str:
    if answer.entry is not None:
        return _named(answer.entry.acl_id, answer.entry)
    return {
        "super user": f"{principal} is a super user",
        "no entry applies": f"entries exist, but none of them is for {principal} and this",
        "no access to the namespace": (
            f"{principal} has no entry that allows anything on the namespace or on one above it"
        ),
        "no entry at all": "there is no entry at all on it",
    }[answer.reason]


def _verb(created: bool, validate_only: bool) -> str:
    if not created:
        return "exists already:"
    return "can create" if validate_only else "created"


def _named(acl_id: object, acl: "AclBinding") -> str:
    return f"acl:{_id(acl_id)}: {acl_text(acl)}"


def _id(acl_id: object) -> str | None:
    return uuid_text(acl_id) if isinstance(acl_id, bytes) else None
