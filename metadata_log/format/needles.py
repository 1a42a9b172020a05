"""Byte strings to search for in decompressed blocks, so that only matching blocks are decoded.

Most blocks of a log do not contain the id of a given topic, and searching a block for these 16
bytes costs far less than decoding it.
"""

from metadata_log.format.block_filter import BlockRun
from metadata_log.format.record_tokens import NAME_SEPARATOR, id_token, name_token, type_bit
from records import registry
from records.avro.codec import holds_record, holds_unknown_tags
from records.base import Record, Uuid
from records.varint import LONGS, encode_long

# In every row the branch of the payload union follows two zero bytes: `asked` is null or ends with
# the zero that ends its array of secrets, and `kept` is null (except in checkpoints, which are
# always read as a whole).
_BEFORE_PAYLOAD = bytes(2)
*_, _ASKED, _KEPT, _PAYLOAD = registry.schema("Envelope")["fields"]
assert [field["name"] for field in (_ASKED, _KEPT, _PAYLOAD)] == ["asked", "kept", "payload"]
assert _ASKED["type"][0] == _KEPT["type"][0] == "null"
assert _ASKED["type"][1]["fields"][-1]["type"]["type"] == "array", "the end of `asked`"

# Looking for more hints than this takes as long as going through the rows (measured).
_HINTS_MAX = 4

assert len(LONGS[len(registry.RECORD_TYPES) - 1]) == 1, "one byte leads to a type"


class Needles:
    """Byte strings and record types that select the blocks to decode; more may be added while
    reading.

    Record types can be recognized only in blocks of the newest schema.

    Attributes:
        everything: True if every block is to be decoded.
    """

    def __init__(self) -> None:
        self.everything = False
        self._with_unknown_tags = False
        self._found: dict[bytes, None] = {}
        # For the encoded place of a type in the registry: what the records looked for begin with.
        self._beginnings: dict[int, tuple[bytes, ...]] = {}
        # Bytes that every block with such a record holds, and others by chance.
        self._hints: list[bytes] = []
        # What a run of blocks with one of the records has: one of the tokens, one of the types, or
        # a type together with a token.
        self._tokens: set[bytes] = set()
        self._types = 0
        self._named: set[tuple[int, bytes]] = set()
        self._has_other_bytes = False

    def add(self, needle: bytes) -> None:
        """Select blocks that contain these bytes; a filter does not know where these are."""
        self._found[needle] = None
        self._has_other_bytes = True

    def add_id(self, found: Uuid) -> None:
        """Select blocks with a record about the topic or namespace of this id."""
        self._found[found] = None
        self._tokens.add(id_token(found))

    def add_name(self, name: str) -> None:
        """Select blocks with a record of this name: that of a topic, a namespace, a config or its
        resource.
        """
        # With its length, as Avro writes a string: longer names may contain it.
        encoded = _encoded(name)
        self._found[encode_long(len(encoded)) + encoded] = None
        self._tokens.add(name_token(name))

    def add_name_in_namespace(self, name: str) -> None:
        """Select blocks with a record of this name in any namespace."""
        self._found[_encoded(NAME_SEPARATOR + name)] = None
        self._tokens.add(name_token(name))

    def add_type(
        self, record_type: type[Record], beginning: bytes = b"", name: str | None = None
    ) -> None:
        """Select blocks that contain a record of this type.

        Args:
            beginning: The encoded first fields that the record must have; empty means any.
            name: One of the names that the record then has, if it has any.
        """
        if name is None:
            self._types |= type_bit(record_type)
        else:
            self._named.add((type_bit(record_type), name_token(name)))
        (branch,) = LONGS[registry.RECORD_TYPES.index(record_type)]
        known = self._beginnings.get(branch, ())
        if beginning not in known:
            self._beginnings[branch] = (*known, beginning)
            self._hints.append(type_needle(record_type) + beginning)

    def add_unknown_tags(self) -> None:
        """Select blocks that contain a record with unknown tags; only imported logs have such
        records.
        """
        self._with_unknown_tags = True

    def may_be_in(self, run: BlockRun) -> bool:
        """True if a block of a run may have to be decoded."""
        if self.everything or self._has_other_bytes or self._with_unknown_tags:
            return True
        types, tokens = run.types, run.tokens
        if types & self._types:
            return True
        for token in self._tokens:
            if token in tokens:
                return True
        return any(types & bit and token in tokens for bit, token in self._named)

    def found_in(self, body: bytes, count: int, *, holds_batches: bool = False) -> bool:
        """True if a block must be decoded.

        Args:
            body: The decompressed block.
            count: The block's number of rows.
            holds_batches: True if the block may contain several batches; its rows cannot be
                separated then.
        """
        if self.everything:
            return True
        for needle in self._found:  # twice as fast as any()
            if needle in body:
                return True
        if self._with_unknown_tags and (holds_batches or holds_unknown_tags(body, count)):
            return True
        if len(self._hints) <= _HINTS_MAX:
            for hint in self._hints:
                if hint in body:
                    break
            else:
                return False
        return holds_batches or holds_record(body, count, self._beginnings)


def _encoded(name: str) -> bytes:
    return name.encode("utf-8", "surrogatepass")


def previous_crc32c_bytes(crc32c: int) -> bytes:
    """Return the bytes that encode `previous_crc32c` in a batch's first row."""
    return b"\2" + encode_long(crc32c)


def type_needle(record_type: type[Record]) -> bytes:
    """Return bytes that each newest-schema block with a record of this type contains."""
    return _BEFORE_PAYLOAD + LONGS[registry.RECORD_TYPES.index(record_type)]
