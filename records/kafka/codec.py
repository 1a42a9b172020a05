"""Kafka's encoding of metadata records (framed values) and control records (key and value).

A metadata record's value is a frame (frame version 1, API key, record version, each an unsigned
varint) followed by the message. A control record's key contains its type; its value is only the
message, whose first field is the version.

Source: KIP-595 (control records), KIP-631 (metadata records).
"""

import functools
import struct
from collections.abc import Sequence

import msgspec

from records.base import Record
from records.control import UnknownRecord
from records.envelope import UnknownTag
from records.errors import CorruptLogError, RequestError
from records.kafka import compiled_decoder, compiled_encoder, reference
from records.kafka.layout import control_types, has_version, layout, metadata_types
from records.registry import schema
from records.varint import UNSIGNED, decode_unsigned

_FRAME_VERSION = 1
_KEY_MAX = 32_767
_UNREADABLE = -1

_CONTROL_KEY = struct.Struct(">hh")
_CONTROL_KEY_VERSION = 0
_VERSION = struct.Struct(">h")


class Decoded(msgspec.Struct, frozen=True, gc=False):
    """A decoded record, with the values needed to reproduce its bytes.

    `version` is the layout's version, -1 if it could not be read. `unknown_tags` are tagged fields
    that none of our layouts has. `canonical` is True if encoding the record with these tags
    reproduces the original bytes.
    """

    record: Record
    version: int
    unknown_tags: tuple[UnknownTag, ...] = ()
    canonical: bool = True


def decode_value(value: bytes) -> Decoded:
    """Decode the value of a metadata record.

    A record of an unknown type or version, or in another frame, becomes an UnknownRecord.

    Raises:
        CorruptLogError: the bytes are not exactly one record; names the byte within the value and
            the field.
    """
    try:
        decode, version = PLAIN_DECODERS[value[:3]]
        return Decoded(decode(value, 3), version)
    except NOT_PLAIN:
        return _decode_unusual(value)


class _PlainDecoders(dict[bytes, tuple[compiled_decoder.Decoder, int]]):
    """Compiled decoders by the three bytes of a frame, compiled on first use."""

    def __missing__(self, frame: bytes) -> tuple[compiled_decoder.Decoder, int]:
        if len(frame) != 3 or max(frame) > 127:
            raise KeyError(frame)
        frame_version, api_key, version = frame
        cls = metadata_types().get(api_key)
        if frame_version != _FRAME_VERSION or cls is None or not has_version(cls, version):
            raise KeyError(frame)
        self[frame] = compiled_decoder.decoder(layout(cls, version)), version
        return self[frame]


PLAIN_DECODERS = _PlainDecoders()
"""For each frame, the decoder of its message and the record version; for loops over many values."""

NOT_PLAIN = compiled_decoder.NOT_PLAIN
"""Errors that `PLAIN_DECODERS` and its decoders raise for a value that needs `decode_value`."""


def _decode_unusual(value: bytes) -> Decoded:
    frame_version, position = _frame_part(value, 0, "frame version")
    if frame_version != _FRAME_VERSION:
        return _unknown(_UNREADABLE, _UNREADABLE, value)
    api_key, position = _frame_part(value, position, "API key")
    version, position = _frame_part(value, position, "record version")
    cls = metadata_types().get(api_key)
    if cls is None or not has_version(cls, version):
        return _unknown(api_key, version, value)
    record, unknown_tags = reference.decode(layout(cls, version), value, position)
    # The slow path was taken already, and encoding again is the exact test for "canonical".
    canonical = encode_value(record, version, unknown_tags) == value
    return Decoded(record, version, unknown_tags, canonical)


def _frame_part(value: bytes, position: int, part: str) -> tuple[int, int]:
    try:
        number, end = decode_unsigned(value, position)
    except IndexError:
        raise CorruptLogError(f"byte {position}: the value ends in its {part}") from None
    except CorruptLogError as error:
        raise CorruptLogError(f"byte {position} of the value, {part}: {error}") from error
    if number > _KEY_MAX:
        raise CorruptLogError(f"byte {position} of the value: {part} {number} is above {_KEY_MAX}")
    return number, end


def _unknown(api_key: int, version: int, value: bytes, control_key: bytes | None = None) -> Decoded:
    record = UnknownRecord(
        api_key=api_key, record_version=version, value=value, control_key=control_key
    )
    return Decoded(record, version)


def encode_value(record: Record, version: int, unknown_tags: Sequence[UnknownTag] = ()) -> bytes:
    """Encode the value of a metadata record in one version of its layout.

    Raises:
        RequestError: Kafka has no such record or version; a field that does not exist in this
            version differs from its default; or a value does not fit its field.
    """
    if type(record) is UnknownRecord:
        return record.value
    cls = type(record)
    if not unknown_tags:
        try:
            return _encoder(cls, version)(record)
        except compiled_encoder.NOT_ENCODED:
            pass  # the reference encoder names the reason
    return _frame(cls, version) + reference.encode(layout(cls, version), record, unknown_tags)


@functools.cache
def _encoder(cls: type[Record], version: int) -> compiled_encoder.Encoder:
    frame = _frame(cls, version)  # raises if Kafka does not have it
    return compiled_encoder.encoder(layout(cls, version), frame)


@functools.cache
def _frame(cls: type[Record], version: int) -> bytes:
    api_key = _kafka_number(cls, "api_key", version)
    return UNSIGNED[_FRAME_VERSION] + UNSIGNED[api_key] + UNSIGNED[version]


def _kafka_number(cls: type[Record], key: str, version: int) -> int:
    number: int | None = schema(cls.__name__).get("kafka", {}).get(key)
    if number is None or not has_version(cls, version):
        raise RequestError(
            "UNSUPPORTED_VERSION", f"Kafka has no {cls.__name__} of version {version}"
        )
    return number


def decode_control(key: bytes, value: bytes) -> Decoded:
    """Decode the key and value of a control record.

    A record of an unknown type or version becomes an UnknownRecord.

    Raises:
        CorruptLogError: the bytes are not exactly one record; names the byte within the value and
            the field.
    """
    if len(key) < _CONTROL_KEY.size:
        raise CorruptLogError(f"a control record's key has {len(key)} bytes, fewer than 4")
    _, control_type = _CONTROL_KEY.unpack_from(key)
    cls = control_types().get(control_type)
    if cls is None:
        return _unknown(control_type, _UNREADABLE, value, key)
    if len(value) < _VERSION.size:
        raise CorruptLogError("byte 0 of the value, field version: the value ends inside it")
    (version,) = _VERSION.unpack_from(value)
    if not has_version(cls, version):
        return _unknown(control_type, version, value, key)
    record, unknown_tags = reference.decode(layout(cls, version), value, 0)
    canonical = encode_control(record, unknown_tags) == (key, value)
    return Decoded(record, version, unknown_tags, canonical)


def encode_control(record: Record, unknown_tags: Sequence[UnknownTag] = ()) -> tuple[bytes, bytes]:
    """Encode a control record's key and value; the record's field `version` selects the layout.

    Raises:
        RequestError: Kafka has no such control record or version, or a value cannot be encoded.
    """
    if type(record) is UnknownRecord:
        if record.control_key is None:
            raise RequestError(
                "INVALID_RECORD", "the unknown record has no key, which a control record needs"
            )
        return record.control_key, record.value
    version: int = getattr(record, "version", _UNREADABLE)
    control_type = _kafka_number(type(record), "control_type", version)
    value = reference.encode(layout(type(record), version), record, unknown_tags)
    return _CONTROL_KEY.pack(_CONTROL_KEY_VERSION, control_type), value
