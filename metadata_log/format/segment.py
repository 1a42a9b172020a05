"""The header of a segment or checkpoint: an Avro Object Container File header with our own keys.

It contains the length and the last CRC of the preceding file, so that a missing, exchanged or
shortened file is detected. It also contains its own CRC.
"""

import functools
import hashlib
from collections.abc import Callable
from typing import Any

import google_crc32c
import msgspec

from metadata_log.format.block import SYNC_SIZE
from records.avro import uniform_rows
from records.avro.arrays import decode_bytes, decode_count
from records.avro.layout import layout_of
from records.avro.schema import envelope_schema_json
from records.avro.stored_schema import parse_stored_schema
from records.envelope import Envelope
from records.errors import CorruptLogError, RequestError
from records.varint import LONGS

MAGIC = b"Obj\x01"
CODEC = "zstandard"
_CRC_KEY = "metalog.header_crc32c"
_LAST_CRC_KEY = "metalog.last_crc32c"
_CRC_DIGITS = 8
_BLOCK_KEY = "metalog.block"
_ONE_BATCH = "batch"
_BATCHES = "batches"
_SOURCE_KEY = "metalog.source_segment"
_CONTINUED = "continued"
_NAMES_KEY = "metalog.first_names"
# The schema is about 12 KiB; a header that claims to be larger than this is damaged.
HEADER_SIZE_BYTES_MAX = 1024 * 1024
# One for each release that wrote a segment of the log.
_SCHEMAS_KEPT = 64


class SegmentHeader(msgspec.Struct, frozen=True, kw_only=True):
    """Identity of a file, and the data needed to read its blocks.

    `previous_length` is the length of the segment before this one, or of the base checkpoint that
    the first segment follows, and `previous_crc32c` the CRC-32C of the last stored block of that
    file; both are 0 if there is no such file. A checkpoint has the same two values as the segment
    that starts at its end offset. `max_timestamp` is the highest append time of any record before
    this segment, None if there is none; searches for a point in time use it, because times can go
    backwards in imported logs. `last_crc32c` is the CRC-32C of a checkpoint's own last block; None
    in segments, which grow, and in checkpoints of early releases. `holds_batches` is True in
    mirrors whose blocks may contain several whole batches of the source. `continues_source` is True
    if the source has no new segment here: the mirror began one for another reason. `first_names`
    are those of a base in Kafka's form (replay/kafka_form/first_names.py), as JSON; empty in
    segments.
    """

    cluster_id: str
    base_offset: int
    leader_epoch: int
    previous_length: int = 0
    previous_crc32c: int = 0
    max_timestamp: int | None = None
    last_crc32c: int | None = None
    holds_batches: bool = False
    continues_source: bool = False
    first_names: str = ""
    schema_json: str = ""

    @property
    def sync_marker(self) -> bytes:
        """The 16 octets that end each block; derived from cluster id, base offset and epoch."""
        identity = f"{self.cluster_id}\n{self.base_offset}\n{self.leader_epoch}\n"
        return hashlib.sha256(identity.encode()).digest()[:SYNC_SIZE]

    @property
    def has_newest_schema(self) -> bool:
        """True if the file's blocks have this release's schema."""
        return self.schema_json == envelope_schema_json()

    def encode(self) -> bytes:
        """Return the header's bytes, which end with the sync marker."""
        values = {
            "avro.schema": self.schema_json or envelope_schema_json(),
            "avro.codec": CODEC,
            "metalog.cluster_id": self.cluster_id,
            "metalog.base_offset": str(self.base_offset),
            "metalog.leader_epoch": str(self.leader_epoch),
            "metalog.previous_length": str(self.previous_length),
            "metalog.previous_crc32c": str(self.previous_crc32c),
            "metalog.max_timestamp": "" if self.max_timestamp is None else str(self.max_timestamp),
        }
        if self.holds_batches:
            values[_BLOCK_KEY] = _BATCHES
        if self.continues_source:
            values[_SOURCE_KEY] = _CONTINUED
        if self.first_names:
            values[_NAMES_KEY] = self.first_names
        if self.last_crc32c is not None:
            # Fixed width, because the value is known only after the blocks are written.
            values[_LAST_CRC_KEY] = f"{self.last_crc32c:08x}"
        before = b"".join(
            (
                MAGIC,
                LONGS[len(values) + 1],
                *(_entry(key, value.encode()) for key, value in values.items()),
                _text(_CRC_KEY.encode()),
                LONGS[_CRC_DIGITS],
            )
        )
        after = b"\0" + self.sync_marker
        return before + _crc_text(before + after) + after


def decode_header(data: bytes) -> tuple[SegmentHeader, int]:
    """Read a header.

    Args:
        data: The beginning of the file, at least the whole header.

    Returns:
        The header, and the position of the first block.

    Raises:
        CorruptLogError: the header is damaged, incomplete, or has a schema that no release writes;
            the message has no file name yet.
        RequestError: UNSUPPORTED_VERSION, a newer release wrote the file with other blocks.
    """
    if data[: len(MAGIC)] != MAGIC:
        raise CorruptLogError(
            f"the file starts with {data[:4].hex()}; an Avro file starts with {MAGIC.hex()}"
        )
    try:
        values, crc_at, end = _read_map(data, len(MAGIC))
        sync_marker = data[end : end + SYNC_SIZE]
        end += SYNC_SIZE
        if end > len(data):
            raise CorruptLogError("the header is cut short")
        found = data[crc_at : crc_at + _CRC_DIGITS]
        expected = _crc_text(data[:crc_at] + data[crc_at + _CRC_DIGITS : end])
        if found != expected:
            raise CorruptLogError(f"the header has CRC {expected!r}, but stores {found!r}")
        header = _header(values)
    except (IndexError, KeyError, ValueError) as error:
        raise CorruptLogError(f"the header cannot be read: {error!r}") from error
    if header.sync_marker != sync_marker:
        raise CorruptLogError("the sync marker does not match the cluster id, offset and epoch")
    if not header.has_newest_schema:
        # Checked here, not at the first block: other readers of the file use the schema too.
        parsed_schema(header.schema_json)
    return header, end


def _read_map(data: bytes, position: int) -> tuple[dict[str, str], int, int]:
    """Read the header's key-value map.

    Returns:
        The map; the position in `data` of the digits of the CRC; and the position after the map.
    """
    values: dict[str, str] = {}
    crc_at = 0
    count, position = decode_count(data, position)
    while count:
        for _ in range(count):
            key, position = decode_bytes(data, position)
            value, position = decode_bytes(data, position)
            crc_at = position - len(value)
            values[key.decode()] = value.decode()
        count, position = decode_count(data, position)
    if not values or list(values)[-1] != _CRC_KEY:
        raise CorruptLogError(f"the header does not end with {_CRC_KEY}")
    return values, crc_at, position


def _header(values: dict[str, str]) -> SegmentHeader:
    if values["avro.codec"] != CODEC:
        raise CorruptLogError(f"codec is {values['avro.codec']!r}, expected {CODEC!r}")
    block = values.get(_BLOCK_KEY, _ONE_BATCH)
    if block not in (_ONE_BATCH, _BATCHES):
        raise RequestError(
            "UNSUPPORTED_VERSION",
            f"the segment at offset {values['metalog.base_offset']} has blocks of {block!r}, this "
            f"release reads those of {_ONE_BATCH!r} and of {_BATCHES!r}; a newer release wrote it: "
            "use a newer release",
        )
    max_timestamp, last_crc32c = values["metalog.max_timestamp"], values.get(_LAST_CRC_KEY)
    return SegmentHeader(
        cluster_id=values["metalog.cluster_id"],
        base_offset=int(values["metalog.base_offset"]),
        leader_epoch=int(values["metalog.leader_epoch"]),
        previous_length=int(values["metalog.previous_length"]),
        previous_crc32c=int(values["metalog.previous_crc32c"]),
        max_timestamp=int(max_timestamp) if max_timestamp else None,
        last_crc32c=None if last_crc32c is None else int(last_crc32c, 16),
        holds_batches=block == _BATCHES,
        continues_source=values.get(_SOURCE_KEY) == _CONTINUED,
        first_names=values.get(_NAMES_KEY, ""),
        schema_json=values["avro.schema"],
    )


@functools.lru_cache(_SCHEMAS_KEPT)
def parsed_schema(schema_json: str) -> dict[str, Any]:
    """Return a stored schema in fastavro's parsed form.

    Raises:
        CorruptLogError: no release writes this schema; the message has no file name yet.
    """
    try:
        return parse_stored_schema(schema_json)
    except ValueError as error:
        raise CorruptLogError(str(error)) from error


@functools.lru_cache(_SCHEMAS_KEPT)
def row_decoder(schema_json: str) -> Callable[[bytes, int], list[Envelope]]:
    """Return a decoder for the rows of blocks written with a stored schema.

    Raises:
        CorruptLogError: no release writes this schema; the message has no file name yet.
    """
    schema = parsed_schema(schema_json)
    layout = layout_of(schema)
    if layout is None:
        # Imported here: old schemas are rare, and fastavro takes longer to import than `metalog
        # info`.
        from records.avro import reference

        return functools.partial(reference.decode_rows, writer_schema=schema)
    return functools.partial(uniform_rows.decode_rows, layout=layout)


def _entry(key: str, value: bytes) -> bytes:
    return _text(key.encode()) + _text(value)


def _text(value: bytes) -> bytes:
    return LONGS[len(value)] + value


def _crc_text(data: bytes) -> bytes:
    return b"%08x" % google_crc32c.value(data)
