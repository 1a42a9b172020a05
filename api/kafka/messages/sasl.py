"""SASL messages: choice of a mechanism, and its exchange. Source: KIP-43, KIP-152, KIP-368."""

from typing import Annotated

from api.kafka.fields import Int16, Int64, Request, Response, since


class SaslHandshakeRequest(Request, frozen=True, kw_only=True):
    """A client's choice of a SASL mechanism.

    After version 0 of this request, the client's SASL messages follow without headers.
    """

    mechanism: str


class SaslHandshakeResponse(Response, frozen=True, kw_only=True):
    """The mechanisms that the listener offers, and an error if the handshake failed."""

    error_code: Int16 = 0
    mechanisms: tuple[str, ...] = ()


class SaslAuthenticateRequest(Request, frozen=True, kw_only=True):
    """A SASL message of the client."""

    auth_bytes: bytes

    def __repr__(self) -> str:
        """Return a text that omits the SASL message, which may contain a password."""
        return "SaslAuthenticateRequest(...)"


class SaslAuthenticateResponse(Response, frozen=True, kw_only=True):
    """The server's SASL message. If `session_lifetime_ms` is 0, the session has no end."""

    error_code: Int16 = 0
    error_message: str | None = None
    auth_bytes: bytes = b""
    session_lifetime_ms: Annotated[Int64, since(1)] = 0
