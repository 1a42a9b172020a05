"""Byte strings that are searched in decompressed blocks, to decode only those that matter.

Most blocks of a log say nothing of a given topic, and searching the 16 bytes of its id in a block
costs far less than decoding it.
"""

from records import registry
from records.avro.varint import LONGS
from records.base import Record

# In every row the branch of the payload's union follows two zero bytes: `asked` is null or ends in
# the end of its array of secrets, and `kept` is null (except in checkpoints, read as a whole).
_BEFORE_PAYLOAD = bytes(2)
assert [field["name"] for field in registry.schema("Envelope")["fields"]][-3:] == [
    "asked",
    "kept",
    "payload",
]


class Needles:
    """What a block must hold to be decoded. May grow while a log is read.

    Types of records can be told only in blocks of the newest schema.

    Attributes:
        everything: True while every block is to be decoded.
    """

    def __init__(self) -> None:
        self.everything = False
        self._found: dict[bytes, None] = {}

    def add(self, needle: bytes) -> None:
        """Decode blocks that hold these bytes."""
        self._found[needle] = None

    def add_type(self, record_type: type[Record]) -> None:
        """Decode blocks that hold a record of a type, and a few more by chance."""
        self.add(_type_needle(record_type))

    def found_in(self, body: bytes) -> bool:
        """True if a block is to be decoded."""
        if self.everything:
            return True
        for needle in self._found:  # noqa: SIM110 (twice as fast as any())
            if needle in body:
                return True
        return False


def previous_crc32c_bytes(crc32c: int) -> bytes:
    """Return how a batch's first row names the CRC of the block before it."""
    return b"\2" + LONGS[crc32c]


def _type_needle(record_type: type[Record]) -> bytes:
    return _BEFORE_PAYLOAD + LONGS[registry.RECORD_TYPES.index(record_type)]
