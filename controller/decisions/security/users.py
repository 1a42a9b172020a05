"""Users' SCRAM credentials: set and remove.

A request contains keys, never a password or its salted form. The client derives the keys
(`scram.py`), so that nodes that forward or log a request see no more than the records contain.

Source: KIP-554; ScramControlManager of Kafka 4.0; docs/kafka_rules.md, section 12.
"""

import enum
from typing import Annotated

import msgspec

from controller.decisions.context.context import Context, RecordList
from controller.decisions.items import decide_each
from controller.decisions.levels import SCRAM_LEVEL
from controller.decisions.names import named_more_than_once
from controller.decisions.outcome import Refusal
from controller.decisions.request import Request
from controller.decisions.security.scram import ITERATIONS_MAX, ITERATIONS_MIN, ScramMechanism
from controller.results.result import ControllerResult
from records.errors import RequestError
from records.security import RemoveUserScramCredentialRecord, UserScramCredentialRecord

MechanismCode = Annotated[int, ScramMechanism]


class Expected(enum.Enum):
    """Required state before a credential is set: anything, no credential, or an existing one."""

    ANY = "any"
    ABSENT = "absent"
    PRESENT = "present"


class ScramUpsertion(msgspec.Struct, frozen=True, kw_only=True):
    """A credential to set; `mechanism` is the number of a `ScramMechanism`."""

    user: str
    mechanism: MechanismCode
    iterations: int
    salt: bytes
    stored_key: bytes
    server_key: bytes
    expected: Expected = Expected.ANY


class ScramDeletion(msgspec.Struct, frozen=True, kw_only=True):
    """A credential to remove; without a mechanism, all credentials of the user."""

    user: str
    mechanism: MechanismCode | None = None


class AlterUsers(Request["tuple[UserResult, ...]"], frozen=True, kw_only=True):
    """A request to remove and to set credentials, at most one change per user."""

    deletions: tuple[ScramDeletion, ...] = ()
    upsertions: tuple[ScramUpsertion, ...] = ()
    validate_only: bool = False


class UserResult(msgspec.Struct, frozen=True, kw_only=True):
    """Result of one item; deletions come first, then upsertions."""

    user: str
    refusal: Refusal | None = None


def alter_users(context: Context, request: AlterUsers) -> ControllerResult[tuple[UserResult, ...]]:
    """Set and remove credentials; a refused item does not stop the others.

    Items are refused with UNSUPPORTED_VERSION, UNACCEPTABLE_CREDENTIAL (name, iterations, sizes),
    UNSUPPORTED_SASL_MECHANISM, DUPLICATE_RESOURCE, or RESOURCE_NOT_FOUND.

    Raises:
        TooLargeError: POLICY_VIOLATION, the request makes too many records.
    """
    items: tuple[ScramDeletion | ScramUpsertion, ...] = (*request.deletions, *request.upsertions)
    twice = named_more_than_once([item.user for item in items])
    records = RecordList()

    def alter(item: ScramDeletion | ScramUpsertion) -> UserResult:
        if item.user in twice:
            raise RequestError(
                "DUPLICATE_RESOURCE",
                f"{item.user!r}: a user's credentials cannot be altered twice in one request",
            )
        context.require_level(SCRAM_LEVEL, "SCRAM credentials")
        if not item.user:
            raise _unacceptable("the name of a user must not be empty")
        if isinstance(item, ScramUpsertion):
            records.add(_set(context, item))
        else:
            records.add(*_removed(context, item))
        return UserResult(user=item.user)

    results = decide_each(
        items, alter, lambda item, refusal: UserResult(user=item.user, refusal=refusal)
    )
    return records.result(results, validate_only=request.validate_only)


def scram_mechanism(number: int) -> ScramMechanism:
    """Return a mechanism by its number.

    Raises:
        RequestError: UNSUPPORTED_SASL_MECHANISM.
    """
    try:
        return ScramMechanism(number)
    except ValueError:
        known = ", ".join(f"{m.value} ({m.title})" for m in ScramMechanism)
        raise RequestError(
            "UNSUPPORTED_SASL_MECHANISM",
            f"{number} is not the number of a SCRAM mechanism: {known}",
        ) from None


def _set(context: Context, item: ScramUpsertion) -> UserScramCredentialRecord:
    mechanism = scram_mechanism(item.mechanism)
    if not ITERATIONS_MIN <= item.iterations <= ITERATIONS_MAX:
        raise _unacceptable(
            f"{item.iterations} iterations are given; {ITERATIONS_MIN} to {ITERATIONS_MAX} are "
            "allowed"
        )
    is_present = context.image.scram_credential(item.user, item.mechanism) is not None
    if is_present and item.expected is Expected.ABSENT:
        raise RequestError(
            "DUPLICATE_RESOURCE",
            f"user {item.user!r} has a {mechanism.title} credential; `metalog users alter` "
            "replaces it",
        )
    if not is_present and item.expected is Expected.PRESENT:
        raise _not_found(item.user, item.mechanism)
    # Last, and without the sizes found: a decision taken again does not know refused keys.
    if not item.salt or {len(item.stored_key), len(item.server_key)} != {mechanism.key_size_bytes}:
        raise _unacceptable(
            f"{mechanism.title} needs a salt and two keys of {mechanism.key_size_bytes} bytes"
        )
    return UserScramCredentialRecord(
        name=item.user,
        mechanism=item.mechanism,
        salt=item.salt,
        stored_key=item.stored_key,
        server_key=item.server_key,
        iterations=item.iterations,
    )


def _removed(context: Context, item: ScramDeletion) -> list[RemoveUserScramCredentialRecord]:
    if item.mechanism is None:
        mechanisms = [mechanism.value for mechanism in ScramMechanism]
    else:
        mechanisms = [scram_mechanism(item.mechanism).value]
    found = [m for m in mechanisms if context.image.scram_credential(item.user, m) is not None]
    if not found:
        raise _not_found(item.user, item.mechanism)
    return [RemoveUserScramCredentialRecord(name=item.user, mechanism=m) for m in found]


def _not_found(user: str, mechanism: int | None) -> RequestError:
    what = "SCRAM" if mechanism is None else ScramMechanism(mechanism).title
    return RequestError("RESOURCE_NOT_FOUND", f"user {user!r} has no {what} credential")


def _unacceptable(reason: str) -> RequestError:
    return RequestError("UNACCEPTABLE_CREDENTIAL", reason)
