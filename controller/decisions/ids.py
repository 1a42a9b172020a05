"""Random ids of topics and namespaces."""

from typing import Protocol

from records.base import ZERO_UUID, Uuid

# Index of '-' in the alphabet of URL-safe base64; each character holds 6 bits.
_DASH = 62

# "No topic", and the topic id of the metadata log itself.
_RESERVED = frozenset({ZERO_UUID, Uuid((1).to_bytes(16))})


class IdSource(Protocol):
    """Interface of the source of random bytes for ids, such as `random.Random`."""

    def randbytes(self, size: int, /) -> bytes:
        """Return `size` random bytes."""
        ...


def can_be_id(value: Uuid) -> bool:
    """True if an id given from outside is usable: not reserved, and not beginning with a hyphen."""
    return value not in _RESERVED and value[0] >> 2 != _DASH


def new_id(source: IdSource) -> Uuid:
    """Return a random UUID of version 4 (122 random bits, so never zero).

    Its text never starts with '-', which a shell would read as an option.
    """
    while True:
        octets = bytearray(source.randbytes(16))
        octets[6] = octets[6] & 0x0F | 0x40
        octets[8] = octets[8] & 0x3F | 0x80
        if octets[0] >> 2 != _DASH:
            return Uuid(bytes(octets))
