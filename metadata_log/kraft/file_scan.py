"""Reading the batches of one file in order; each is checked before it is returned."""

from collections.abc import Iterator
from io import FileIO
from pathlib import Path

from metadata_log.kraft.damage import corrupt, vanished
from metadata_log.kraft.torn_tail import damage_in_tail
from metadata_log.kraft_format.batch import (
    HEADER_SIZE,
    LENGTH_MAX,
    LENGTH_MIN,
    BatchHeader,
    parse_header,
    problem_of,
)
from metadata_log.kraft_format.names import segment_base_offset
from records.errors import CorruptLogError

# Far larger than most batches, small enough not to matter for memory.
_READ_SIZE = 1024 * 1024


class FileScan:
    """Batches of one segment or checkpoint, from a position to the end.

    `position` is the start of the last returned batch; at the end, it is the byte where reading
    stopped. `next_offset` is the offset expected at `position`, `leader_epoch` the epoch of the
    batch before it (-1 if there is none). `trailing_bytes` is the size of an incomplete last batch,
    set once the end is reached.

    Files are read, never mapped: Kafka truncates its log, and access to a map of a file that shrank
    kills the process.
    """

    def __init__(
        self, path: Path, *, next_offset: int, leader_epoch: int = -1, position: int = 0
    ) -> None:
        self.path = path
        self.next_offset = next_offset
        self.leader_epoch = leader_epoch
        self.position = position
        self.trailing_bytes = 0

    def batches(self, *, may_be_cut: bool) -> Iterator[tuple[BatchHeader, bytes]]:
        """Yield each batch: its header, and all its bytes, the header included.

        Args:
            may_be_cut: True if the file may end in an incomplete batch, as the last segment may.

        Raises:
            CorruptLogError: the bytes are not complete, consecutive batches; names file, byte, and
                the offset below which everything is intact.
            UnavailableError: the file was removed.
        """
        with _open(self.path) as file:
            file.seek(self.position)
            held, start = b"", 0
            while True:
                if len(held) - start < HEADER_SIZE:
                    held, start = _refill(file, held[start:], HEADER_SIZE), 0
                    if len(held) < HEADER_SIZE:
                        break
                header = parse_header(held, start)
                if not LENGTH_MIN <= header.length <= LENGTH_MAX:
                    break
                size = header.size
                if len(held) - start < size:
                    held, start = _refill(file, held[start:], size), 0
                    if len(held) < size:
                        break
                data = held[start : start + size]
                self._check(header, data)
                yield header, data
                start += size
                self.position += size
                self.next_offset = header.end_offset
                self.leader_epoch = header.leader_epoch
        self._end(held[start:], may_be_cut=may_be_cut)

    def corrupt(self, what: str) -> CorruptLogError:
        """Return the error for damage in the batch at `position`."""
        # In a checkpoint offsets count within the file, and part of a checkpoint is useless.
        intact_below = self.next_offset if segment_base_offset(self.path.name) is not None else None
        return corrupt(self.path, self.position, what, intact_below)

    def _check(self, header: BatchHeader, data: bytes) -> None:
        problem = problem_of(
            data, header, next_offset=self.next_offset, leader_epoch=self.leader_epoch
        )
        if problem is not None:
            raise self.corrupt(problem)

    def _end(self, tail: bytes, *, may_be_cut: bool) -> None:
        if not tail:
            return
        damage = damage_in_tail(tail, self.next_offset, self.leader_epoch)
        if damage is None and not may_be_cut:
            damage = f"the file ends {len(tail)} bytes after the start of a batch"
        if damage is not None:
            raise self.corrupt(damage)
        self.trailing_bytes = len(tail)


def _open(path: Path) -> FileIO:
    try:
        return path.open("rb", buffering=0)
    except FileNotFoundError:
        raise vanished(path) from None


def _refill(file: FileIO, held: bytes, size: int) -> bytes:
    """Return `held` followed by the next bytes of the file.

    The result has at least `size` bytes, unless the file ends.
    """
    while len(held) < size and (more := file.read(max(size - len(held), _READ_SIZE))):
        held += more
    return held
