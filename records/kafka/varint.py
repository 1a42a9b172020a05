"""Kafka's variable-length integers: unsigned inside messages, zigzag around them.

Groups of seven bits, lowest first; a set high bit means that more follow.

Source: KIP-482 (unsigned), KIP-98 (zigzag).
"""

from records.errors import CorruptLogError

_SIZE_32_BITS = 5
_SIZE_64_BITS = 10


def encode_unsigned(value: int) -> bytes:
    """Encode an unsigned 32-bit integer."""
    if not 0 <= value < 1 << 32:
        raise OverflowError(f"{value} does not fit in 32 bits without a sign")
    return _encode(value)


def encode_zigzag(value: int) -> bytes:
    """Encode a signed 64-bit integer; small values of either sign are short."""
    if not -(1 << 63) <= value < 1 << 63:
        raise OverflowError(f"{value} does not fit in 64 bits")
    return _encode((value << 1) ^ (value >> 63))


def _encode(rest: int) -> bytes:
    out = bytearray()
    while rest > 0x7F:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    out.append(rest)
    return bytes(out)


def decode_unsigned(data: bytes, position: int) -> tuple[int, int]:
    """Read an unsigned 32-bit integer.

    Returns:
        The value, and the position after it.

    Raises:
        IndexError: `data` ends inside it.
        CorruptLogError: it does not fit in 32 bits.
    """
    value, end = _decode(data, position, _SIZE_32_BITS)
    if value >> 32:
        raise CorruptLogError(f"the integer at byte {position} does not fit in 32 bits")
    return value, end


def decode_zigzag(data: bytes, position: int) -> tuple[int, int]:
    """Read a signed 64-bit integer; returns and raises as `decode_unsigned`."""
    value, end = _decode(data, position, _SIZE_64_BITS)
    if value >> 64:
        raise CorruptLogError(f"the integer at byte {position} does not fit in 64 bits")
    return (value >> 1) ^ -(value & 1), end


def _decode(data: bytes, position: int, size_max: int) -> tuple[int, int]:
    value = shift = 0
    for at in range(position, position + size_max):
        byte = data[at]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at + 1
        shift += 7
    raise CorruptLogError(f"the integer at byte {position} takes more than {size_max} bytes")


class _Unsigned(dict[int, bytes]):
    """Encoded unsigned integers: small ones are precomputed, others encoded on demand."""

    def __missing__(self, value: int) -> bytes:
        return encode_unsigned(value)


class _Zigzag(dict[int, bytes]):
    """The same for signed integers."""

    def __missing__(self, value: int) -> bytes:
        return encode_zigzag(value)


UNSIGNED = _Unsigned({value: encode_unsigned(value) for value in range(1_024)})
ZIGZAG = _Zigzag({value: encode_zigzag(value) for value in range(-1, 10_000)})
