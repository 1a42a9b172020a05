"""Reads the blocks of Avro Object Container Files; several tasks can read parts of one file."""

import io
from collections.abc import Iterator
from typing import Any, NamedTuple, NoReturn

import zstandard

from metadata_log.files.fs import ReadableFile
from metadata_log.limits import BLOCK_DECODED_BYTES_MAX, BLOCK_RECORDS_MAX
from metadata_log.stores.store import open_store
from records.errors import CorruptLogError

_MAGIC = b"Obj\x01"
_SYNC_SIZE = 16
_VARINT_SIZE_MAX = 10
_READ_BYTES = 1024 * 1024
_BLOCK_BYTES_MAX = 2**31 - 1

File = tuple[str, int]
"""Path or s3:// URL, and committed size in bytes."""


class Range(NamedTuple):
    """The blocks of a file whose preceding sync marker begins in [first, last)."""

    file: File
    first: int
    last: int


class Block(NamedTuple):
    """A block of a file: its number of records, their bytes, and its position in the file."""

    rows: int
    octets: bytes
    at: int


def ranges(file: File, size_max: int) -> list[Range]:
    """Split a file into ranges of about the same size, none larger than `size_max`."""
    count = max(1, -(-file[1] // size_max))
    bounds = [file[1] * number // count for number in range(count + 1)]
    return [Range(file, *bounds[number : number + 2]) for number in range(count)]


class Segment:
    """The blocks of one range.

    Attributes:
        schema: The schema in the file's header, as JSON text.
    """

    def __init__(self, part: Range) -> None:
        """Read the header; the file is closed by `blocks`.

        Raises:
            CorruptLogError: the header is damaged.
        """
        (self._place, size), self._first, self._last = part
        self._window = _Window(self._place, size)
        try:
            self.schema, self._codec, self._sync, self._begin = self._header()
        except BaseException:
            self._window.close()
            raise

    def blocks(self) -> Iterator[Block]:
        """Yield the blocks of the range, decompressed.

        Raises:
            CorruptLogError: a block is damaged; names file and byte.
        """
        decompress = self._decompressor()
        try:
            at = self._start()
            while at < self._window.size and at - _SYNC_SIZE < self._last:
                block, end = self._block(at)
                if self._window.octets(end, _SYNC_SIZE) != self._sync:
                    self._fail(end, "no sync marker after the block")
                yield Block(block.rows, decompress(block), at)
                at = end + _SYNC_SIZE
        finally:
            self._window.close()

    def fail(self, block: Block, what: str, at: int) -> NoReturn:
        """Raise a CorruptLogError about the byte at `at` in a decompressed block."""
        self._fail(block.at, f"octet {at} of the block's records: {what}")

    def _fail(self, at: int, what: str) -> NoReturn:
        raise CorruptLogError(f"{self._place} byte {at}: {what}")

    def _start(self) -> int:
        """Return the position of the range's first block, or the file's size if there is none."""
        if self._first <= self._begin - _SYNC_SIZE:
            return self._begin
        found = self._window.find(self._sync, self._first)
        return self._window.size if found < 0 else found + _SYNC_SIZE

    def _block(self, at: int) -> tuple[Block, int]:
        """Return the block at a position, still compressed, and the position after its bytes."""
        count, start = self._window.integer(at)
        size, start = self._window.integer(start)
        if count < 0 or not 0 <= size <= min(_BLOCK_BYTES_MAX, self._window.size - start):
            self._fail(at, f"a block of {count} records in {size} octets is not possible")
        return Block(count, self._window.octets(start, size), at), start + size

    def _decompressor(self) -> Any:
        if self._codec == "null":
            return self._checked(lambda octets: octets)
        if self._codec != "zstandard":
            self._fail(
                0, f"the file is compressed with {self._codec!r}, which this reader does not know"
            )
        frames = zstandard.ZstdDecompressor()

        def decompressed(octets: bytes) -> bytes:
            # A few octets can claim, or expand to, gigabytes. The log's blocks name their size.
            size = zstandard.frame_content_size(octets)
            if not 0 <= size <= BLOCK_DECODED_BYTES_MAX:
                what = "without its size" if size < 0 else f"of {size} octets"
                raise zstandard.ZstdError(f"a frame {what} cannot be decompressed")
            return frames.decompress(octets, allow_extra_data=False)

        return self._checked(decompressed)

    def _checked(self, decompress: Any) -> Any:
        def checked(block: Block) -> bytes:
            try:
                octets: bytes = decompress(block.octets)
            except zstandard.ZstdError as error:
                self._fail(block.at, f"the block cannot be decompressed: {error}")
            # A record has at least one octet.
            if block.rows > min(len(octets), BLOCK_RECORDS_MAX):
                what = f"{block.rows} records in {len(octets)} octets are not possible"
                self._fail(block.at, what)
            return octets

        return checked

    def _header(self) -> tuple[bytes, str, bytes, int]:
        """Return the file's schema, codec and sync marker, and the position after the header."""
        if self._window.octets(0, len(_MAGIC)) != _MAGIC:
            self._fail(0, "the file is not an Avro file")
        entries: dict[bytes, bytes] = {}
        at = len(_MAGIC)
        while True:
            count, at = self._window.integer(at)
            if count == 0:
                break
            if count < 0:
                _, at = self._window.integer(at)
            for _ in range(abs(count)):
                key, at = self._text(at)
                entries[key], at = self._text(at)
        codec = entries.get(b"avro.codec", b"null").decode(errors="replace")
        schema = entries.get(b"avro.schema", b"")
        return schema, codec, self._window.octets(at, _SYNC_SIZE), at + _SYNC_SIZE

    def _text(self, at: int) -> tuple[bytes, int]:
        size, start = self._window.integer(at)
        if size < 0:
            self._fail(at, "a text has a negative size")
        return self._window.octets(start, size), start + size


class _Window:
    """Random access to a file, of which one part at a time is in memory."""

    def __init__(self, place: str, size: int) -> None:
        self._place = place
        self.size = size
        directory, _, name = place.rpartition("/")
        store = open_store(directory)
        self._file: ReadableFile = store.fs.open(store.directory / name)
        self._start = 0
        self._octets = b""

    def close(self) -> None:
        self._file.close()

    def octets(self, at: int, size: int) -> bytes:
        """Return `size` bytes from position `at`.

        Raises:
            CorruptLogError: the file ends before the last of these bytes.
        """
        if not self._start <= at <= at + size <= self._start + len(self._octets):
            self._load(at, max(size, _READ_BYTES))
        found = self._octets[at - self._start : at - self._start + size]
        if len(found) < size:
            self._fail_at_end()
        return found

    def integer(self, at: int) -> tuple[int, int]:
        """Return the zigzag varint at a position, and the position after it."""
        start, found = at, 0
        for octet in self.octets(at, min(_VARINT_SIZE_MAX, self.size - at)):
            found |= (octet & 127) << 7 * (at - start)
            at += 1
            if octet < 128:
                return (found >> 1) ^ -(found & 1), at
        raise CorruptLogError(f"{self._place} byte {start}: a number has no last byte")

    def find(self, wanted: bytes, at: int) -> int:
        """Return the first position of the bytes `wanted` at or after `at`, or -1."""
        while at + len(wanted) <= self.size:
            self._load(at, _READ_BYTES)
            found = self._octets.find(wanted)
            if found >= 0:
                return at + found
            at += len(self._octets) - len(wanted) + 1
        return -1

    def _load(self, at: int, size: int) -> None:
        wanted = min(size, self.size - at)
        with io.BytesIO() as read:
            while read.tell() < wanted:
                more = self._file.pread(wanted - read.tell(), at + read.tell())
                if not more:
                    self._fail_at_end()
                read.write(more)
            self._start, self._octets = at, read.getvalue()

    def _fail_at_end(self) -> NoReturn:
        raise CorruptLogError(f"{self._place} byte {self.size}: a block is cut off")
