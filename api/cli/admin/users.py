"""Users and their SCRAM credentials: create, alter, list, describe, delete."""

import enum
from typing import TYPE_CHECKING, Annotated, NamedTuple

from api.cli.admin.admin_client import AdminClient, Item
from api.cli.admin.change import changing
from api.cli.admin.look import Look, reading
from api.cli.admin.options import ValidateOnly
from api.cli.options.parameters import Argument, Option
from api.cli.options.secret_input import read_secret
from api.cli.parser.typer_app import App
from api.cli.terminal.errors import REFUSED, print_error
from api.cli.terminal.output import print_table

if TYPE_CHECKING:
    from api.documents.changes import UserAltered
    from api.documents.users import UserList
    from controller.decisions.security.users import AlterUsers

app = App()


class _Mechanism(enum.Enum):
    """Copy of `ScramMechanism` of `controller.decisions.security.scram`, whose import is slow."""

    SCRAM_SHA_256 = "SCRAM-SHA-256"
    SCRAM_SHA_512 = "SCRAM-SHA-512"


_Name = Annotated[
    str, Argument(metavar="USER", help="Name of the user, such as alice.", show_default=False)
]


class _Credential(NamedTuple):
    """Options of a new credential."""

    mechanism: Annotated[
        _Mechanism, Option("--mechanism", help="SASL mechanism of the credential.")
    ] = _Mechanism.SCRAM_SHA_512
    iterations: Annotated[
        int, Option("--iterations", metavar="N", help="Iterations of the hash, 4096 to 16384.")
    ] = 4096
    password_file: Annotated[
        str | None,
        Option(
            "--password-file",
            metavar="FILE",
            help="File with the password; - is standard input. Default: a prompt.",
        ),
    ] = None
    validate_only: ValidateOnly = False


@changing(app)
def create(ask: AdminClient, user: _Name, *, credential: _Credential) -> int:
    """Give a user a SCRAM credential that it does not have yet, made from a password."""
    return _set(ask, user, credential, "ABSENT", "created")


@changing(app)
def alter(ask: AdminClient, user: _Name, *, credential: _Credential) -> int:
    """Replace a user's SCRAM credential by one made from a new password."""
    return _set(ask, user, credential, "PRESENT", "altered")


@changing(app)
def delete(
    ask: AdminClient,
    user: _Name,
    mechanism: Annotated[
        _Mechanism | None,
        Option("--mechanism", help="Only the credential of this mechanism; default: all."),
    ] = None,
    validate_only: ValidateOnly = False,
) -> int:
    """Delete a user's SCRAM credentials."""
    from api.documents.changes import UserAltered
    from controller.decisions.security.scram import ScramMechanism
    from controller.decisions.security.users import AlterUsers, ScramDeletion

    number = None if mechanism is None else ScramMechanism[mechanism.name].value
    request = AlterUsers(
        deletions=(ScramDeletion(user=user, mechanism=number),), validate_only=validate_only
    )
    which = "all its credentials" if mechanism is None else mechanism.value
    return _report(ask, request, "deleted", UserAltered(user=user), f"{user}: {which}")


@reading(app, "list")
def list_(look: Look) -> None:
    """List the users that have SCRAM credentials."""
    _print_described(look, ())


@reading(app)
def describe(
    look: Look,
    users: Annotated[
        list[str], Argument(metavar="USER...", help="Names of users.", show_default=False)
    ],
) -> int:
    """Describe the SCRAM credentials of users; never their keys."""
    return _print_described(look, tuple(users))


def _salt(request_id: str | None, user: str, mechanism: str, size_bytes: int) -> bytes:
    """Return a new salt: random, or derived from the request id, because a retry must be identical.

    A salt must be unique but not secret; a request id is also unique and not secret.
    """
    import hashlib
    import secrets

    if request_id is None:
        return secrets.token_bytes(size_bytes)
    named = "\0".join(("scram salt", request_id, user, mechanism))
    return hashlib.sha256(named.encode()).digest()[:size_bytes]


def _set(ask: AdminClient, user: str, given: _Credential, expected: str, verb: str) -> int:
    """Store a new credential; its keys are derived here, so that the password is not sent."""
    from api.documents.changes import UserAltered
    from controller.decisions.security.scram import (
        ITERATIONS_MAX,
        SALT_SIZE_BYTES,
        ScramMechanism,
        keys_of,
        salted_password,
    )
    from controller.decisions.security.users import AlterUsers, Expected, ScramUpsertion

    password = read_secret(
        given.password_file, option="--password-file", prompt=f"Password of {user}", confirm=True
    )
    scram = ScramMechanism[given.mechanism.name]
    salt = _salt(ask.request_id, user, given.mechanism.value, SALT_SIZE_BYTES)
    # Numbers out of bounds are refused by the decision; they must not cost time before.
    rounds = min(max(given.iterations, 1), ITERATIONS_MAX)
    name, title = scram.hash_name, scram.title
    keys = keys_of(name, salted_password(name, password, salt, rounds))
    upsertion = ScramUpsertion(
        user=user,
        mechanism=scram.value,
        iterations=given.iterations,
        salt=salt,
        stored_key=keys.stored_key,
        server_key=keys.server_key,
        expected=Expected[expected],
    )
    request = AlterUsers(upsertions=(upsertion,), validate_only=given.validate_only)
    altered = UserAltered(user=user, mechanism=title, iterations=given.iterations)
    return _report(ask, request, verb, altered, f"{user}: {title}, {given.iterations} iterations")


def _report(
    ask: AdminClient, request: "AlterUsers", verb: str, altered: "UserAltered", text: str
) -> int:
    answer = ask.run("users alter", request)
    shown = f"can be {verb}" if request.validate_only else verb
    (result,) = answer.response
    item = Item(answer=altered, lines=(f"{shown} {text}",), refusal=result.refusal)
    return ask.report(answer, [item], validate_only=request.validate_only)


def _print_described(look: Look, users: tuple[str, ...]) -> int:
    from controller.descriptions.users import DescribeUsers

    request = DescribeUsers(users=users)
    answer, about = look.answer("users describe", request)
    look.print(look.document("users describe", request, answer), about, _print_users)
    refusals = [user.refusal for user in answer if user.refusal is not None]
    for refusal in refusals:
        print_error(refusal.code, refusal.message)
    return REFUSED if refusals else 0


def _print_users(found: "UserList") -> None:
    rows = [
        (user.user, credential.mechanism, credential.iterations)
        for user in found.users
        for credential in user.credentials
    ]
    print_table(("user", "mechanism", "iterations"), rows)
