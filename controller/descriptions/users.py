"""Describes users: their SCRAM credentials, without the keys.

Source: KIP-554 (DescribeUserScramCredentials).
"""

import msgspec

from controller.decisions.names import named_more_than_once
from controller.decisions.outcome import Refusal
from controller.decisions.request import Request
from controller.decisions.security.users import MechanismCode
from controller.descriptions.view import View


class DescribeUsers(Request["tuple[UserDescription, ...]"], frozen=True, kw_only=True):
    """A request for the credentials of the given users; empty: of all users that have one."""

    users: tuple[str, ...] = ()


class CredentialDescription(msgspec.Struct, frozen=True, kw_only=True):
    """A credential: the number of its mechanism, and its iteration count."""

    mechanism: MechanismCode
    iterations: int


class UserDescription(msgspec.Struct, frozen=True, kw_only=True):
    """A user with its credentials, or the refusal if it has none."""

    user: str
    credentials: tuple[CredentialDescription, ...] = ()
    refusal: Refusal | None = None


def users_described(view: View, request: DescribeUsers) -> tuple[UserDescription, ...]:
    """Describe users in the order of the request, or all users ordered by name.

    Users are refused with RESOURCE_NOT_FOUND or DUPLICATE_RESOURCE.
    """
    found: dict[str, list[CredentialDescription]] = {}
    for credential in sorted(view.image.scram(), key=lambda c: (c.name, c.mechanism)):
        found.setdefault(credential.name, []).append(
            CredentialDescription(mechanism=credential.mechanism, iterations=credential.iterations)
        )
    twice = named_more_than_once(request.users)
    described = []
    for user in dict.fromkeys(request.users or found):
        refusal = None
        if user in twice:
            refusal = Refusal("DUPLICATE_RESOURCE", f"user {user!r} is named more than once")
        elif user not in found:
            refusal = Refusal("RESOURCE_NOT_FOUND", f"user {user!r} has no SCRAM credential")
        credentials = () if refusal else tuple(found[user])
        described.append(UserDescription(user=user, credentials=credentials, refusal=refusal))
    return tuple(described)
