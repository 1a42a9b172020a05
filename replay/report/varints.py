"""Variable-length integers: seven bits a byte, lowest first; the top bit says that more follow."""

from collections.abc import Iterable


def unsigned(values: Iterable[int]) -> bytes:
    """Encode numbers of at least 0."""
    out = bytearray()
    append = out.append
    for value in values:
        rest = value
        while rest > 0x7F:
            append(rest & 0x7F | 0x80)
            rest >>= 7
        append(rest)
    return bytes(out)


def signed(values: Iterable[int]) -> bytes:
    """Encode numbers so that those near 0 are short: 0, -1, 1, -2 become 0, 1, 2, 3."""
    return unsigned(2 * value if value >= 0 else -2 * value - 1 for value in values)


def deltas(values: Iterable[int]) -> bytes:
    """Encode each number as its difference from the one before, the first from 0."""
    return signed(_differences(values))


def _differences(values: Iterable[int]) -> Iterable[int]:
    last = 0
    for value in values:
        yield value - last
        last = value
