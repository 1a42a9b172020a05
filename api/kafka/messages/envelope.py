"""Envelope: a client's request that a broker forwards. Source: KIP-590."""

from api.kafka.fields import Int16, Message, Request, Response


class EnvelopeRequest(Request, frozen=True, kw_only=True):
    """A whole request with its header, and the principal and address of the client that sent it.

    `request_principal` is a version of 2 bytes, then a `DefaultPrincipal`. `client_host_address`
    has 4 or 16 bytes, or none if the address is unknown.
    """

    request_data: bytes
    request_principal: bytes | None = None
    client_host_address: bytes = b""


class EnvelopeResponse(Response, frozen=True, kw_only=True):
    """The whole response with its header, or the error that prevented opening the envelope."""

    response_data: bytes | None = None
    error_code: Int16 = 0


class DefaultPrincipal(Message, frozen=True, kw_only=True):
    """A principal, in the layout of version 0 of Kafka's DefaultPrincipalData."""

    type: str
    name: str
    token_authenticated: bool = False
