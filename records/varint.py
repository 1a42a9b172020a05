"""Variable-length integers: seven bits a byte, lowest first; the last byte has no high bit.

Signed integers are zigzag-encoded, so that small values of either sign are short. Avro's long has
this form, and so have the lengths and deltas that frame the records in a Kafka batch. Unsigned
integers are used inside Kafka's messages.

Source: Apache Avro 1.12 (long), KIP-98 (zigzag), KIP-482 (unsigned).
"""

from records.errors import CorruptLogError

_SMALL = 8_192
_UNSIGNED_SIZE_MAX = 5


def encode_long(value: int) -> bytes:
    """Return the zigzag variable-length form of a 64-bit integer."""
    rest = (value << 1) ^ (value >> 63)
    # Offsets, checksums and times take two to six bytes; unrolled these are three times as fast.
    if 0x7F < rest < 0x400_0000_0000:
        low = rest & 0x7F | 0x80
        if rest < 0x4000:
            return bytes((low, rest >> 7))
        second = rest >> 7 & 0x7F | 0x80
        if rest < 0x20_0000:
            return bytes((low, second, rest >> 14))
        third = rest >> 14 & 0x7F | 0x80
        if rest < 0x1000_0000:
            return bytes((low, second, third, rest >> 21))
        fourth = rest >> 21 & 0x7F | 0x80
        if rest < 0x8_0000_0000:
            return bytes((low, second, third, fourth, rest >> 28))
        return bytes((low, second, third, fourth, rest >> 28 & 0x7F | 0x80, rest >> 35))
    if not -(1 << 63) <= value < 1 << 63:
        raise OverflowError(f"{value} does not fit in 64 bits")
    return _groups(rest)


def _groups(rest: int) -> bytes:
    """Encode a nonnegative integer as groups of seven bits."""
    out = bytearray()
    while rest > 0x7F:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    out.append(rest)
    return bytes(out)


def decode_long(data: bytes, position: int) -> tuple[int, int]:
    """Read one integer.

    Returns:
        The value, and the position after it.

    Raises:
        IndexError: `data` ends inside the integer.
        CorruptLogError: the integer is longer than 10 bytes or 64 bits.
    """
    rest = data[position]
    position += 1
    if rest < 0x80:
        return (rest >> 1) ^ -(rest & 1), position
    rest &= 0x7F
    shift = 7
    while True:
        byte = data[position]
        position += 1
        if byte < 0x80:
            rest |= byte << shift
            if shift == 63 and byte > 1:
                raise CorruptLogError(f"integer of more than 64 bits ends at byte {position}")
            return (rest >> 1) ^ -(rest & 1), position
        rest |= (byte & 0x7F) << shift
        shift += 7
        if shift > 63:
            raise CorruptLogError(f"integer of more than 10 bytes ends at byte {position}")


class Longs(dict[int, bytes]):
    """Table of encoded 64-bit integers; small integers are cached on first use."""

    def __missing__(self, value: int) -> bytes:
        encoded = encode_long(value)
        if -_SMALL <= value < _SMALL:
            self[value] = encoded
        return encoded


def encode_unsigned(value: int) -> bytes:
    """Encode an unsigned 32-bit integer."""
    if not 0 <= value < 1 << 32:
        raise OverflowError(f"{value} does not fit in 32 bits without a sign")
    return _groups(value)


def decode_unsigned(data: bytes, position: int) -> tuple[int, int]:
    """Read an unsigned 32-bit integer.

    Returns:
        The value, and the position after it.

    Raises:
        IndexError: `data` ends inside the integer.
        CorruptLogError: the integer does not fit in 32 bits.
    """
    value = shift = 0
    for at in range(position, position + _UNSIGNED_SIZE_MAX):
        byte = data[at]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            if value >> 32:
                raise CorruptLogError(f"the integer at byte {position} does not fit in 32 bits")
            return value, at + 1
        shift += 7
    raise CorruptLogError(
        f"the integer at byte {position} takes more than {_UNSIGNED_SIZE_MAX} bytes"
    )


class _Unsigned(dict[int, bytes]):
    """Table of encoded unsigned integers below 1024; larger integers are encoded on each lookup."""

    def __missing__(self, value: int) -> bytes:
        return encode_unsigned(value)


def consecutive_longs(start: int, count: int) -> list[bytes]:
    """Return the encoded forms of `count` consecutive integers from `start` on; `start` is at least
    0.
    """
    encoded: list[bytes] = []
    end = start + count
    if end > 1 << 63:
        raise OverflowError(f"{end - 1} does not fit in 64 bits")
    while start < end:
        # The first byte holds the low six bits and the sign; the others are the same 64 times.
        low = start & 63
        some = min(64 - low, end - start)
        if start < 64:
            encoded += [LONGS[value] for value in range(start, start + some)]
        else:
            others = _groups(start >> 6)
            encoded += [first + others for first in _FIRST_BYTES[low : low + some]]
        start += some
    return encoded


_FIRST_BYTES = [bytes((low << 1 | 0x80,)) for low in range(64)]

LONGS = Longs()
UNSIGNED = _Unsigned({value: encode_unsigned(value) for value in range(1_024)})
