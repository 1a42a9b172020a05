"""Encoding of Avro arrays and byte strings, with lookup tables for lists of broker ids.

Measured on partition changes (benchmarks/codec.py): the tables make the generated codec about twice
as fast as calling a function for each integer.
"""

from records.errors import CorruptLogError
from records.varint import LONGS, Longs, decode_long

_CACHE_SIZE_MAX = 65_536


class _Ints(Longs):
    """Table of encoded 32-bit integers.

    Larger integers are refused, because readers in other languages reject them in int fields.
    """

    def __missing__(self, value: int) -> bytes:
        if not -(1 << 31) <= value < 1 << 31:
            raise OverflowError(f"{value} does not fit in 32 bits")
        return super().__missing__(value)


class _IntArrays(dict[tuple[int, ...], bytes]):
    """Table of encoded integer arrays, cached because replica lists repeat."""

    def __missing__(self, items: tuple[int, ...]) -> bytes:
        if items:
            encoded = LONGS[len(items)] + b"".join([INTS[item] for item in items]) + b"\0"
        else:
            encoded = b"\0"
        if len(self) >= _CACHE_SIZE_MAX:
            self.clear()
        self[items] = encoded
        return encoded


class _SmallIntTuples(dict[bytes, tuple[int, ...]]):
    """Table of decoded integer arrays, by their encoded bytes.

    Only arrays whose items take one byte each are decoded this way.
    """

    def __missing__(self, raw: bytes) -> tuple[int, ...]:
        items = tuple([(byte >> 1) ^ -(byte & 1) for byte in raw])
        if len(self) >= _CACHE_SIZE_MAX:
            self.clear()
        self[raw] = items
        return items


INTS = _Ints()
INT_ARRAYS = _IntArrays()
_SMALL_INT_TUPLES = _SmallIntTuples()


def decode_ints(data: bytes, position: int) -> tuple[tuple[int, ...], int]:
    """Read an array of integers; return it and the position after it."""
    first = data[position]
    if not first & 0x81:  # one byte, not negative
        if not first:
            return (), position + 1
        end = position + 1 + (first >> 1)
        raw = data[position + 1 : end]
        if raw.isascii() and not data[end]:
            return _SMALL_INT_TUPLES[raw], end + 1
    items: list[int] = []
    while True:
        count, position = decode_count(data, position)
        if not count:
            return tuple(items), position
        for _ in range(count):
            item, position = decode_long(data, position)
            items.append(item)


def decode_count(data: bytes, position: int) -> tuple[int, int]:
    """Read the item count of an array's next block; a count of 0 ends the array.

    Raises:
        CorruptLogError: the count exceeds the bytes left; raised before anything is allocated.
    """
    count, position = decode_long(data, position)
    if count < 0:
        # A negative count is followed by the block's size in bytes, for readers that skip.
        count = -count
        _, position = decode_long(data, position)
    if count > len(data) - position:
        raise CorruptLogError(
            f"byte {position}: an array of {count} items does not fit in the remaining "
            f"{len(data) - position} bytes"
        )
    return count, position


def decode_bytes(data: bytes, position: int) -> tuple[bytes, int]:
    """Read a length and that many bytes; return the bytes and the position after them."""
    length = data[position]
    if length & 0x81:
        length, position = decode_long(data, position)
    else:
        length >>= 1
        position += 1
    end = position + length
    if length < 0 or end > len(data):
        raise CorruptLogError(
            f"byte {position}: a value of {length} bytes does not fit in the remaining "
            f"{len(data) - position} bytes"
        )
    return data[position:end], end
