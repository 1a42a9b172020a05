"""Client quotas: set, delete, describe, explain."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, NamedTuple

from api.cli.admin.admin_client import AdminClient, Item
from api.cli.admin.change import changing
from api.cli.admin.look import Look, reading
from api.cli.admin.options import ValidateOnly
from api.cli.admin.texts import config_pairs
from api.cli.options.parameters import Argument, Option, bad_parameter
from api.cli.parser.typer_app import App
from api.cli.terminal.output import print_table

if TYPE_CHECKING:
    from api.documents.users import QuotaList, QuotasExplained
    from controller.descriptions.quotas import QuotaFilter

app = App()

_USER, _CLIENT_ID, _IP = "user", "client-id", "ip"

_User = Annotated[str | None, Option("--user", metavar="NAME", help="Select a user.")]
_DefaultUser = Annotated[
    bool, Option("--default-user", help="Select users without a quota of their own.")
]
_ClientId = Annotated[str | None, Option("--client-id", metavar="NAME", help="Select a client id.")]
_DefaultClientId = Annotated[
    bool, Option("--default-client-id", help="Select client ids without a quota of their own.")
]
_Ip = Annotated[str | None, Option("--ip", metavar="ADDRESS", help="Select a client IP.")]
_DefaultIp = Annotated[
    bool, Option("--default-ip", help="Select client IPs without a quota of their own.")
]
_Pairs = Annotated[
    list[str],
    Argument(
        metavar="KEY=VALUE...",
        help="Quotas to set, such as producer_byte_rate=1024.",
        show_default=False,
    ),
]
_Keys = Annotated[
    list[str], Argument(metavar="KEY...", help="Quotas to delete.", show_default=False)
]


class _Entity(NamedTuple):
    """The entity whose quotas change: a user, a client id, both, or an address."""

    user: _User = None
    default_user: _DefaultUser = False
    client_id: _ClientId = None
    default_client_id: _DefaultClientId = False
    ip: _Ip = None
    default_ip: _DefaultIp = False

    def parts(self) -> tuple[tuple[str, str | None], ...]:
        """Return the kinds and names that make up the entity; None is the name of a default."""
        given = (
            (_USER, self.user, self.default_user),
            (_CLIENT_ID, self.client_id, self.default_client_id),
            (_IP, self.ip, self.default_ip),
        )
        for kind, name, is_default in given:
            _check_one(kind, name is not None, is_default)
        return tuple(
            [(kind, name) for kind, name, is_default in given if is_default or name is not None]
        )


@changing(app, "set")
def set_(
    ask: AdminClient,
    quotas: _Pairs,
    *,
    entity: _Entity,
    validate_only: ValidateOnly = False,
) -> int:
    """Set quotas of a user, a client id, both together, or an address."""
    values = [(key, _number(key, text)) for key, text in config_pairs(quotas)]
    return _alter(ask, entity, values, "set", validate_only=validate_only)


@changing(app)
def delete(
    ask: AdminClient,
    keys: _Keys,
    *,
    entity: _Entity,
    validate_only: ValidateOnly = False,
) -> int:
    """Delete quotas of an entity; then the quotas of the next matching entity apply."""
    values = [(key, None) for key in keys]
    return _alter(ask, entity, values, "deleted", validate_only=validate_only)


@reading(app)
def describe(
    look: Look,
    user: _User = None,
    default_user: _DefaultUser = False,
    any_user: Annotated[bool, Option("--any-user", help="Select quotas that name users.")] = False,
    client_id: _ClientId = None,
    default_client_id: _DefaultClientId = False,
    any_client_id: Annotated[
        bool, Option("--any-client-id", help="Select quotas that name client ids.")
    ] = False,
    ip: _Ip = None,
    default_ip: _DefaultIp = False,
    any_ip: Annotated[bool, Option("--any-ip", help="Select quotas of client IPs.")] = False,
    strict: Annotated[
        bool, Option("--strict", help="Select only entities with exactly the given types.")
    ] = False,
) -> None:
    """Describe the quotas that match all filters; without filters, all quotas."""
    from controller.descriptions.quotas import DescribeQuotas

    filters = [
        *_filter(_USER, user, default_user, any_user),
        *_filter(_CLIENT_ID, client_id, default_client_id, any_client_id),
        *_filter(_IP, ip, default_ip, any_ip),
    ]
    request = DescribeQuotas(filters=tuple(filters), strict=strict)
    look.show("quotas describe", request, _print_quotas)


@reading(app)
def explain(look: Look, user: _User = None, client_id: _ClientId = None, ip: _Ip = None) -> None:
    """Print the quotas that apply to a client, and those that they override."""
    from controller.descriptions.quotas import ExplainQuotas

    request = ExplainQuotas(user=user, client_id=client_id, ip=ip)
    look.show("quotas explain", request, _print_explained)


def _print_quotas(found: "QuotaList") -> None:
    rows = [
        (_text(each.entity), key, f"{value:.15g}")
        for each in found.quotas
        for key, value in each.quotas.items()
    ]
    print_table(("entity", "quota", "value"), rows)


def _print_explained(found: "QuotasExplained") -> None:
    rows = []
    for each in found.quotas:
        rows += [
            (each.quota, f"{c.value:.15g}", _text(c.entity), "overridden" if index else "applies")
            for index, c in enumerate(each.candidates)
        ] or [(each.quota, "unlimited", "", "")]
    print_table(("quota", "value", "set for", ""), rows)


def _alter(
    ask: AdminClient,
    of: _Entity,
    values: Sequence[tuple[str, float | None]],
    verb: str,
    *,
    validate_only: bool,
) -> int:
    from api.documents.users import Quotas
    from controller.decisions.quotas.client_quotas import AlterQuotas, EntityChange, QuotaChange

    entity = of.parts()
    changes = tuple([QuotaChange(key, value) for key, value in values])
    change = EntityChange(entity=entity, changes=changes)
    answer = ask.run("quotas alter", AlterQuotas(entities=(change,), validate_only=validate_only))
    (result,) = answer.response
    names = ", ".join(change.key for change in changes)
    shown = f"can be {verb}" if validate_only else verb
    item = Item(
        answer=Quotas(entity=dict(entity), quotas={c.key: c.value for c in changes}),
        lines=(f"{shown}: {names} of {_text(dict(entity))}",),
        refusal=result.refusal,
    )
    return ask.report(answer, [item], validate_only=validate_only)


def _filter(kind: str, name: str | None, is_default: bool, is_any: bool) -> "list[QuotaFilter]":
    from controller.descriptions.quotas import Match, QuotaFilter

    _check_one(kind, name is not None, is_default, is_any)
    if name is not None:
        return [QuotaFilter(entity_type=kind, match=Match.EXACT, name=name)]
    if is_default or is_any:
        return [QuotaFilter(entity_type=kind, match=Match.DEFAULT if is_default else Match.ANY)]
    return []


def _check_one(kind: str, *given: bool) -> None:
    if sum(given) > 1:
        raise bad_parameter(f"choose one of a {kind}, the default {kind}, and any {kind}")


def _number(key: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise bad_parameter(f"{key}: {text!r} is not a number") from None
    if math.isnan(value):
        raise bad_parameter(f"{key}: {text!r} is not a number")
    return value


def _text(entity: dict[str, str | None]) -> str:
    from replay.image.quotas import canonical_entity
    from replay.time_travel.labels import entity_text

    return entity_text(canonical_entity(tuple(entity.items())))
