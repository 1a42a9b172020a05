"""One block of an Avro Object Container File, as written, as stored, and as read.

    count (zigzag long) | size (zigzag long) | size octets of zstandard | 16 octets of sync marker

Source: Avro 1.12 specification, "Object Container Files".
"""

import itertools
from collections.abc import Sequence

import google_crc32c
import msgspec

from metadata_log.format.batch import Batch, EncodedRows, latest_time
from metadata_log.format.zstd_frame import decompress_frame, zstd
from metadata_log.limits import (
    BATCH_SIZE_BYTES_MAX,
    BLOCK_DECODED_BYTES_MAX,
    BLOCK_RECORDS_MAX,
    BLOCK_STORED_BYTES_MAX,
    SMALL_BLOCK_BYTES_MAX,
)
from records.avro import codec
from records.avro.plain_rows import Place, encode_records
from records.envelope import Envelope
from records.errors import CorruptLogError, RequestError
from records.varint import LONGS, decode_long

SYNC_SIZE = 16

_LEVEL = zstd.CompressionParameter.compression_level
_OPTIONS = {
    _LEVEL: 1,
    # Detects changed content. Damage that leaves the content equal is caught by the chain of CRCs.
    zstd.CompressionParameter.checksum_flag: 1,
}
# Higher levels save nothing more.
_THOROUGH = {**_OPTIONS, _LEVEL: 15}


_ENCODING_ERRORS = (AttributeError, LookupError, OverflowError, TypeError, ValueError)


class StoredBlock(msgspec.Struct, frozen=True, gc=False):
    """A block as it lies on disk, not yet decompressed."""

    position: int
    end_position: int
    count: int
    compressed: bytes
    crc32c: int


class BlockEncoder:
    """Encodes batches of up to `size_bytes_max`. Reuses one compressor, which is costly to create.

    Attributes:
        encoded_bytes: Size of all batches so far, refused ones included, before compression.
    """

    def __init__(self, size_bytes_max: int, *, is_thorough: bool = False) -> None:
        """Create an encoder.

        Args:
            is_thorough: Compress small blocks more, but slower; for writers whose callers do not
                wait for each block.
        """
        self._size_bytes_max = size_bytes_max
        self.encoded_bytes = 0
        self._compressor = zstd.ZstdCompressor(options=_OPTIONS)
        self._of_small = zstd.ZstdCompressor(options=_THOROUGH) if is_thorough else self._compressor

    def encode(
        self, rows: Sequence[Envelope], sync_marker: bytes, rest: EncodedRows | None = None
    ) -> bytes:
        """Return the stored bytes of a block with one batch.

        Args:
            rows: The batch's rows, or only those before `rest`.
            rest: Rows after `rows`, already encoded.

        Raises:
            RequestError: the batch is too large, or a value does not fit its field's type.
        """
        try:
            plain, count = codec.encode_rows(rows), len(rows)
        except _ENCODING_ERRORS as error:
            raise _cannot_be_encoded(error) from error
        if rest is not None:
            plain, count = plain + rest.rows, count + rest.count
        self.encoded_bytes += len(plain)
        _check_size(len(plain), self._size_bytes_max)
        is_small = len(plain) <= SMALL_BLOCK_BYTES_MAX
        compressor = self._of_small if is_small else self._compressor
        body = compressor.compress(plain, mode=zstd.ZstdCompressor.FLUSH_FRAME)
        return b"".join((LONGS[count], LONGS[len(body)], body, sync_marker))


def encode_ahead(rows: Sequence[Envelope], payloads: Sequence[bytes] = ()) -> EncodedRows:
    """Encode a batch before it is appended, and check that the log will accept it.

    Args:
        rows: Consecutive rows; all but the first have only their record and the batch's origin.
        payloads: The encoded records as `decode_records` returned them; may be empty.

    Raises:
        RequestError: POLICY_VIOLATION, the batch is too large; or INVALID_RECORD, a value does not
            fit its field's type.
    """
    first, *others = rows
    try:
        size_bytes = len(codec.encode_rows((first,)))
        rest = _encoded_rest(first, others, payloads[1:]) if others else b""
    except _ENCODING_ERRORS as error:
        raise _cannot_be_encoded(error) from error
    _check_size(size_bytes + len(rest), BATCH_SIZE_BYTES_MAX)
    return EncodedRows(
        base_offset=first.offset,
        leader_epoch=first.leader_epoch,
        timestamp=first.timestamp,
        count=len(others),
        rows=rest,
    )


def _encoded_rest(first: Envelope, others: Sequence[Envelope], payloads: Sequence[bytes]) -> bytes:
    place = Place(first.offset + 1, first.leader_epoch, first.timestamp, first.batch_offset)
    return encode_records(
        [row.payload for row in others],
        [row.record_version for row in others],
        place=place,
        origin=first.origin,
        payloads=payloads,
    )


def _cannot_be_encoded(error: Exception) -> RequestError:
    return RequestError(
        "INVALID_RECORD", f"a record cannot be encoded: {error}; check its fields' types"
    )


def _check_size(size_bytes: int, size_bytes_max: int) -> None:
    if size_bytes > size_bytes_max:
        raise RequestError(
            "POLICY_VIOLATION",
            f"the batch has {size_bytes} bytes; at most {size_bytes_max} are allowed",
        )


def parse_block(data: bytes, start: int, position: int, sync_marker: bytes) -> StoredBlock | None:
    """Parse the block that starts at `start`; return None if `data` ends inside it.

    Args:
        data: Bytes of the file.
        start: Position in `data` at which the block begins.
        position: The block's position in the file, for errors and for the result.

    Raises:
        CorruptLogError: the bytes are not a valid block; the message does not name the file yet.
    """
    try:
        count, at = decode_long(data, start)
        size, at = decode_long(data, at)
    except IndexError:
        return None
    if not 0 < count <= BLOCK_RECORDS_MAX or not 0 < size <= BLOCK_STORED_BYTES_MAX:
        raise CorruptLogError(f"a block of {count} rows and {size} bytes is impossible")
    end = at + size + SYNC_SIZE
    if end > len(data):
        return None
    if data[end - SYNC_SIZE : end] != sync_marker:
        raise CorruptLogError(
            f"the block ends with sync marker {data[end - SYNC_SIZE : end].hex()}, but the header "
            f"says {sync_marker.hex()}"
        )
    return StoredBlock(
        position,
        position + end - start,
        count,
        data[at : at + size],
        google_crc32c.value(data[start:end]),
    )


def block_size(data: bytes, start: int) -> int | None:
    """Return the size of the block at `start` in bytes; None if `data` has no readable size."""
    try:
        _, at = decode_long(data, start)
        size, at = decode_long(data, at)
    except (IndexError, CorruptLogError):
        return None
    return at - start + max(size, 0) + SYNC_SIZE


def decompress(block: StoredBlock) -> bytes:
    """Decompress a block; return its rows in Avro.

    Raises:
        CorruptLogError: the frame is damaged, followed by other bytes, or larger than any batch.
    """
    try:
        return decompress_frame(block.compressed, BLOCK_DECODED_BYTES_MAX)
    except ValueError as error:
        raise CorruptLogError(str(error)) from error


class ReadBlock(msgspec.Struct, frozen=True, gc=False):
    """A stored block and its batches, in order.

    A block has one batch; in a mirror whose segment header allows it, a block may have several
    whole batches of the source, all of one leader epoch. Only a block's first row has the CRC of
    the preceding block.
    """

    stored: StoredBlock
    batches: tuple[Batch, ...]

    @property
    def position(self) -> int:
        """Start byte of the block in its file."""
        return self.stored.position

    @property
    def end_position(self) -> int:
        """Byte after the block in its file."""
        return self.stored.end_position

    @property
    def crc32c(self) -> int:
        """CRC-32C of the block's stored bytes."""
        return self.stored.crc32c

    @property
    def base_offset(self) -> int:
        """Offset of the first row."""
        return self.batches[0].base_offset

    @property
    def end_offset(self) -> int:
        """The offset after the last row."""
        return self.batches[-1].end_offset

    @property
    def leader_epoch(self) -> int:
        """The epoch of all rows."""
        return self.batches[0].leader_epoch

    @property
    def max_timestamp(self) -> int:
        """The highest append time of the block's batches, ms since 1970."""
        return max(latest_time(row) for b in self.batches for row in (b.rows[0], b.rows[-1]))

    @property
    def previous_crc32c(self) -> int:
        """CRC-32C of the block before, 0 if there is none."""
        return self.batches[0].rows[0].previous_crc32c or 0

    @property
    def durable_end(self) -> int:
        """The end offset of the log that was on stable storage when the block was encoded."""
        return self.batches[0].rows[0].durable_end or 0

    @property
    def rows(self) -> tuple[Envelope, ...]:
        """The rows of all batches."""
        if len(self.batches) == 1:
            return self.batches[0].rows
        return tuple(itertools.chain.from_iterable(batch.rows for batch in self.batches))


def split_batches(rows: Sequence[Envelope]) -> tuple[Batch, ...]:
    """Split the rows of a block into batches, without checking them."""
    groups = itertools.groupby(rows, key=lambda row: row.batch_offset)
    return tuple(Batch.of(list(group)) for _, group in groups)
