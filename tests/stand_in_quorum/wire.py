"""Primitive types of Kafka's protocol: big-endian numbers, strings, arrays and tagged fields.

A message is flexible or not, as its version says: a flexible one has compact lengths (unsigned
varint, one more than the length, 0 for null) and tagged fields after every struct.
"""

import struct
from collections.abc import Callable, Mapping
from typing import TypeVar

_T = TypeVar("_T")


class MalformedError(ValueError):
    """A request that Kafka could not parse: it closes the connection."""


class Reader:
    """Reads values from the beginning of a message."""

    def __init__(self, data: bytes, *, is_flexible: bool) -> None:
        self.data = data
        self.is_flexible = is_flexible
        self.position = 0

    def take(self, size: int) -> bytes:
        if size < 0 or self.position + size > len(self.data):
            raise MalformedError(f"{size} bytes at {self.position} of {len(self.data)}")
        self.position += size
        return self.data[self.position - size : self.position]

    def _number(self, layout: str) -> int:
        (value,) = struct.unpack(layout, self.take(struct.calcsize(layout)))
        assert isinstance(value, int)
        return value

    def int8(self) -> int:
        return self._number(">b")

    def int16(self) -> int:
        return self._number(">h")

    def int32(self) -> int:
        return self._number(">i")

    def int64(self) -> int:
        return self._number(">q")

    def boolean(self) -> bool:
        return self.int8() != 0

    def uuid(self) -> bytes:
        return self.take(16)

    def varint(self) -> int:
        """Return an unsigned varint of at most 32 bits."""
        value = 0
        for shift in range(0, 35, 7):
            byte = self._number(">B")
            value |= (byte & 0x7F) << shift
            if not byte & 0x80:
                return value
        raise MalformedError("a varint of more than 5 bytes")

    def _length(self, fixed: Callable[[], int]) -> int:
        return self.varint() - 1 if self.is_flexible else fixed()

    def string(self) -> str | None:
        size = self._length(self.int16)
        return None if size < 0 else self.take(size).decode()

    def text(self) -> str:
        """Return a string that must not be null."""
        value = self.string()
        if value is None:
            raise MalformedError("a string is null")
        return value

    def bytes_(self) -> bytes:
        size = self._length(self.int32)
        if size < 0:
            raise MalformedError("bytes are null")
        return self.take(size)

    def array(self, read: Callable[[], _T]) -> list[_T] | None:
        count = self._length(self.int32)
        return None if count < 0 else [read() for _ in range(count)]

    def items(self, read: Callable[[], _T]) -> list[_T]:
        """Return an array that must not be null."""
        found = self.array(read)
        if found is None:
            raise MalformedError("an array is null")
        return found

    def tags(self) -> dict[int, bytes]:
        """Return the tagged fields of a struct by tag; empty if the message has no tags."""
        if not self.is_flexible:
            return {}
        found: dict[int, bytes] = {}
        for _ in range(self.varint()):
            tag = self.varint()
            if found and tag <= max(found):
                raise MalformedError(f"tag {tag} is out of order")
            found[tag] = self.take(self.varint())
        return found

    def end(self) -> None:
        if self.position != len(self.data):
            raise MalformedError(f"{len(self.data) - self.position} bytes too many")


def varint(value: int) -> bytes:
    """Encode an unsigned varint."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


class Writer:
    """Writes values one after another."""

    def __init__(self, *, is_flexible: bool) -> None:
        self.is_flexible = is_flexible
        self._out = bytearray()

    def done(self) -> bytes:
        return bytes(self._out)

    def raw(self, data: bytes) -> "Writer":
        self._out += data
        return self

    def int8(self, value: int) -> "Writer":
        return self.raw(struct.pack(">b", value))

    def int16(self, value: int) -> "Writer":
        return self.raw(struct.pack(">h", value))

    def uint16(self, value: int) -> "Writer":
        return self.raw(struct.pack(">H", value))

    def int32(self, value: int) -> "Writer":
        return self.raw(struct.pack(">i", value))

    def int64(self, value: int) -> "Writer":
        return self.raw(struct.pack(">q", value))

    def boolean(self, value: bool) -> "Writer":
        return self.int8(int(value))

    def _length(self, size: int, fixed: str) -> "Writer":
        return self.raw(varint(size + 1) if self.is_flexible else struct.pack(fixed, size))

    def string(self, value: str | None) -> "Writer":
        data = None if value is None else value.encode()
        return self._length(-1 if data is None else len(data), ">h").raw(data or b"")

    def bytes_(self, value: bytes | None) -> "Writer":
        return self._length(-1 if value is None else len(value), ">i").raw(value or b"")

    def count(self, size: int) -> "Writer":
        """Write the length of an array; its items follow."""
        return self._length(size, ">i")

    def tags(self, fields: Mapping[int, bytes] | None = None) -> "Writer":
        """Write the tagged fields of a struct; nothing if the message has no tags."""
        if not self.is_flexible:
            return self
        given = fields or {}
        self.raw(varint(len(given)))
        for tag in sorted(given):
            self.raw(varint(tag) + varint(len(given[tag])) + given[tag])
        return self
