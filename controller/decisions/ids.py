"""Random ids of topics and namespaces."""

from typing import Protocol

from records.base import ZERO_UUID, Uuid

# The place of '-' in the alphabet of URL-safe base64, of which each character holds 6 bits.
_DASH = 62

# "No topic", and the log of the metadata itself.
_RESERVED = frozenset({ZERO_UUID, Uuid((1).to_bytes(16))})


class IdSource(Protocol):
    """Where the random octets of ids come from; `random.Random` is one."""

    def randbytes(self, size: int, /) -> bytes:
        """Return that many random octets."""
        ...


def can_be_id(value: Uuid) -> bool:
    """Return whether an id from elsewhere may be given: neither reserved nor an option's text."""
    return value not in _RESERVED and value[0] >> 2 != _DASH


def new_id(source: IdSource) -> Uuid:
    """Return a random UUID of version 4 (122 random bits, so never zero).

    Its text never starts with '-', which a shell would take for an option.
    """
    while True:
        octets = bytearray(source.randbytes(16))
        octets[6] = octets[6] & 0x0F | 0x40
        octets[8] = octets[8] & 0x3F | 0x80
        if octets[0] >> 2 != _DASH:
            return Uuid(bytes(octets))
