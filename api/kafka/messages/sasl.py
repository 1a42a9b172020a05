"""SASL: the choice of a mechanism, and its messages. Source: KIP-43, KIP-152, KIP-368."""

from typing import Annotated

from api.kafka.fields import Int16, Int64, Request, Response, since


class SaslHandshakeRequest(Request, frozen=True, kw_only=True):
    """A client chooses a mechanism. In version 0 its messages follow without headers."""

    mechanism: str


class SaslHandshakeResponse(Response, frozen=True, kw_only=True):
    """The response, with the mechanisms that are offered."""

    error_code: Int16 = 0
    mechanisms: tuple[str, ...] = ()


class SaslAuthenticateRequest(Request, frozen=True, kw_only=True):
    """A message of the mechanism."""

    auth_bytes: bytes

    def __repr__(self) -> str:
        """Return a text without the message, which may be a password."""
        return "SaslAuthenticateRequest(...)"


class SaslAuthenticateResponse(Response, frozen=True, kw_only=True):
    """The mechanism's answer. `session_lifetime_ms` of 0: the client need not come again."""

    error_code: Int16 = 0
    error_message: str | None = None
    auth_bytes: bytes = b""
    session_lifetime_ms: Annotated[Int64, since(1)] = 0
