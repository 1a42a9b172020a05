"""The reference codec: slow and exact, with errors that give the reason.

It decodes and encodes everything that the compiled codec does not handle: damage, unknown tags, and
encodings that our encoder would not choose. Messages that both can decode give the same result
(tests/records/kafka/test_compiled.py).
"""

import struct
from collections.abc import Sequence
from typing import Any, NoReturn

from records.base import Record
from records.envelope import UnknownTag
from records.errors import CorruptLogError, RequestError
from records.kafka.layout import ArrayOf, Field, FieldType, Layout
from records.varint import UNSIGNED, decode_unsigned

SCALARS: dict[str, struct.Struct] = {
    "bool": struct.Struct(">B"),
    "int8": struct.Struct(">b"),
    "int16": struct.Struct(">h"),
    "uint16": struct.Struct(">H"),
    "int32": struct.Struct(">i"),
    "uint32": struct.Struct(">I"),
    "int64": struct.Struct(">q"),
    "float64": struct.Struct(">d"),
    "uuid": struct.Struct(">16s"),
}
"""Types of fixed size."""

MARKER, NULL_STRUCTURE, STRUCTURE = "int8", -1, 1
"""Marker before a nullable structure: its type, its value for null, its value for not null.
Source: KIP-893."""

LENGTHS = {"string": "int16", "bytes": "int32", "array": "int32"}
"""Type of each length field in the older, not flexible encoding; length -1 means null."""


def decode(layout: Layout, data: bytes, position: int) -> tuple[Record, tuple[UnknownTag, ...]]:
    """Decode one structure that fills `data` from `position` to its end.

    Returns:
        The structure, and the tagged fields in the bytes that the layout does not have.

    Raises:
        CorruptLogError: names the byte within `data` and the field.
    """
    decoder = _Decoder(data, position)
    record = decoder.structure(layout)
    if decoder.position != len(data):
        decoder.fail(f"{len(data) - decoder.position} bytes follow the last field")
    return record, tuple(decoder.unknown_tags)


def too_many_items(items_max: int) -> RequestError:
    """Return the error for a structure whose arrays have more than `items_max` items."""
    return RequestError(
        "MESSAGE_TOO_LARGE", f"a request has at most {items_max} items; send several requests"
    )


def decode_start(
    layout: Layout, data: bytes, position: int, *, items_max: int | None = None
) -> tuple[Record, tuple[UnknownTag, ...]]:
    """Decode one structure at `position` as `decode` does, but allow other bytes after it.

    Args:
        items_max: Maximum number of items of all arrays together; None: no limit.

    Raises:
        CorruptLogError: names the byte within `data` and the field.
        RequestError: MESSAGE_TOO_LARGE, there are more items.
    """
    decoder = _Decoder(data, position, items_max)
    return decoder.structure(layout), tuple(decoder.unknown_tags)


class _Decoder:
    """Decodes values from `position` on; `_path` is the path of the current field.

    A length is checked against the bytes left before anything is allocated, so a few damaged bytes
    cannot cost much memory.
    """

    def __init__(self, data: bytes, position: int, items_max: int | None = None) -> None:
        self._data = data
        self._items_max = items_max
        self._items = 0
        self._path: list[str] = []
        self.position = position
        self.unknown_tags: list[UnknownTag] = []

    def fail(self, what: str, at: int | None = None) -> NoReturn:
        position = self.position if at is None else at
        field = f", field {'/'.join(self._path)}" if self._path else ""
        raise CorruptLogError(f"byte {position} of the value{field}: {what}")

    def structure(self, layout: Layout) -> Record:
        values: dict[str, Any] = {}
        for field in layout.fields:
            values[field.name] = self._field(field, flexible=layout.flexible)
        if layout.flexible:
            self._tagged_section({field.tag: field for field in layout.tagged}, values)
        return layout.cls(**values)

    def _field(self, field: Field, *, flexible: bool) -> Any:
        self._path.append(field.name)
        value = self._value(field.type, nullable=field.nullable, flexible=flexible)
        self._path.pop()
        return value

    def _value(self, field_type: FieldType, *, nullable: bool, flexible: bool) -> Any:
        if isinstance(field_type, Layout):
            if nullable and self._scalar(MARKER) < 0:
                return None
            return self.structure(field_type)
        if field_type == "bool":
            return bool(self._scalar(field_type))
        if isinstance(field_type, str) and field_type in SCALARS:
            return self._scalar(field_type)
        start = self.position
        size = self._unsigned() - 1 if flexible else self._scalar(LENGTHS[_length_key(field_type)])
        if size < 0:
            if not nullable or size < -1:
                self.fail("null, where there must be a value", start)
            return None
        if isinstance(field_type, ArrayOf):
            return self._array(field_type.item, size, flexible)
        return self._string(size) if field_type == "string" else self._take(size)

    def _scalar(self, name: str) -> Any:
        scalar = SCALARS[name]
        (value,) = scalar.unpack(self._take(scalar.size))
        return value

    def _string(self, size: int) -> str:
        start = self.position
        try:
            return self._take(size).decode()
        except UnicodeDecodeError as error:
            self.fail(f"not UTF-8: {error.reason}", start + error.start)

    def _array(self, item: FieldType, count: int, flexible: bool) -> tuple[Any, ...]:
        # An item takes at least one byte.
        if count > len(self._data) - self.position:
            self.fail(f"{count} items wanted, {len(self._data) - self.position} bytes are left")
        self._items += count
        if self._items_max is not None and self._items > self._items_max:
            raise too_many_items(self._items_max)
        items = []
        for index in range(count):
            self._path.append(str(index))
            items.append(self._value(item, nullable=False, flexible=flexible))
            self._path.pop()
        return tuple(items)

    def _tagged_section(self, known: dict[int | None, Field], values: dict[str, Any]) -> None:
        seen: set[int] = set()
        for _ in range(self._unsigned()):
            start = self.position
            tag = self._unsigned()
            if tag in seen:
                self.fail(f"tag {tag} occurs twice", start)
            seen.add(tag)
            size = self._unsigned()
            if tag not in known:
                path, value = "/".join(self._path), self._take(size)
                self.unknown_tags.append(UnknownTag(path=path, tag=tag, value=value))
                continue
            end = self.position + size
            field = known[tag]
            values[field.name] = self._field(field, flexible=True)
            if self.position != end:
                self.fail(
                    f"the value of tag {tag} ({field.name}) does not fill its {size} bytes", start
                )

    def _unsigned(self) -> int:
        try:
            value, self.position = decode_unsigned(self._data, self.position)
        except IndexError:
            self.fail("the value ends inside an integer")
        except CorruptLogError as error:
            self.fail(str(error))
        return value

    def _take(self, size: int) -> bytes:
        end = self.position + size
        if end > len(self._data):
            self.fail(f"{size} bytes wanted, {len(self._data) - self.position} are left")
        taken = self._data[self.position : end]
        self.position = end
        return taken


def encode(layout: Layout, record: Record, unknown_tags: Sequence[UnknownTag] = ()) -> bytes:
    """Encode one structure, including unknown tagged fields.

    Raises:
        RequestError: a field that does not exist in this version differs from its default, or a
            value does not fit its field.
    """
    encoder = _Encoder(unknown_tags)
    encoder.structure(layout, record)
    if encoder.unknown_tags:
        lost = next(iter(encoder.unknown_tags))
        raise RequestError(
            "INVALID_RECORD",
            f"the record has an unknown tagged field in {lost!r}, a structure that it lacks",
        )
    return b"".join(encoder.parts)


def _length_key(field_type: FieldType) -> str:
    return field_type if isinstance(field_type, str) else "array"


class _Encoder:
    def __init__(self, unknown_tags: Sequence[UnknownTag]) -> None:
        self._path: list[str] = []
        self.parts: list[bytes] = []
        # By path; each structure removes its own.
        self.unknown_tags: dict[str, dict[int, bytes]] = {}
        for unknown in unknown_tags:
            self.unknown_tags.setdefault(unknown.path, {})[unknown.tag] = unknown.value

    def fail(self, what: str) -> NoReturn:
        raise RequestError("INVALID_RECORD", f"field {'/'.join(self._path)}: {what}")

    def structure(self, layout: Layout, record: Record) -> None:
        if type(record) is not layout.cls:
            self.fail(f"{record!r} is not a {layout.cls.__name__}")
        _check_absent(layout, record)
        for field in layout.fields:
            self._field(field, getattr(record, field.name), flexible=layout.flexible)
        if layout.flexible:
            self._tagged_section(layout, record)

    def _field(self, field: Field, value: Any, *, flexible: bool) -> None:
        self._path.append(field.name)
        if value is None and not field.nullable:
            self.fail("null, where there must be a value")
        if field.nullable and isinstance(field.type, Layout):
            self._scalar(MARKER, NULL_STRUCTURE if value is None else STRUCTURE)
        if value is not None or not isinstance(field.type, Layout):
            self._value(field.type, value, flexible=flexible)
        self._path.pop()

    def _value(self, field_type: FieldType, value: Any, *, flexible: bool) -> None:
        match field_type:
            case Layout():
                self.structure(field_type, value)
            case _ if value is None:
                self._length(field_type, -1, flexible)
            case ArrayOf():
                self._length(field_type, len(value), flexible)
                for index, item in enumerate(value):
                    self._path.append(str(index))
                    self._value(field_type.item, item, flexible=flexible)
                    self._path.pop()
            case "string" | "bytes":
                raw = self._utf8(value) if field_type == "string" else value
                self._length(field_type, len(raw), flexible)
                self.parts.append(raw)
            case _:
                self._scalar(field_type, value)

    def _length(self, field_type: FieldType, length: int, flexible: bool) -> None:
        if flexible:
            self.parts.append(UNSIGNED[length + 1])
        else:
            self._scalar(LENGTHS[_length_key(field_type)], length)

    def _utf8(self, text: str) -> bytes:
        try:
            return text.encode()
        except UnicodeEncodeError as error:
            self.fail(f"{text!r} cannot be written as UTF-8: {error.reason}")

    def _scalar(self, name: str, value: Any) -> None:
        if name == "uuid" and len(value) != 16:
            self.fail(f"an id has 16 bytes, not {len(value)}")
        try:
            self.parts.append(SCALARS[name].pack(value))
        except struct.error as error:
            self.fail(f"{value!r} does not fit {name}: {error}")

    def _tagged_section(self, layout: Layout, record: Record) -> None:
        payloads = self.unknown_tags.pop("/".join(self._path), {})
        for field in layout.tagged:
            assert field.tag is not None
            if field.tag in payloads:
                self.fail(f"the unknown tag {field.tag} is the known field {field.name}")
            value = getattr(record, field.name)
            if value != field.default:
                payloads[field.tag] = self._payload(field, value)
        self.parts.append(UNSIGNED[len(payloads)])
        for tag, payload in sorted(payloads.items()):
            self.parts.append(UNSIGNED[tag] + UNSIGNED[len(payload)] + payload)

    def _payload(self, field: Field, value: Any) -> bytes:
        outer, self.parts = self.parts, []
        self._field(field, value, flexible=True)
        payload, self.parts = b"".join(self.parts), outer
        return payload


def _check_absent(layout: Layout, record: Record) -> None:
    for field in layout.absent:
        value = getattr(record, field.name)
        if value != field.default:
            raise RequestError(
                "UNSUPPORTED_VERSION",
                f"{layout.cls.__name__} version {layout.version} has no {field.name}, "
                f"so it cannot hold {value!r}",
            )
