"""Encodes and decodes the frames of requests and responses; does not use sockets.

A frame is a length of four bytes, a header and a body. A request's header has key, version,
correlation id and client id; in flexible versions it ends with tagged fields. A response's header
is the correlation id, with tagged fields in flexible versions. The header of an ApiVersions
response never has tagged fields, because the client does not know yet which versions the server
supports.

Source: KIP-482, KIP-511.
"""

import functools
import struct
from collections.abc import Callable, Container, Mapping
from functools import partial

import msgspec

from api.kafka.apis import API_VERSIONS, Api
from api.kafka.fields import Message, Request, Response
from api.kafka.layouts import message_layout
from records.base import Record
from records.envelope import UnknownTag
from records.errors import CorruptLogError, RequestError
from records.kafka import compiled_decoder, compiled_encoder, reference
from records.kafka.layout import Layout
from records.varint import decode_unsigned

FRAME_SIZE_BYTES_MAX = 100 * 1024 * 1024
"""Kafka's `socket.request.max.bytes`."""

ITEMS_MAX = 15_000
"""Maximum items of all arrays of a request together, such as topics and partitions. Work done for
all items in one turn of the event loop, such as decoding, takes up to 3 us per item. Seven times
Kafka's `max.request.partition.size.limit`, because this limit is for all requests."""

LENGTH = struct.Struct(">i")
_REQUEST_HEADER = struct.Struct(">hhih")
_CORRELATION_ID = struct.Struct(">i")
_NO_TAGS = b"\0"


class MalformedFrameError(RequestError):
    """Raised for bytes that are not a known request or response; the connection must be closed."""

    def __init__(self, message: str) -> None:
        super().__init__("INVALID_REQUEST", message)


class UnsupportedVersionError(RequestError):
    """Raised for a known request in an unsupported version.

    Attributes:
        api: The request.
        correlation_id: The request's correlation id, for the response.
    """

    def __init__(self, api: Api, version: int, correlation_id: int) -> None:
        super().__init__(
            "UNSUPPORTED_VERSION",
            f"{api.name} of version {version}; {api.min_version} to {api.max_version} are taken",
        )
        self.api = api
        self.correlation_id = correlation_id


class RequestFrame(msgspec.Struct, frozen=True, kw_only=True):
    """A received request. `unknown_tags` are tagged fields that the request's layout lacks.

    `raw` is the whole frame without the length; the body begins at byte `body_at`.
    """

    api: Api
    version: int
    correlation_id: int
    client_id: str | None
    body: Request
    unknown_tags: tuple[UnknownTag, ...] = ()
    raw: bytes = b""
    body_at: int = 0

    @property
    def raw_body(self) -> bytes:
        """The encoded body as received."""
        return self.raw[self.body_at :]


def encode_request(
    api: Api, version: int, correlation_id: int, body: Request, client_id: str | None = None
) -> bytes:
    """Return a length-prefixed request frame.

    Raises:
        RequestError: the body has a field that the version lacks.
    """
    return encode_raw_request(
        api, version, correlation_id, encode_body(api, version, body), client_id
    )


def encode_raw_request(
    api: Api, version: int, correlation_id: int, body: bytes, client_id: str | None
) -> bytes:
    """Return a length-prefixed request frame around an already encoded body."""
    name = b"" if client_id is None else client_id.encode()
    size = -1 if client_id is None else len(name)
    header = _REQUEST_HEADER.pack(api.key, version, correlation_id, size) + name
    if api.is_flexible(version):
        header += _NO_TAGS
    return _framed(header + body)


def decode_request(
    frame: bytes, apis: Mapping[int, Api], unlimited: Container[Api] = ()
) -> RequestFrame:
    """Decode a request frame without its length prefix.

    Args:
        apis: The supported requests, by key.
        unlimited: Requests that may have more than ITEMS_MAX items: only brokers send them.

    Raises:
        UnsupportedVersionError: the version is not supported; only the header was read.
        MalformedFrameError: the frame is not a supported request; the message gives the bad byte.
        RequestError: MESSAGE_TOO_LARGE, the request has more than ITEMS_MAX items.
    """
    try:
        key, version, correlation_id, name_size = _REQUEST_HEADER.unpack_from(frame)
    except struct.error:
        raise MalformedFrameError(
            f"a request of {len(frame)} bytes is too short for its header"
        ) from None
    api = apis.get(key)
    if api is None:
        raise MalformedFrameError(f"requests of key {key} are not supported here")
    if not api.min_version <= version <= api.max_version:
        raise UnsupportedVersionError(api, version, correlation_id)
    client_id, position = _client_id(frame, name_size)
    if api.is_flexible(version):
        position = _after_tags(frame, position)
    # Bytes after a request are ignored, as in Kafka: librdkafka 2.16 leaves three of them there
    # when it asks Metadata for all topics.
    items_max = None if api in unlimited else ITEMS_MAX
    unusual = partial(reference.decode_start, items_max=items_max)
    body, unknown_tags = _decode(
        api, version, api.request, frame, position, unusual=unusual, items_max=items_max
    )
    assert isinstance(body, Request)
    return RequestFrame(
        api=api,
        version=version,
        correlation_id=correlation_id,
        client_id=client_id,
        body=body,
        unknown_tags=unknown_tags,
        raw=frame,
        body_at=position,
    )


def encode_response(api: Api, version: int, correlation_id: int, body: Response) -> bytes:
    """Return a length-prefixed response frame."""
    return encode_raw_response(api, version, correlation_id, encode_body(api, version, body))


def encode_raw_response(api: Api, version: int, correlation_id: int, body: bytes) -> bytes:
    """Return a length-prefixed response frame around an already encoded body."""
    return response_start(api, version, correlation_id, len(body)) + body


def response_start(api: Api, version: int, correlation_id: int, size_bytes: int) -> bytes:
    """Return the part of a response frame before its body of `size_bytes`."""
    header = _CORRELATION_ID.pack(correlation_id)
    if _has_header_tags(api, version):
        header += _NO_TAGS
    return LENGTH.pack(len(header) + size_bytes) + header


def encode_body(api: Api, version: int, body: Message) -> bytes:
    """Return an encoded request or response without its header and length.

    Raises:
        RequestError: the body has a field that the version lacks.
    """
    flexible = api.is_flexible(version)
    try:
        return _encoder(type(body), version, flexible)(body)
    except compiled_encoder.NOT_ENCODED:
        # The reference decoder names the error.
        return reference.encode(message_layout(type(body), version, flexible=flexible), body)


def correlation_id_of(frame: bytes) -> int:
    """Return the correlation id of a response frame.

    Raises:
        MalformedFrameError: the frame is too short.
    """
    if len(frame) < _CORRELATION_ID.size:
        raise MalformedFrameError(f"a response of {len(frame)} bytes has no correlation id")
    (correlation_id,) = _CORRELATION_ID.unpack_from(frame)
    return int(correlation_id)


def decode_response(frame: bytes, api: Api, version: int) -> Response:
    """Decode a response frame without its length prefix.

    Raises:
        MalformedFrameError: the frame is not a response to this request; the message gives the bad
            byte.
    """
    return _response(frame, _response_body_at(frame, api, version), api, version)


def decode_response_body(body: bytes, api: Api, version: int) -> Response:
    """Decode the body of a response, as returned by `raw_response_body`.

    Raises:
        MalformedFrameError: the body is not a response of `api` in this version; the message gives
            the bad byte.
    """
    return _response(body, 0, api, version)


def _response(frame: bytes, position: int, api: Api, version: int) -> Response:
    body, _ = _decode(api, version, api.response, frame, position, unusual=reference.decode)
    assert isinstance(body, Response)
    return body


def raw_response_body(frame: bytes, api: Api, version: int) -> bytes:
    """Return the still encoded body of a response frame without its length prefix.

    Raises:
        MalformedFrameError: the header is damaged.
    """
    return frame[_response_body_at(frame, api, version) :]


def _response_body_at(frame: bytes, api: Api, version: int) -> int:
    position = _CORRELATION_ID.size
    return _after_tags(frame, position) if _has_header_tags(api, version) else position


def _has_header_tags(api: Api, version: int) -> bool:
    return api.is_flexible(version) and api != API_VERSIONS


def _framed(content: bytes) -> bytes:
    return LENGTH.pack(len(content)) + content


def _client_id(frame: bytes, size: int) -> tuple[str | None, int]:
    start = _REQUEST_HEADER.size
    if size < 0:
        return None, start
    end = start + size
    if end > len(frame):
        raise MalformedFrameError(f"byte {start} of the request: the client id is cut short")
    try:
        return frame[start:end].decode(), end
    except UnicodeDecodeError:
        raise MalformedFrameError(
            f"byte {start} of the request: the client id is not UTF-8"
        ) from None


def _after_tags(frame: bytes, position: int) -> int:
    """Return the position after a header's tagged fields."""
    start = position
    try:
        count, position = decode_unsigned(frame, position)
        for _ in range(count):
            _, position = decode_unsigned(frame, position)
            size, position = decode_unsigned(frame, position)
            position += size
    except (IndexError, CorruptLogError):
        raise MalformedFrameError(
            f"byte {start} of the frame: the tagged fields cannot be read"
        ) from None
    if position > len(frame):
        raise MalformedFrameError(f"byte {start} of the frame: the tagged fields are cut short")
    return position


@functools.cache
def _encoder(cls: type[Message], version: int, flexible: bool) -> compiled_encoder.Encoder:
    return compiled_encoder.encoder(message_layout(cls, version, flexible=flexible))


@functools.cache
def _decoder(
    cls: type[Message], version: int, flexible: bool, items_max: int | None
) -> compiled_decoder.Decoder:
    return compiled_decoder.decoder(message_layout(cls, version, flexible=flexible), items_max)


def _decode(
    api: Api,
    version: int,
    cls: type[Message],
    frame: bytes,
    position: int,
    *,
    unusual: Callable[[Layout, bytes, int], tuple[Record, tuple[UnknownTag, ...]]],
    items_max: int | None = None,
) -> tuple[Record, tuple[UnknownTag, ...]]:
    """Decode a message with the compiled decoder, or with `unusual` if that decoder gives up."""
    flexible = api.is_flexible(version)
    try:
        return _decoder(cls, version, flexible, items_max)(frame, position), ()
    except compiled_decoder.NOT_PLAIN:
        pass
    try:
        return unusual(message_layout(cls, version, flexible=flexible), frame, position)
    except CorruptLogError as error:
        raise MalformedFrameError(f"{api.name} {version}: {error}") from error
