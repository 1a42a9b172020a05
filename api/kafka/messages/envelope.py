"""Envelope messages, in which a broker forwards a client's request. Source: KIP-590."""

from typing import Annotated

from api.kafka.fields import (
    COMMITTED_OFFSET_TAG,
    REQUEST_ID_TAG,
    Int16,
    Int64,
    Message,
    Request,
    Response,
    tagged,
)

NOTHING_COMMITTED = -1


class EnvelopeRequest(Request, frozen=True, kw_only=True):
    """A client's request with its header, and the client's principal and address.

    `request_principal` is a version of 2 bytes, then a `DefaultPrincipal`. `client_host_address`
    has 4 or 16 bytes, or none if the address is unknown. A request with a `request_id` is carried
    out once, also if it is sent again to another node; only controllers that support version 1 of
    FollowLog look at it.
    """

    request_data: bytes
    request_principal: bytes | None = None
    client_host_address: bytes = b""
    request_id: Annotated[str | None, tagged(REQUEST_ID_TAG)] = None


class EnvelopeResponse(Response, frozen=True, kw_only=True):
    """The response to the forwarded request, with its header; or the envelope's error.

    `committed_offset` is the last offset that was committed while the request was handled, -1 if
    nothing was: the broker applies it before the client gets the response.
    """

    response_data: bytes | None = None
    error_code: Int16 = 0
    committed_offset: Annotated[Int64, tagged(COMMITTED_OFFSET_TAG)] = NOTHING_COMMITTED


class DefaultPrincipal(Message, frozen=True, kw_only=True):
    """A principal, in the layout of version 0 of Kafka's DefaultPrincipalData."""

    type: str
    name: str
    token_authenticated: bool = False
