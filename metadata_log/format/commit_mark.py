"""Commit mark (`commit.mark`): the position up to which the log is committed.

The file has two slots; the valid slot with the higher sequence number counts. The slots take turns:
only one is written until the next sync of the file, then only the other. So the slot that was
synced last is always valid, whatever a crash does to the other slot. A slot is 64 octets,
big-endian; the slots are 512 octets apart, so that no disk sector contains both. Each writer starts
a new file.
"""

import struct
from pathlib import Path

import google_crc32c
import msgspec

from metadata_log.files.file_publish import Owner, publish_file
from metadata_log.files.fs import ByteStore, File, Fs, read_start
from metadata_log.files.names import COMMIT_MARK, MANIFEST
from records.errors import CorruptLogError, UnavailableError

SLOT_SPACING = 512
MARK_SIZE = 2 * SLOT_SPACING
_MAGIC = b"MLCM"
_SLOT = struct.Struct(">4sQiqqqqIq")
_CRC = struct.Struct(">I")
SLOT_SIZE = _SLOT.size + _CRC.size
assert SLOT_SIZE == 64
_TRIES = 3
# A writer's sequences have its epoch in their upper half.
_WRITER_SHIFT = 32


class CommitMark(msgspec.Struct, frozen=True, kw_only=True):
    """The position up to which the log is committed, as stored in one slot of the file.

    `end_offset` is exclusive. The committed bytes end at `position` of the segment that starts at
    `segment_offset`, and `last_crc32c` is the CRC-32C of the stored block that ends there (0 if the
    log has none). Offsets below `confirmed_end` will never be replaced. In a mirror these are the
    offsets that Kafka has proven to be committed; in any other log, all offsets. `max_timestamp` is
    the highest append time of any committed record (ms); 0 if it is not known, because there is no
    record yet or an early release wrote the mark.
    """

    sequence: int
    leader_epoch: int
    end_offset: int
    segment_offset: int
    position: int
    confirmed_end: int
    last_crc32c: int
    max_timestamp: int

    def encode(self) -> bytes:
        """Return the slot's 64 octets."""
        body = _SLOT.pack(
            _MAGIC,
            self.sequence,
            self.leader_epoch,
            self.end_offset,
            self.segment_offset,
            self.position,
            self.confirmed_end,
            self.last_crc32c,
            self.max_timestamp,
        )
        return body + _CRC.pack(google_crc32c.value(body))

    @property
    def writer(self) -> int:
        """Number of the writer; each writer that takes over the log has a higher one."""
        return self.sequence >> _WRITER_SHIFT

    @property
    def slot_position(self) -> int:
        """The byte position of this mark's slot in the file."""
        return self.sequence % 2 * SLOT_SPACING


NO_MARK = CommitMark(
    sequence=0,
    leader_epoch=0,
    end_offset=0,
    segment_offset=0,
    position=0,
    confirmed_end=0,
    last_crc32c=0,
    max_timestamp=0,
)
"""Used in place of the mark of a log that has no mark."""


class MarkWriter:
    """Writes the marks of one writer. The end offsets of these marks never decrease."""

    def __init__(self, fs: Fs, directory: Path) -> None:
        self._fs = fs
        self._directory = directory
        self._file = fs.open(directory / COMMIT_MARK, write=True)
        self._sequence = 0
        # Even: write the same slot again. Odd: switch to the other, because this one was synced.
        self._step = 1

    def take_over(self, mark: CommitMark, after: CommitMark, owner: Owner) -> None:
        """Start a new file whose sequences are above those of all earlier writers, and sync it.

        A fenced writer still has the old file open; marks written there have no effect.

        Args:
            mark: The first mark, written to both slots; its end offset is at least that in `after`.
            after: The newest mark of the earlier writers.

        Raises:
            FencedError: a later writer took over meanwhile; the mark is unchanged.
            UnavailableError: the disk is full; the mark is unchanged.
        """
        start = max(after.sequence, owner.leader_epoch << _WRITER_SHIFT)

        def write(file: File) -> None:
            for sequence in (start + 1, start + 2):
                numbered = msgspec.structs.replace(mark, sequence=sequence)
                file.pwrite(numbered.encode(), numbered.slot_position)

        file = publish_file(self._fs, self._directory / COMMIT_MARK, write, owner)
        self._file.close()
        self._file = file
        self._sequence, self._step = start + 2, 1

    def write(self, mark: CommitMark) -> None:
        """Write a mark, with the next sequence number, without syncing it."""
        self._sequence += self._step
        self._step = 2
        numbered = msgspec.structs.replace(mark, sequence=self._sequence)
        self._file.pwrite(numbered.encode(), numbered.slot_position)

    def sync(self) -> None:
        """Fsync the mark."""
        self._file.sync()
        self._step = 1

    def close(self) -> None:
        """Close the file of the commit mark."""
        self._file.close()


class Marks(msgspec.Struct, frozen=True):
    """The newest valid mark, and the byte position of an invalid slot, if any."""

    newest: CommitMark
    damaged_byte: int | None


def decode_slot(data: bytes) -> CommitMark | None:
    """Decode one slot; return None if it is invalid."""
    if len(data) != SLOT_SIZE:
        return None
    body = data[: _SLOT.size]
    (crc,) = _CRC.unpack_from(data, _SLOT.size)
    if google_crc32c.value(body) != crc:
        return None
    magic, *fields = _SLOT.unpack(body)
    if magic != _MAGIC:
        return None
    return CommitMark(**dict(zip(CommitMark.__struct_fields__, fields, strict=True)))


def read_marks(fs: ByteStore, directory: Path) -> Marks:
    """Read both slots; retry if one is invalid, because a write may be in progress.

    Raises:
        CorruptLogError: the log has no commit mark, or neither slot is valid.
        UnavailableError: the log itself is gone: it was removed, or is being moved.
    """
    path = directory / COMMIT_MARK
    for _ in range(_TRIES):
        slots = _read_slots(fs, path)
        damaged = [at for at, mark in slots.items() if mark is None]
        if not damaged:
            break
    marks = [mark for mark in slots.values() if mark is not None]
    if not marks:
        raise CorruptLogError(
            f"{path} byte 0: neither slot holds a whole commit mark, so it is not known which "
            f"records were acknowledged; rebuild with `metalog repair {directory} COPY`"
        )
    return Marks(max(marks, key=lambda mark: mark.sequence), min(damaged, default=None))


def read_mark(fs: ByteStore, directory: Path) -> CommitMark:
    """Return the newest valid mark.

    Raises:
        CorruptLogError: the log has no commit mark, or neither slot is valid.
        UnavailableError: the log itself is gone: it was removed, or is being moved.
    """
    return read_marks(fs, directory).newest


def _read_slots(fs: ByteStore, path: Path) -> dict[int, CommitMark | None]:
    try:
        data = read_start(fs, path, MARK_SIZE)
    except FileNotFoundError as error:
        # A mirror that goes on in a new part has no directory for an instant.
        if not fs.exists(path.parent / MANIFEST):
            raise UnavailableError(
                f"{path.parent} vanished: the log was removed, or is being moved; try again"
            ) from error
        data = b""
    return {at: decode_slot(data[at : at + SLOT_SIZE]) for at in (0, SLOT_SPACING)}
