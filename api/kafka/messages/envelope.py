"""Envelope messages, in which a broker forwards a client's request. Source: KIP-590."""

from api.kafka.fields import Int16, Message, Request, Response


class EnvelopeRequest(Request, frozen=True, kw_only=True):
    """A client's request with its header, and the client's principal and address.

    `request_principal` is a version of 2 bytes, then a `DefaultPrincipal`. `client_host_address`
    has 4 or 16 bytes, or none if the address is unknown.
    """

    request_data: bytes
    request_principal: bytes | None = None
    client_host_address: bytes = b""


class EnvelopeResponse(Response, frozen=True, kw_only=True):
    """The response to the forwarded request, with its header; or the envelope's error."""

    response_data: bytes | None = None
    error_code: Int16 = 0


class DefaultPrincipal(Message, frozen=True, kw_only=True):
    """A principal, in the layout of version 0 of Kafka's DefaultPrincipalData."""

    type: str
    name: str
    token_authenticated: bool = False
