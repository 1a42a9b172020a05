"""Delegation tokens: create, renew, expire, describe."""

from typing import TYPE_CHECKING, Annotated, NamedTuple

from api.cli.admin.admin_client import AdminClient, Item
from api.cli.admin.change import changing
from api.cli.admin.look import Look, reading
from api.cli.options.parameters import Option, bad_parameter
from api.cli.options.secret_input import read_secret
from api.cli.parser.typer_app import App
from api.cli.source.arguments import ShowSecrets
from api.cli.terminal.output import print_table, time_text
from records.text import parse_bytes

if TYPE_CHECKING:
    from api.documents.users import Token, TokenList

app = App()

_SecretKeyFile = Annotated[
    str | None,
    Option(
        "--secret-key-file",
        metavar="FILE",
        help="With --log: file with the controllers' secret key, "
        "delegation.token.secret.key; - is standard input.",
    ),
]


class _Lifetime(NamedTuple):
    """Options that identify a token, and set the time at which it ends."""

    hmac_file: Annotated[
        str | None,
        Option(
            "--hmac-file",
            metavar="FILE",
            help="File with the token's HMAC in base64; - is standard input. Default: a prompt.",
        ),
    ] = None
    token_id: Annotated[
        str | None,
        Option("--token-id", metavar="ID", help="The id of the token, instead of its HMAC."),
    ] = None
    period_ms: Annotated[
        int,
        Option(
            "--period-ms",
            metavar="MS",
            help="Time from now until the token expires; default: for renew the configured time, "
            "for expire 0.",
            show_default=False,
        ),
    ] = -1
    secret_key_file: _SecretKeyFile = None


@changing(app)
def create(
    ask: AdminClient,
    owner: Annotated[
        str | None,
        Option(
            "--owner",
            metavar="PRINCIPAL",
            help="Owner of the token; default: the principal that creates it.",
        ),
    ] = None,
    renewers: Annotated[
        list[str] | None,
        Option(
            "--renewer",
            metavar="PRINCIPAL",
            help="A principal that may renew the token; repeatable.",
        ),
    ] = None,
    max_lifetime_ms: Annotated[
        int,
        Option(
            "--max-lifetime-ms",
            metavar="MS",
            help="Maximum life of the token; default: the configured maximum.",
        ),
    ] = -1,
    secret_key_file: _SecretKeyFile = None,
) -> int:
    """Create a delegation token and print its HMAC; only the same request id prints it again."""
    from api.documents.users import Token
    from controller.decisions.security.tokens import CreateToken

    _use_secret_key(ask, secret_key_file)
    request = CreateToken(
        owner=owner, renewers=tuple(renewers or ()), max_lifetime_ms=max_lifetime_ms
    )
    result = ask.run("tokens create", request)
    created = Token.of(result.response)
    return ask.report(result, [Item(answer=created, lines=_lines(created))])


@changing(app)
def renew(ask: AdminClient, *, lifetime: _Lifetime) -> int:
    """Extend a token's life, up to its maximum; only its owner and renewers may."""
    return _end_at(ask, lifetime, is_renewed=True)


@changing(app)
def expire(ask: AdminClient, *, lifetime: _Lifetime) -> int:
    """End a token at once, or after a while; only its owner and renewers may."""
    return _end_at(ask, lifetime, is_renewed=False)


@reading(app)
def describe(
    look: Look,
    owners: Annotated[
        list[str] | None,
        Option("--owner", metavar="PRINCIPAL", help="Only tokens of this owner; repeatable."),
    ] = None,
    show_secrets: ShowSecrets = False,
) -> None:
    """Describe tokens: owner, requester, renewers and times; never their HMACs."""
    from controller.descriptions.tokens import DescribeTokens

    request = DescribeTokens(owners=tuple(owners or ()), show_secrets=show_secrets)
    look.show("tokens describe", request, _print_tokens)


def _print_tokens(found: "TokenList") -> None:
    rows = [
        (t.token_id, t.owner, " ".join(t.renewers), time_text(t.expiration_timestamp))
        for t in found.tokens
    ]
    print_table(("token", "owner", "renewers", "expires"), rows)


def _hmac(file: str | None) -> bytes:
    text = read_secret(file, option="--hmac-file", prompt="HMAC of the token")
    try:
        return parse_bytes(text.strip())
    except ValueError:
        raise bad_parameter("the HMAC is not base64", param_hint="--hmac-file") from None


def _use_secret_key(ask: AdminClient, file: str | None) -> None:
    from controller.decisions.security.tokens import SECRET_KEY

    if file is None:
        return
    if ask.log is None:
        raise bad_parameter(
            "a service has its own key; leave the option out", param_hint="--secret-key-file"
        )
    key = read_secret(file, option="--secret-key-file", prompt=SECRET_KEY)
    ask.static_configs = {SECRET_KEY: key}


def _end_at(ask: AdminClient, given: _Lifetime, *, is_renewed: bool) -> int:
    from api.documents.changes import TokenExpires
    from controller.decisions.security.tokens import ExpireToken, RenewToken

    command, request = (
        ("tokens renew", RenewToken) if is_renewed else ("tokens expire", ExpireToken)
    )
    _use_secret_key(ask, given.secret_key_file)
    hmac = None if given.token_id is not None else _hmac(given.hmac_file)
    result = ask.run(
        command, request(hmac=hmac, token_id=given.token_id, period_ms=given.period_ms)
    )
    at = result.response.expiration_timestamp
    item = Item(
        answer=TokenExpires(expiration_timestamp=at),
        lines=(f"the token expires at {time_text(at)}",),
    )
    return ask.report(result, [item])


def _lines(created: "Token") -> tuple[str, ...]:
    return (
        f"token id: {created.token_id}",
        f"hmac: {created.hmac}",
        f"owner: {created.owner}",
        f"expires: {time_text(created.expiration_timestamp)}",
        f"at the latest: {time_text(created.max_timestamp)}",
    )
