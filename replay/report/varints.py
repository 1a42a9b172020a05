"""Variable-length integers: seven bits per byte, lowest first; the top bit marks a continuation."""

from collections.abc import Iterable


def unsigned(values: Iterable[int]) -> bytes:
    """Encode integers that are not negative."""
    found = list(values)
    if max(found, default=0) <= 0x7F:
        return bytes(found)  # one byte each, as most columns
    out = bytearray()
    append = out.append
    for value in found:
        rest = value
        while rest > 0x7F:
            append(rest & 0x7F | 0x80)
            rest >>= 7
        append(rest)
    return bytes(out)


def signed(values: Iterable[int]) -> bytes:
    """Encode signed integers in zigzag form: 0, -1, 1, -2 become 0, 1, 2, 3."""
    return unsigned(2 * value if value >= 0 else -2 * value - 1 for value in values)


def deltas(values: Iterable[int]) -> bytes:
    """Encode each integer as its difference from the previous integer; the first from 0."""
    return signed(_differences(values))


def _differences(values: Iterable[int]) -> Iterable[int]:
    last = 0
    for value in values:
        yield value - last
        last = value
