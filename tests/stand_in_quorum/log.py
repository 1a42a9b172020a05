"""The metadata log of one node: whole batches in order, snapshots, and where the log starts."""

import bisect
import itertools
import re
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

_PREFIX = struct.Struct(">qiib")  # base offset, length, leader epoch, magic
_LAST_OFFSET_DELTA = struct.Struct(">i")
_LAST_OFFSET_DELTA_AT = 23

_SEGMENT = re.compile(r"(\d{20})\.log")
_CHECKPOINT = re.compile(r"(\d{20})-(\d{10})\.checkpoint")


@dataclass(frozen=True, order=True)
class SnapshotId:
    """A snapshot contains the log below `end_offset`; `epoch` is that of the offset before."""

    end_offset: int
    epoch: int


BOOTSTRAP = SnapshotId(0, 0)


@dataclass(frozen=True)
class Batch:
    """A batch as it is stored; the next one starts at `end_offset`."""

    base_offset: int
    end_offset: int
    epoch: int
    data: bytes = field(repr=False)


def split(data: bytes) -> Iterator[Batch]:
    """Yield the whole batches at the beginning of `data`; what is cut at its end is left out."""
    position = 0
    while position + _PREFIX.size <= len(data):
        base_offset, length, epoch, magic = _PREFIX.unpack_from(data, position)
        end = position + 12 + length
        if magic != 2 or end > len(data):
            return
        (delta,) = _LAST_OFFSET_DELTA.unpack_from(data, position + _LAST_OFFSET_DELTA_AT)
        yield Batch(base_offset, base_offset + delta + 1, epoch, data[position:end])
        position = end


def relabelled(batch: Batch, base_offset: int, epoch: int) -> Batch:
    """Return the batch at another offset and in another epoch; its CRC covers neither."""
    data = struct.pack(">q", base_offset) + batch.data[8:12] + struct.pack(">i", epoch)
    size = batch.end_offset - batch.base_offset
    return Batch(base_offset, base_offset + size, epoch, data + batch.data[16:])


@dataclass
class Log:
    """Batches from `start_offset`; `rolls` are the offsets at which a segment begins."""

    batches: list[Batch]
    snapshots: dict[SnapshotId, bytes] = field(default_factory=dict)
    rolls: frozenset[int] = frozenset({0})
    start_offset: int = 0

    @classmethod
    def of_directory(cls, partition: Path) -> "Log":
        """Read a `__cluster_metadata-0` directory, without changing it.

        A snapshot that ends above the log is left out: the directory may be that of a node which
        fetched it.
        """
        segments = {
            int(found[1]): path
            for path in partition.iterdir()
            if (found := _SEGMENT.fullmatch(path.name))
        }
        batches = [b for base in sorted(segments) for b in split(segments[base].read_bytes())]
        log = cls(batches, rolls=frozenset(segments), start_offset=min(segments, default=0))
        for path in partition.iterdir():
            if found := _CHECKPOINT.fullmatch(path.name):
                log.snapshots[SnapshotId(int(found[1]), int(found[2]))] = path.read_bytes()
        if not batches and log.snapshots:
            log.start_offset = max(log.snapshots).end_offset
        return log

    def copy(self) -> "Log":
        return replace(self, batches=list(self.batches), snapshots=dict(self.snapshots))

    @property
    def end_offset(self) -> int:
        return self.batches[-1].end_offset if self.batches else self.start_offset

    @property
    def last_epoch(self) -> int:
        """The epoch of the last batch, or of the snapshot that the log starts from."""
        if self.batches:
            return self.batches[-1].epoch
        return max(self.snapshots).epoch if self.snapshots else 0

    def cut(self, offset: int) -> None:
        """Delete the batches at and above `offset`, the base of a batch or the end."""
        kept = [batch for batch in self.batches if batch.end_offset <= offset]
        assert (kept[-1].end_offset if kept else self.start_offset) == offset, f"inside: {offset}"
        self.batches = kept
        self.snapshots = {i: d for i, d in self.snapshots.items() if i.end_offset <= offset}

    def append(self, batches: Iterable[Batch]) -> None:
        for batch in batches:
            assert batch.base_offset == self.end_offset, f"gap at {self.end_offset}: {batch}"
            self.batches.append(batch)

    def clean(self, snapshot: SnapshotId) -> None:
        """Make `snapshot` the oldest one and start the log at its end, as retention does."""
        assert snapshot in self.snapshots
        self.snapshots = {i: d for i, d in self.snapshots.items() if i >= snapshot}
        self.start_offset = max(self.start_offset, snapshot.end_offset)
        self._drop_old_segments()

    def _drop_old_segments(self) -> None:
        # A segment goes when all of it is below the start; the log may begin inside of one.
        kept = max((r for r in self.rolls if r <= self.start_offset), default=0)
        self.batches = [batch for batch in self.batches if batch.end_offset > kept]

    def read(self, offset: int, size: int) -> bytes:
        """Return up to `size` bytes of one segment from the batch that contains `offset`.

        At least one batch is whole; the last one may be cut.
        """
        first = bisect.bisect_right(self.batches, offset, key=lambda batch: batch.end_offset)
        if first == len(self.batches):
            return b""
        size = max(size, len(self.batches[first].data))
        out = bytearray()
        for batch in itertools.islice(self.batches, first, None):
            if out and (batch.base_offset in self.rolls or len(out) >= size):
                break
            out += batch.data
        return bytes(out[:size])

    def epoch_starts(self) -> list[tuple[int, int]]:
        """Return each epoch with its first offset, ascending, as far as the log goes back."""
        starts: list[tuple[int, int]] = []
        for batch in self.batches:
            if not starts or batch.epoch != starts[-1][0]:
                starts.append((batch.epoch, max(batch.base_offset, self.start_offset)))
        return starts

    def end_offset_for_epoch(self, epoch: int) -> tuple[int, int]:
        """Return the largest epoch that is not above `epoch` and where it ends.

        An epoch above all is answered with the last one and the log's end; one below all that the
        log knows with the oldest snapshot, if the log starts there.
        """
        starts = self.epoch_starts()
        if not starts or epoch >= starts[-1][0]:
            return self.last_epoch, self.end_offset
        above = next(index for index, (each, _) in enumerate(starts) if each > epoch)
        end = starts[above][1]
        if above:
            return starts[above - 1][0], end
        oldest = min(self.snapshots, default=None)
        if oldest is not None and oldest.end_offset == end:
            return oldest.epoch, oldest.end_offset
        return epoch, end

    def segments(self) -> dict[str, bytes]:
        """Return the bytes of each segment by the name of its file."""
        bases = sorted({*self.rolls, self.batches[0].base_offset} if self.batches else self.rolls)
        found: dict[str, bytes] = {}
        for batch in self.batches:
            base = bases[bisect.bisect_right(bases, batch.base_offset) - 1]
            name = f"{base:020d}.log"
            found[name] = found.get(name, b"") + batch.data
        return found
