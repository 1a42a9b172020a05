"""Byte strings to search for in decompressed blocks, so that only matching blocks are decoded.

Most blocks of a log do not mention a given topic, and searching a block for the 16 bytes of its id
costs far less than decoding it.
"""

import re
from collections.abc import Iterable, Mapping

from records import registry
from records.avro.codec import holds_record, holds_unknown_tags
from records.base import Record
from records.varint import LONGS, decode_long, encode_long

# In every row the branch of the payload union follows two zero bytes: `asked` is null or ends with
# the zero that ends its array of secrets, and `kept` is null (except in checkpoints, which are
# always read as a whole).
_BEFORE_PAYLOAD = bytes(2)
*_, _ASKED, _KEPT, _PAYLOAD = registry.schema("Envelope")["fields"]
assert [field["name"] for field in (_ASKED, _KEPT, _PAYLOAD)] == ["asked", "kept", "payload"]
assert _ASKED["type"][0] == _KEPT["type"][0] == "null"
assert _ASKED["type"][1]["fields"][-1]["type"]["type"] == "array", "the end of `asked`"

# The bytes before a record may occur so often in a block that decoding it is cheaper.
_ATTEMPTS_MAX = 64

# How `extra` begins with unknown tags: its branch, their count, and the path of the first one,
# which is empty or begins with the name of a field.
_NUMBER = rb"(?:[\x02-\x7e]|[\x80-\xff][\x01-\x7f])"
_UNKNOWN_TAGS = re.compile(rb"\x02%s(?:\x00|%s[a-z])" % (_NUMBER, _NUMBER))
_EXTRA = registry.schema("Envelope")["fields"][-4]
assert _EXTRA["name"] == "extra"
assert _EXTRA["type"][1]["fields"][0]["name"] == "unknown_tags"

# An attempt to decode `extra` costs less than a row does.
_TAG_ATTEMPTS_MAX = 1_000


class Needles:
    """Selects the blocks to decode. More needles may be added while a log is read.

    Record types can be recognised only in blocks of the newest schema.

    Attributes:
        everything: True if every block is to be decoded.
    """

    def __init__(self) -> None:
        self.everything = False
        self._with_unknown_tags = False
        self._found: dict[bytes, None] = {}
        # For types by their place in the registry: what the records looked for begin with.
        self._beginnings: dict[int, dict[bytes, None]] = {}
        self._pattern: re.Pattern[bytes] | None = None

    def add(self, needle: bytes) -> None:
        """Decode blocks that hold these bytes."""
        self._found[needle] = None

    def add_type(self, record_type: type[Record], beginning: bytes = b"") -> None:
        """Decode blocks that hold a record of this type, and a few others by chance.

        Args:
            beginning: What the record's first fields are encoded as; fewer blocks match, and
                matches are confirmed by decoding that one record.
        """
        if not beginning:
            self.add(type_needle(record_type))
            return
        index = registry.RECORD_TYPES.index(record_type)
        self._beginnings.setdefault(index, {})[beginning] = None
        self._pattern = None

    def add_unknown_tags(self) -> None:
        """Decode blocks that hold a record with unknown tags, as only imported logs do."""
        self._with_unknown_tags = True

    def found_in(self, body: bytes) -> bool:
        """True if the block with this body is to be decoded."""
        if self.everything:
            return True
        for needle in self._found:  # twice as fast as any()
            if needle in body:
                return True
        if self._with_unknown_tags and _holds_unknown_tags(body):
            return True
        return bool(self._beginnings) and self._holds_record(body)

    def _holds_record(self, body: bytes) -> bool:
        """True if a block may hold one of the records whose beginnings are known.

        The zeros that precede a record also stand between the small numbers of others.
        """
        if self._pattern is None:
            self._pattern = _pattern(self._beginnings)
        search, at = self._pattern.search, 0
        for _ in range(_ATTEMPTS_MAX):
            found = search(body, at)
            if found is None:
                return False
            index, start = decode_long(body, found.start() + len(_BEFORE_PAYLOAD))
            if holds_record(body, start, index):
                return True
            at = found.start() + 1
        return True


def _holds_unknown_tags(body: bytes) -> bool:
    at = 0
    for _ in range(_TAG_ATTEMPTS_MAX):
        found = _UNKNOWN_TAGS.search(body, at)
        if found is None:
            return False
        if holds_unknown_tags(body, found.start()):
            return True
        at = found.start() + 1
    return True


def _pattern(beginnings: Mapping[int, Iterable[bytes]]) -> re.Pattern[bytes]:
    """Return a pattern that matches before every record, and before few other bytes.

    One search is several times as fast as one for each beginning.
    """
    types: dict[bytes, list[bytes]] = {}
    for index, of in beginnings.items():
        # `zip` ends with the shortest: the first bytes that all have, whatever their combination.
        following = b"".join(_any_of(bytes([b]) for b in place) for place in zip(*of, strict=False))
        types.setdefault(following, []).append(LONGS[index])
    choices = (_any_of(of) + following for following, of in types.items())
    return re.compile(re.escape(_BEFORE_PAYLOAD) + b"(?:%s)" % b"|".join(choices))


def _any_of(choices: Iterable[bytes]) -> bytes:
    return b"(?:%s)" % b"|".join(map(re.escape, dict.fromkeys(choices)))


def previous_crc32c_bytes(crc32c: int) -> bytes:
    """Return the encoding of `previous_crc32c` in a batch's first row."""
    return b"\2" + encode_long(crc32c)


def type_needle(record_type: type[Record]) -> bytes:
    """Return bytes that every block of the newest schema holds that has a record of this type."""
    return _BEFORE_PAYLOAD + LONGS[registry.RECORD_TYPES.index(record_type)]
