"""Envelope: a client's request that a broker forwards. Source: KIP-590."""

from api.kafka.fields import Int16, Message, Request, Response


class EnvelopeRequest(Request, frozen=True, kw_only=True):
    """A whole request with its header, and who sent it.

    `request_principal` is a `DefaultPrincipal` behind its version; `client_host_address` has 4 or
    16 octets, or none where the address is not known.
    """

    request_data: bytes
    request_principal: bytes | None = None
    client_host_address: bytes = b""


class EnvelopeResponse(Response, frozen=True, kw_only=True):
    """The whole response with its header; or why the envelope was not opened."""

    response_data: bytes | None = None
    error_code: Int16 = 0


class DefaultPrincipal(Message, frozen=True, kw_only=True):
    """Kafka's DefaultPrincipalData, of version 0."""

    type: str
    name: str
    token_authenticated: bool = False
