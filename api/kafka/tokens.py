"""Requests about delegation tokens: conversion between Kafka's messages and our commands.

In Kafka, a token's description includes its id and HMAC. Here the id is redacted and the HMAC is
empty: the log does not store the HMAC, so only the response to the token's creation has it.
"""

from collections.abc import Iterable

from api.kafka.errors import code_of
from api.kafka.messages.tokens import (
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
    DescribedDelegationToken,
    DescribeDelegationTokenRequest,
    DescribeDelegationTokenResponse,
    ExpireDelegationTokenRequest,
    ExpireDelegationTokenResponse,
    RenewDelegationTokenRequest,
    RenewDelegationTokenResponse,
    TokenPrincipal,
)
from controller.decisions.security.tokens import (
    CreateToken,
    ExpireToken,
    RenewToken,
    TokenCreated,
    TokenExpiry,
)
from controller.descriptions.tokens import DescribeTokens, TokenDescription
from records.errors import RequestError

_SEPARATOR = ":"


def creation(request: CreateDelegationTokenRequest) -> CreateToken:
    """Return the command for a CreateDelegationToken."""
    owner = None
    if request.owner_principal_name:
        owner = f"{request.owner_principal_type}{_SEPARATOR}{request.owner_principal_name}"
    return CreateToken(
        owner=owner,
        renewers=tuple([_text(renewer) for renewer in request.renewers]),
        max_lifetime_ms=request.max_lifetime_ms,
    )


def creation_response(created: TokenCreated) -> CreateDelegationTokenResponse:
    """Return the response with a new token."""
    owner, requester = _principal(created.owner), _principal(created.requester)
    return CreateDelegationTokenResponse(
        principal_type=owner.principal_type,
        principal_name=owner.principal_name,
        token_requester_principal_type=requester.principal_type,
        token_requester_principal_name=requester.principal_name,
        issue_timestamp_ms=created.issue_timestamp,
        expiry_timestamp_ms=created.expiration_timestamp,
        max_timestamp_ms=created.max_timestamp,
        token_id=created.token_id,
        hmac=created.hmac or b"",
    )


def creation_refused(
    request: CreateDelegationTokenRequest, error: RequestError
) -> CreateDelegationTokenResponse:
    """Return the response to a refused CreateDelegationToken."""
    return CreateDelegationTokenResponse(error_code=code_of(error.code))


def renewal(request: RenewDelegationTokenRequest) -> RenewToken:
    """Return the command for a RenewDelegationToken."""
    return RenewToken(hmac=request.hmac, period_ms=request.renew_period_ms)


def renewal_response(expiry: TokenExpiry) -> RenewDelegationTokenResponse:
    """Return the response with the new expiry time."""
    return RenewDelegationTokenResponse(expiry_timestamp_ms=expiry.expiration_timestamp)


def renewal_refused(
    request: RenewDelegationTokenRequest, error: RequestError
) -> RenewDelegationTokenResponse:
    """Return the response to a refused RenewDelegationToken."""
    return RenewDelegationTokenResponse(error_code=code_of(error.code))


def expiration(request: ExpireDelegationTokenRequest) -> ExpireToken:
    """Return the command for an ExpireDelegationToken."""
    return ExpireToken(hmac=request.hmac, period_ms=request.expiry_time_period_ms)


def expiration_response(expiry: TokenExpiry) -> ExpireDelegationTokenResponse:
    """Return the response with the new expiry time."""
    return ExpireDelegationTokenResponse(expiry_timestamp_ms=expiry.expiration_timestamp)


def expiration_refused(
    request: ExpireDelegationTokenRequest, error: RequestError
) -> ExpireDelegationTokenResponse:
    """Return the response to a refused ExpireDelegationToken."""
    return ExpireDelegationTokenResponse(error_code=code_of(error.code))


def description(request: DescribeDelegationTokenRequest) -> DescribeTokens:
    """Return the query for a DescribeDelegationToken."""
    return DescribeTokens(owners=tuple([_text(owner) for owner in request.owners or ()]))


def description_response(found: Iterable[TokenDescription]) -> DescribeDelegationTokenResponse:
    """Return the response with these tokens."""
    return DescribeDelegationTokenResponse(tokens=tuple([_described(token) for token in found]))


def description_refused(
    request: DescribeDelegationTokenRequest, error: RequestError
) -> DescribeDelegationTokenResponse:
    """Return the response to a refused DescribeDelegationToken."""
    return DescribeDelegationTokenResponse(error_code=code_of(error.code))


def _described(token: TokenDescription) -> DescribedDelegationToken:
    owner, requester = _principal(token.owner), _principal(token.requester)
    return DescribedDelegationToken(
        principal_type=owner.principal_type,
        principal_name=owner.principal_name,
        token_requester_principal_type=requester.principal_type,
        token_requester_principal_name=requester.principal_name,
        issue_timestamp=token.issue_timestamp,
        expiry_timestamp=token.expiration_timestamp,
        max_timestamp=token.max_timestamp,
        token_id=token.token_id,
        renewers=tuple([_principal(renewer) for renewer in token.renewers]),
    )


def _principal(text: str) -> TokenPrincipal:
    kind, _, name = text.partition(_SEPARATOR)
    return TokenPrincipal(principal_type=kind, principal_name=name)


def _text(principal: TokenPrincipal) -> str:
    return f"{principal.principal_type}{_SEPARATOR}{principal.principal_name}"
