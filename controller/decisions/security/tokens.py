"""Delegation tokens: create, renew, expire; and remove when expired.

A token is proved by its HMAC, computed from its id and a secret key in the static configs of the
controllers. The HMAC is in no record, only in the answer to the creation.

Source: KIP-48, KIP-373, KIP-900; DelegationTokenControlManager of Kafka 4.0; docs/kafka_rules.md,
section 12.
"""

import functools
import hmac as hmacs

import msgspec
from msgspec.structs import replace

from controller.authorization.authorizer import Access, Operation, user_resource
from controller.authorization.caller import ANONYMOUS, Authentication, Caller
from controller.decisions.context.context import USER_OPERATION_RECORDS_MAX, Context, Settings
from controller.decisions.ids import new_id
from controller.decisions.levels import DELEGATION_TOKEN_LEVEL
from controller.decisions.request import Request
from controller.results.result import ControllerResult
from records.base import Record
from records.errors import RequestError
from records.security import DelegationTokenRecord, RemoveDelegationTokenRecord
from records.text import uuid_text
from replay.image.fields import copied
from replay.image.tokens import DelegationToken

SECRET_KEY = "delegation.token.secret.key"
CHECK_INTERVAL = "delegation.token.expiry.check.interval.ms"
MAX_LIFETIME = "delegation.token.max.lifetime.ms"
EXPIRY_TIME = "delegation.token.expiry.time.ms"
_USER_TYPE = "User:"


class CreateToken(Request["TokenCreated"], frozen=True, kw_only=True):
    """A request for a token.

    `owner` is the user that the token authenticates; None: the caller. Another owner requires
    CREATE_TOKENS on that user. `renewers` may renew and expire the token, besides the owner.
    `max_lifetime_ms` of 0 or less means the configured maximum.
    """

    owner: str | None = None
    renewers: tuple[str, ...] = ()
    max_lifetime_ms: int = -1


class TokenCreated(msgspec.Struct, frozen=True, kw_only=True):
    """A new token; times in ms since 1970. `hmac` is None only in the log."""

    token_id: str
    hmac: bytes | None
    owner: str
    requester: str
    issue_timestamp: int
    expiration_timestamp: int
    max_timestamp: int


class RenewToken(Request["TokenExpiry"], frozen=True, kw_only=True):
    """A request to extend a token's lifetime; the token is given by its HMAC or its id.

    `period_ms` counts from now; 0 or less means the configured expiry time.
    """

    hmac: bytes | None = None
    token_id: str | None = None
    period_ms: int = -1


class ExpireToken(Request["TokenExpiry"], frozen=True, kw_only=True):
    """A request to let a token expire `period_ms` from now; below 0: immediately."""

    hmac: bytes | None = None
    token_id: str | None = None
    period_ms: int = -1


class TokenExpiry(msgspec.Struct, frozen=True, kw_only=True):
    """Time at which a token expires, ms since 1970."""

    expiration_timestamp: int


# Finding a token by its HMAC compares those of all tokens.
@functools.lru_cache(maxsize=65_536)
def token_hmac(secret_key: str, token_id: str) -> bytes:
    """Return the HMAC that proves a token."""
    return hmacs.digest(secret_key.encode(), token_id.encode(), "sha512")


def create_token(context: Context, request: CreateToken) -> ControllerResult[TokenCreated]:
    """Create a token.

    Raises:
        RequestError: DELEGATION_TOKEN_AUTH_DISABLED, UNSUPPORTED_VERSION, INVALID_PRINCIPAL_TYPE,
            or DELEGATION_TOKEN_REQUEST_NOT_ALLOWED: the owner would be anonymous, or the caller
            used a token itself.
    """
    secret_key = _secret_key(context)
    _check_not_by_token(context.caller)
    requester = context.caller.principal
    owner = request.owner or requester
    if owner == ANONYMOUS:
        raise RequestError(
            "DELEGATION_TOKEN_REQUEST_NOT_ALLOWED",
            f"{ANONYMOUS} cannot have a token: authenticate, or name the owner",
        )
    for principal in (owner, *request.renewers):
        _check_user(principal)
    number = context.settings.static_number
    max_ms = context.now_ms + _bounded(request.max_lifetime_ms, number(MAX_LIFETIME))
    token = DelegationToken(
        token_id=uuid_text(new_id(context.rng)),
        owner=owner,
        requester=requester,
        renewers=request.renewers,
        issue_timestamp=context.now_ms,
        max_timestamp=max_ms,
        expiration_timestamp=min(max_ms, context.now_ms + number(EXPIRY_TIME)),
    )
    created = TokenCreated(
        token_id=token.token_id,
        hmac=token_hmac(secret_key, token.token_id),
        owner=owner,
        requester=requester,
        issue_timestamp=token.issue_timestamp,
        expiration_timestamp=token.expiration_timestamp,
        max_timestamp=token.max_timestamp,
    )
    return ControllerResult(response=created, records=(_record(token),))


def renew_token(context: Context, request: RenewToken) -> ControllerResult[TokenExpiry]:
    """Extend a token's lifetime, up to its maximum.

    Raises:
        RequestError: DELEGATION_TOKEN_AUTH_DISABLED, UNSUPPORTED_VERSION,
            DELEGATION_TOKEN_NOT_FOUND, DELEGATION_TOKEN_EXPIRED or DELEGATION_TOKEN_OWNER_MISMATCH.
    """
    token = _own_token(context, request)
    period_ms = _bounded(request.period_ms, context.settings.static_number(EXPIRY_TIME))
    return _expiring(token, context.now_ms + period_ms)


def expire_token(context: Context, request: ExpireToken) -> ControllerResult[TokenExpiry]:
    """Let a token expire, immediately or later.

    Raises:
        RequestError: as `renew_token`.
    """
    token = _own_token(context, request)
    if request.period_ms >= 0:
        return _expiring(token, context.now_ms + request.period_ms)
    return ControllerResult(
        response=TokenExpiry(expiration_timestamp=context.now_ms),
        records=(RemoveDelegationTokenRecord(token_id=token.token_id),),
    )


def remove_expired_tokens(context: Context) -> ControllerResult[int]:
    """Remove expired tokens, at most one batch of them; the response is their number."""
    expired = sorted(
        token.token_id for token in context.image.delegation_tokens() if _is_expired(context, token)
    )[:USER_OPERATION_RECORDS_MAX]
    records: tuple[Record, ...] = tuple(
        [RemoveDelegationTokenRecord(token_id=token_id) for token_id in expired]
    )
    return ControllerResult(response=len(records), records=records)


def require_owner(access: Access, request: CreateToken) -> None:
    """Check that the caller may create tokens for the owner, or get an earlier answer again.

    Raises:
        RequestError: DELEGATION_TOKEN_AUTHORIZATION_FAILED, or
            DELEGATION_TOKEN_REQUEST_NOT_ALLOWED: the caller used a token itself.
    """
    _check_not_by_token(access.caller)
    if request.owner is None or request.owner == access.caller.principal:
        return
    if not access.allows(Operation.CREATE_TOKENS, user_resource(request.owner)):
        raise RequestError(
            "DELEGATION_TOKEN_AUTHORIZATION_FAILED",
            f"{access.caller.principal} may not create tokens of {request.owner}",
        )


def check_interval_ms(settings: Settings) -> int:
    """Return the interval at which expired tokens are removed."""
    return max(settings.static_number(CHECK_INTERVAL), 1)


def _own_token(context: Context, request: RenewToken | ExpireToken) -> DelegationToken:
    secret_key = _secret_key(context)
    token = _found(context, secret_key, request)
    if token is None:
        raise RequestError("DELEGATION_TOKEN_NOT_FOUND", "there is no such delegation token")
    if _is_expired(context, token):
        raise RequestError("DELEGATION_TOKEN_EXPIRED", "the delegation token is expired")
    principal = context.caller.principal
    if principal != token.owner and principal not in token.renewers:
        raise RequestError(
            "DELEGATION_TOKEN_OWNER_MISMATCH",
            f"{principal} is neither the owner nor a renewer of the delegation token",
        )
    return token


def _found(
    context: Context, secret_key: str, request: RenewToken | ExpireToken
) -> DelegationToken | None:
    if request.hmac is None:
        return context.image.delegation_token(request.token_id or "")
    for token in context.image.delegation_tokens():
        if hmacs.compare_digest(token_hmac(secret_key, token.token_id), request.hmac):
            return token
    return None


def _expiring(token: DelegationToken, at_ms: int) -> ControllerResult[TokenExpiry]:
    changed = replace(token, expiration_timestamp=min(token.max_timestamp, at_ms))
    return ControllerResult(
        response=TokenExpiry(expiration_timestamp=changed.expiration_timestamp),
        records=(_record(changed),),
    )


def _is_expired(context: Context, token: DelegationToken) -> bool:
    return min(token.max_timestamp, token.expiration_timestamp) < context.now_ms


def _record(token: DelegationToken) -> DelegationTokenRecord:
    return copied(token, DelegationTokenRecord)


def _secret_key(context: Context) -> str:
    """Return the key for computing HMACs."""
    secret_key = context.settings.static_configs.get(SECRET_KEY)
    if not secret_key:
        raise RequestError(
            "DELEGATION_TOKEN_AUTH_DISABLED",
            f"delegation tokens need the static config {SECRET_KEY}, the same on every controller",
        )
    context.require_level(DELEGATION_TOKEN_LEVEL, "delegation tokens")
    return secret_key


def _check_not_by_token(caller: Caller) -> None:
    if caller.authentication is Authentication.TOKEN:
        raise RequestError(
            "DELEGATION_TOKEN_REQUEST_NOT_ALLOWED",
            "a caller who authenticated with a delegation token cannot create another one",
        )


def _check_user(principal: str) -> None:
    if not principal.startswith(_USER_TYPE) or principal == _USER_TYPE:
        raise RequestError(
            "INVALID_PRINCIPAL_TYPE", f"{principal!r} is not a user; write User:NAME"
        )


def _bounded(period_ms: int, most_ms: int) -> int:
    return min(period_ms, most_ms) if period_ms > 0 else most_ms
