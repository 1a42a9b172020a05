"""Decoders that accept only what our own encoders write, so that the bytes can be stored.

Avro also allows integers in more bytes than needed, arrays split into several blocks or with a byte
size, and more than 32 bits in an int. Readers accept all of these, but searches for bytes in
stored blocks would miss them.
"""

from collections.abc import Callable, Mapping
from typing import Any

from records.avro import arrays
from records.avro.arrays import INT_ARRAYS
from records.varint import LONGS, decode_long


class UnusualEncodingError(ValueError):
    """Raised for valid bytes that differ from those our encoders write for the same value."""


def strict_long(data: bytes, position: int) -> tuple[int, int]:
    """Read an integer as `decode_long` does; refuse one that takes more bytes than needed."""
    value, end = decode_long(data, position)
    if end - position > 1 and not data[end - 1]:
        raise UnusualEncodingError(f"the integer at byte {position} is longer than it needs to be")
    return value, end


def _strict_int(data: bytes, position: int) -> tuple[int, int]:
    value, end = strict_long(data, position)
    if not -(1 << 31) <= value < 1 << 31:
        raise UnusualEncodingError(f"{value} does not fit in 32 bits")
    return value, end


def _strict_ints(data: bytes, position: int) -> tuple[tuple[int, ...], int]:
    items, end = arrays.decode_ints(data, position)
    try:
        usual = INT_ARRAYS[items]
    except OverflowError as error:
        raise UnusualEncodingError(str(error)) from error
    return items, _checked(data, position, end, usual)


def _strict_count(data: bytes, position: int) -> tuple[int, int]:
    count, end = arrays.decode_count(data, position)
    return count, _checked(data, position, end, LONGS[count])


def _no_count(data: bytes, position: int) -> tuple[int, int]:
    """Check that an array has no second block; return 0 and the position after the array."""
    return 0, _checked(data, position, position + 1, b"\0")


def _strict_bytes(data: bytes, position: int) -> tuple[bytes, int]:
    value, end = arrays.decode_bytes(data, position)
    _checked(data, position, end - len(value), LONGS[len(value)])
    return value, end


def _checked(data: bytes, position: int, end: int, usual: bytes) -> int:
    if data[position:end] != usual:
        raise UnusualEncodingError(f"byte {position}: not encoded as releases encode it")
    return end


DECODERS: Mapping[str, Callable[[bytes, int], tuple[Any, int]]] = {
    "decode_int": _strict_int,
    "decode_long": strict_long,
    "decode_ints": _strict_ints,
    "decode_count": _strict_count,
    "decode_next_count": _no_count,
    "decode_bytes": _strict_bytes,
}
"""Strict functions, each under the name of the function that it replaces in generated decoders."""
