"""JSON form of users, delegation tokens, quotas and subscriptions."""

import base64
from typing import Self

import msgspec

from api.documents.errors import Error
from controller.decisions.security.scram import ScramMechanism
from controller.decisions.security.tokens import TokenCreated
from controller.decisions.topics.subscriptions import Subscription
from controller.descriptions.quotas import EntityQuotas, QuotaExplanation
from controller.descriptions.tokens import TokenDescription
from controller.descriptions.users import UserDescription
from replay.image.fields import copied


class Credential(msgspec.Struct, frozen=True, kw_only=True):
    """A SCRAM credential, without its keys."""

    mechanism: str
    iterations: int


class User(msgspec.Struct, frozen=True, kw_only=True):
    """A user and its credentials; `error` says why there are none, if the request was refused."""

    user: str
    credentials: tuple[Credential, ...]
    error: Error | None

    @classmethod
    def of(cls, user: UserDescription) -> Self:
        """Return the JSON form of a user."""
        return cls(
            user=user.user,
            credentials=tuple(
                [
                    Credential(mechanism=mechanism_title(c.mechanism), iterations=c.iterations)
                    for c in user.credentials
                ]
            ),
            error=None if user.refusal is None else Error.of_refusal(user.refusal),
        )


class UserList(msgspec.Struct, frozen=True, kw_only=True):
    """Users, ordered by name."""

    users: tuple[User, ...]


class Token(msgspec.Struct, frozen=True, kw_only=True):
    """A token that was created; `hmac` is base64."""

    token_id: str
    hmac: str | None
    owner: str
    requester: str
    issue_timestamp: int
    expiration_timestamp: int
    max_timestamp: int

    @classmethod
    def of(cls, created: TokenCreated) -> Self:
        """Return the JSON form of a token that was created."""
        hmac = created.hmac
        return copied(created, cls, hmac=None if hmac is None else base64.b64encode(hmac).decode())


class TokenList(msgspec.Struct, frozen=True, kw_only=True):
    """A list of tokens."""

    tokens: tuple[TokenDescription, ...]


class Quotas(msgspec.Struct, frozen=True, kw_only=True):
    """The quotas of an entity; None for a quota that was deleted."""

    entity: dict[str, str | None]
    quotas: dict[str, float | None]

    @classmethod
    def of(cls, found: EntityQuotas) -> Self:
        """Return the JSON form of an entity's quotas."""
        return cls(entity=dict(found.entity), quotas={q.key: q.value for q in found.quotas})


class QuotaList(msgspec.Struct, frozen=True, kw_only=True):
    """A list of quotas, by entity."""

    quotas: tuple[Quotas, ...]


class QuotaCandidate(msgspec.Struct, frozen=True, kw_only=True):
    """An entity that matches a client, and its quota."""

    entity: dict[str, str | None]
    value: float


class QuotaExplained(msgspec.Struct, frozen=True, kw_only=True):
    """A quota of a client, and the entities that could set it, in order of precedence.

    The value of the first candidate applies; None is unlimited.
    """

    quota: str
    value: float | None
    candidates: tuple[QuotaCandidate, ...]

    @classmethod
    def of(cls, found: QuotaExplanation) -> Self:
        """Return the JSON form of an explained quota."""
        candidates = tuple(
            [QuotaCandidate(entity=dict(c.entity), value=c.value) for c in found.candidates]
        )
        value = candidates[0].value if candidates else None
        return cls(quota=found.key, value=value, candidates=candidates)


class QuotasExplained(msgspec.Struct, frozen=True, kw_only=True):
    """The quotas of a client."""

    quotas: tuple[QuotaExplained, ...]


class SubscriptionList(msgspec.Struct, frozen=True, kw_only=True):
    """Subscription patterns that are registered, ordered by group."""

    subscriptions: tuple[Subscription, ...]


def mechanism_title(number: int) -> str:
    """Return the name of a SCRAM mechanism, such as SCRAM-SHA-512; its number if it is unknown."""
    known = {mechanism.value: mechanism.title for mechanism in ScramMechanism}
    return known.get(number, str(number))
