"""Envelopes of forwarded requests: written by a broker, read by the controller.

Source: KIP-590; DefaultKafkaPrincipalBuilder of Kafka 4.0 (encoding of principals).
"""

import ipaddress
import struct
from collections.abc import Mapping

from api.kafka import frames
from api.kafka.apis import RUN_COMMAND, Api
from api.kafka.fields import Response
from api.kafka.frames import LENGTH, MalformedFrameError, RequestFrame
from api.kafka.layouts import message_layout
from api.kafka.messages.envelope import DefaultPrincipal, EnvelopeRequest, EnvelopeResponse
from api.kafka.messages.metadata import MetadataRequest
from api.kafka.messages.topics import RunCommandRequest
from api.kafka.metadata import asks_for_all
from controller.authorization.caller import Authentication, Caller
from records.errors import CorruptLogError, RequestError
from records.kafka import reference

_VERSION = struct.Struct(">h")
_PRINCIPAL = message_layout(DefaultPrincipal, 0, flexible=True)
_SEPARATOR = ":"


def sealed(frame: RequestFrame, caller: Caller, request_id: str | None = None) -> EnvelopeRequest:
    """Return an envelope with a request, unchanged, and the identity of the request's sender.

    Args:
        request_id: Given by the broker, so that the request can be sent again; None: it is not.
    """
    kind, _, name = caller.principal.partition(_SEPARATOR)
    principal = reference.encode(_PRINCIPAL, DefaultPrincipal(type=kind, name=name))
    return EnvelopeRequest(
        request_data=frame.raw,
        request_principal=_VERSION.pack(0) + principal,
        client_host_address=_packed_address(caller.host),
        request_id=request_id,
    )


def opened(
    envelope: EnvelopeRequest, apis: Mapping[int, Api], broker: Caller
) -> tuple[RequestFrame, Caller]:
    """Return the request in an envelope and the client that sent the request.

    Args:
        apis: The requests that may be forwarded, by key.
        broker: The forwarding broker; its right to forward is checked elsewhere.

    Raises:
        RequestError: the request is unknown, or the envelope has no principal; or
            UNSUPPORTED_VERSION.
    """
    frame = frames.decode_request(envelope.request_data, apis)
    caller = Caller(
        principal=_principal(envelope.request_principal),
        authentication=Authentication.FORWARDED,
        client_id=frame.client_id,
        host=_address(envelope.client_host_address),
        forwarded_by=broker,
    )
    return frame, caller


def is_question(frame: RequestFrame) -> bool:
    """True if a request, or that in its envelope, is a read-only query that may take long."""
    if isinstance(frame.body, MetadataRequest):
        return asks_for_all(frame.body, frame.version)
    return is_own_question(frame)


def is_own_question(frame: RequestFrame) -> bool:
    """True if a request, or that in its envelope, is a query that Kafka does not have."""
    if isinstance(frame.body, EnvelopeRequest):
        try:
            frame = frames.decode_request(frame.body.request_data, {RUN_COMMAND.key: RUN_COMMAND})
        except RequestError:
            return False
    return isinstance(frame.body, RunCommandRequest) and frame.body.point is not None


def response_in_envelope(
    frame: RequestFrame, body: Response | bytes, *, committed_offset: int
) -> EnvelopeResponse:
    """Return the envelope that contains the response to a forwarded request.

    Args:
        committed_offset: Last offset that was committed meanwhile, -1 for none.
    """
    api, version, number = frame.api, frame.version, frame.correlation_id
    if isinstance(body, bytes):
        raw = frames.encode_raw_response(api, version, number, body)
    else:
        raw = frames.encode_response(api, version, number, body)
    return EnvelopeResponse(response_data=raw[LENGTH.size :], committed_offset=committed_offset)


def _principal(raw: bytes | None) -> str:
    if raw is None:
        raise RequestError("INVALID_REQUEST", "a forwarded request names no principal")
    try:
        (version,) = _VERSION.unpack_from(raw)
        if version != 0:
            raise RequestError(
                "UNSUPPORTED_VERSION", f"a forwarded principal has version {version}, not 0"
            )
        principal, _ = reference.decode(_PRINCIPAL, raw, _VERSION.size)
    except (CorruptLogError, struct.error) as error:
        raise MalformedFrameError(f"a forwarded principal cannot be read: {error}") from error
    assert isinstance(principal, DefaultPrincipal)
    return f"{principal.type}{_SEPARATOR}{principal.name}"


def _packed_address(host: str | None) -> bytes:
    if host is None:
        return b""
    # Without the zone of a link-local address.
    return ipaddress.ip_address(host.partition("%")[0]).packed


def _address(packed: bytes) -> str | None:
    if not packed:
        return None
    try:
        return str(ipaddress.ip_address(packed))
    except ValueError as error:
        raise MalformedFrameError(f"a forwarded address: {error}") from error
