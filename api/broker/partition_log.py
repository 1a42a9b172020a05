"""The batches of one replica: segments in a folder, and where each batch lies.

Simple on purpose: every batch is remembered, nothing is cached, and segments are never removed. A
batch is written before it is acknowledged but not synced: as in Kafka, the copies on other brokers
are what outlives a machine.
"""

import os
from bisect import bisect_right
from collections.abc import Iterable
from operator import attrgetter
from pathlib import Path

import msgspec

from api.broker.batches import RawBatch, whole_batches
from records.errors import CorruptLogError

SEGMENT_SIZE_BYTES_MAX = 64 * 1024 * 1024
_SUFFIX = ".log"


class _Place(msgspec.Struct, frozen=True, gc=False):
    """A batch and where it lies. `end_offset` is exclusive."""

    base_offset: int
    end_offset: int
    leader_epoch: int
    max_timestamp: int
    segment_base: int
    position: int
    size: int


_end_offset = attrgetter("end_offset")


class EpochEnd(msgspec.Struct, frozen=True):
    """A leader epoch and the offset after its last record."""

    leader_epoch: int
    end_offset: int


class PartitionLog:
    """The log of one replica; it begins at offset 0."""

    def __init__(self, folder: Path, segment_size_bytes_max: int) -> None:
        """Use `PartitionLog.open`."""
        self.folder = folder
        self._segment_size_bytes_max = segment_size_bytes_max
        self._places: list[_Place] = []
        self._files: dict[int, int] = {}
        self._active_base = 0

    @classmethod
    def open(
        cls, folder: Path, *, segment_size_bytes_max: int = SEGMENT_SIZE_BYTES_MAX
    ) -> "PartitionLog":
        """Read the segments of a folder, and cut a torn end off the last one.

        Raises:
            CorruptLogError: a segment is damaged before its end, or one is missing.
        """
        log = cls(folder, segment_size_bytes_max)
        bases = sorted(int(path.stem) for path in folder.glob(f"*{_SUFFIX}"))
        for base in bases:
            log._load(base, is_last=base == bases[-1])
        if not bases:
            log._roll(0)
        return log

    @property
    def end_offset(self) -> int:
        """First offset not yet written; exclusive."""
        return self._places[-1].end_offset if self._places else 0

    @property
    def last_epoch(self) -> int | None:
        """Leader epoch of the last batch, None when there is none."""
        return self._places[-1].leader_epoch if self._places else None

    def append(self, batches: Iterable[RawBatch]) -> None:
        """Write batches that are stamped with the offsets that follow."""
        for batch in batches:
            assert batch.header.base_offset == self.end_offset, "batches follow each other"
            descriptor = self._files[self._active_base]
            position = os.fstat(descriptor).st_size
            if position and position + len(batch.data) > self._segment_size_bytes_max:
                self._roll(self.end_offset)
                descriptor, position = self._files[self._active_base], 0
            _write_all(descriptor, batch.data, position)
            self._places.append(_place(batch, self._active_base, position))

    def read(self, offset: int, *, up_to: int, size_bytes_max: int) -> bytes:
        """Return whole batches from the one that holds an offset, one at least if there is any.

        Args:
            up_to: Batches that hold this offset or later ones are left out.
        """
        index = bisect_right(self._places, offset, key=_end_offset)
        parts: list[bytes] = []
        size = 0
        for place in self._places[index:]:
            if place.end_offset > up_to or (parts and size + place.size > size_bytes_max):
                break
            parts.append(os.pread(self._files[place.segment_base], place.size, place.position))
            size += place.size
        return b"".join(parts)

    def truncate_to(self, offset: int) -> None:
        """Remove every batch that holds this offset or later ones."""
        keep = len(self._places)
        while keep and self._places[keep - 1].end_offset > offset:
            keep -= 1
        if keep == len(self._places):
            return
        first_gone = self._places[keep]
        del self._places[keep:]
        for base in [base for base in self._files if base > first_gone.segment_base]:
            os.close(self._files.pop(base))
            self._path(base).unlink()
        self._active_base = first_gone.segment_base
        os.ftruncate(self._files[self._active_base], first_gone.position)

    def epoch_end(self, leader_epoch: int) -> EpochEnd | None:
        """Return the highest epoch that is not above one, and where it ends; None when none is.

        An epoch without a record of its own is not there; the end of the last is the log's.
        """
        found: _Place | None = None
        for place in reversed(self._places):
            if place.leader_epoch <= leader_epoch:
                found = place
                break
        return None if found is None else EpochEnd(found.leader_epoch, found.end_offset)

    def offset_at(self, timestamp: int) -> tuple[int, int] | None:
        """Return offset and time of the first batch with a record at or after a time."""
        for place in self._places:
            if place.max_timestamp >= timestamp:
                return place.base_offset, place.max_timestamp
        return None

    def moved_to(self, folder: Path) -> None:
        """Note that the folder has another name; open files are the same."""
        self.folder = folder

    def close(self) -> None:
        """Bring everything to stable storage and let go of the files."""
        for descriptor in self._files.values():
            os.fsync(descriptor)
            os.close(descriptor)
        self._files.clear()

    def _load(self, base: int, *, is_last: bool) -> None:
        path = self._path(base)
        if base != self.end_offset:
            raise CorruptLogError(f"{path}: offset {self.end_offset} is missing before it")
        descriptor = os.open(path, os.O_RDWR)
        self._files[base], self._active_base = descriptor, base
        data = path.read_bytes()
        position = 0
        try:
            for batch in whole_batches(data):
                if batch.header.base_offset != self.end_offset:
                    raise CorruptLogError(
                        f"byte {position}: offset {batch.header.base_offset}, not {self.end_offset}"
                    )
                self._places.append(_place(batch, base, position))
                position += len(batch.data)
        except CorruptLogError as error:
            if not is_last:
                raise CorruptLogError(f"{path} {error}") from error
            # What a crash tore was acknowledged by nobody alone; the leader has it.
            os.ftruncate(descriptor, position)

    def _roll(self, base: int) -> None:
        self._files[base] = os.open(self._path(base), os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        self._active_base = base

    def _path(self, base: int) -> Path:
        return self.folder / f"{base:020}{_SUFFIX}"


def _place(batch: RawBatch, segment_base: int, position: int) -> _Place:
    header = batch.header
    return _Place(
        base_offset=header.base_offset,
        end_offset=header.end_offset,
        leader_epoch=header.leader_epoch,
        max_timestamp=header.max_timestamp,
        segment_base=segment_base,
        position=position,
        size=len(batch.data),
    )


def _write_all(descriptor: int, data: bytes, position: int) -> None:
    view = memoryview(data)
    while view:
        written = os.pwrite(descriptor, view, position)
        view, position = view[written:], position + written
