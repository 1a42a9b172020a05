"""Messages about delegation tokens: create, renew, expire, describe.

Source: KIP-48, KIP-373 (owner and requester).
"""

from typing import Annotated

from api.kafka.fields import Int16, Int32, Int64, Message, Request, Response, since


class TokenPrincipal(Message, frozen=True, kw_only=True):
    """A principal: its type and name, such as `User` and `ann`."""

    principal_type: str
    principal_name: str


class CreateDelegationTokenRequest(Request, frozen=True, kw_only=True):
    """Create a token."""

    owner_principal_type: Annotated[str | None, since(3)] = None
    owner_principal_name: Annotated[str | None, since(3)] = None
    renewers: tuple[TokenPrincipal, ...] = ()
    max_lifetime_ms: Int64 = -1


class CreateDelegationTokenResponse(Response, frozen=True, kw_only=True):
    """The new token, or an error; no later response contains the token's HMAC."""

    error_code: Int16 = 0
    principal_type: str = ""
    principal_name: str = ""
    token_requester_principal_type: Annotated[str, since(3)] = ""
    token_requester_principal_name: Annotated[str, since(3)] = ""
    issue_timestamp_ms: Int64 = -1
    expiry_timestamp_ms: Int64 = -1
    max_timestamp_ms: Int64 = -1
    token_id: str = ""
    hmac: bytes = b""
    throttle_time_ms: Int32 = 0


class RenewDelegationTokenRequest(Request, frozen=True, kw_only=True):
    """Extend the life of a token."""

    hmac: bytes
    renew_period_ms: Int64 = -1


class RenewDelegationTokenResponse(Response, frozen=True, kw_only=True):
    """The token's new expiry time, or an error."""

    error_code: Int16 = 0
    expiry_timestamp_ms: Int64 = -1
    throttle_time_ms: Int32 = 0


class ExpireDelegationTokenRequest(Request, frozen=True, kw_only=True):
    """Set a token's expiry time; a negative period expires the token immediately."""

    hmac: bytes
    expiry_time_period_ms: Int64 = -1


class ExpireDelegationTokenResponse(Response, frozen=True, kw_only=True):
    """The token's new expiry time, or an error."""

    error_code: Int16 = 0
    expiry_timestamp_ms: Int64 = -1
    throttle_time_ms: Int32 = 0


class DescribeDelegationTokenRequest(Request, frozen=True, kw_only=True):
    """Describe the tokens of the given owners; null means of all owners."""

    owners: tuple[TokenPrincipal, ...] | None = None


class DescribedDelegationToken(Message, frozen=True, kw_only=True):
    """A token: its principals, times and renewers."""

    principal_type: str
    principal_name: str
    token_requester_principal_type: Annotated[str, since(3)] = ""
    token_requester_principal_name: Annotated[str, since(3)] = ""
    issue_timestamp: Int64
    expiry_timestamp: Int64
    max_timestamp: Int64
    token_id: str
    hmac: bytes = b""
    renewers: tuple[TokenPrincipal, ...] = ()


class DescribeDelegationTokenResponse(Response, frozen=True, kw_only=True):
    """The tokens, or an error."""

    error_code: Int16 = 0
    tokens: tuple[DescribedDelegationToken, ...] = ()
    throttle_time_ms: Int32 = 0
