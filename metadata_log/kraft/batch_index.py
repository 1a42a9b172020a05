"""Index of all batches of a log, for comparing logs: offset, epoch and CRC, at 17 bytes each.

Followers store the leader's batches unchanged, so equal logs have equal indexes. The batches of a
mirror are encoded to Kafka's bytes again to get their CRCs. Where the mirror stores a run of NoOps
as one record, the original bytes are not known, and the run is one entry.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Sequence

import google_crc32c
import msgspec

from metadata_log.kraft.directory import KraftDirectory
from metadata_log.kraft.noop_runs import is_noop
from metadata_log.kraft_format.batch import parse_header
from metadata_log.kraft_format.batch_codec import encode_batch
from metadata_log.reader.log_reader import LogReader
from records.control import NoOpRecord, NoOpRunRecord
from records.envelope import Envelope
from records.errors import CorruptLogError, RequestError

_PLAIN, _NOOP, _RUN = range(3)


class IndexedBatch(msgspec.Struct, frozen=True, gc=False):
    """A batch, or a run of NoOp batches. `crc` is 0 for a run."""

    base_offset: int
    end_offset: int
    leader_epoch: int
    crc: int
    is_noop: bool
    is_run: bool


class BatchIndex:
    """The batches of one log, in order.

    Attributes:
        start_offset: First offset in the log.
        end_offset: Offset after the last indexed batch.
        last_epoch: Epoch of the last offset; -1 if the log is empty.
        committed_end: Offset below which everything is known to be committed.
        trailing_bytes: Size of an incomplete last batch.
        damage: The error at `end_offset` if the log is damaged there; later batches are not
            indexed.
    """

    def __init__(self, start_offset: int, *, last_epoch: int = -1, committed_end: int = 0) -> None:
        """Start an empty index; `last_epoch` is the epoch of the offset before `start_offset`."""
        self.start_offset = start_offset
        self.end_offset = start_offset
        self.last_epoch = last_epoch
        self.committed_end = committed_end
        self.trailing_bytes = 0
        self.damage: str | None = None
        self.bases = array("q")
        self.epochs = array("i")
        self.crcs = array("I")
        self._kinds = array("b")

    def add(
        self, base_offset: int, end_offset: int, leader_epoch: int, crc: int, kind: int
    ) -> None:
        """Append the next batch to the index."""
        self.bases.append(base_offset)
        self.epochs.append(leader_epoch)
        self.crcs.append(crc)
        self._kinds.append(kind)
        self.end_offset = end_offset
        self.last_epoch = leader_epoch

    def __len__(self) -> int:
        return len(self.bases)

    def __getitem__(self, position: int) -> IndexedBatch:
        kind = self._kinds[position]
        is_last = position + 1 == len(self.bases)
        return IndexedBatch(
            self.bases[position],
            self.end_offset if is_last else self.bases[position + 1],
            self.epochs[position],
            self.crcs[position],
            kind != _PLAIN,
            kind == _RUN,
        )

    def position(self, offset: int) -> int:
        """Return the number, counted from 0, of the batch that contains an offset of the log."""
        return bisect_right(self.bases, offset) - 1

    def epoch_at(self, offset: int) -> int | None:
        """Return the epoch of an offset; None if the offset is not in the log."""
        if not self.start_offset <= offset < self.end_offset:
            return None
        return self.epochs[self.position(offset)]

    def is_boundary(self, offset: int) -> bool:
        """True if a batch starts at an offset, or the log ends there."""
        if offset == self.end_offset:
            return True
        at = bisect_left(self.bases, offset)
        return at < len(self.bases) and self.bases[at] == offset


def index_directory(log: KraftDirectory) -> BatchIndex:
    """Index a Kafka directory; reads and checks all of its batches.

    Raises:
        UnavailableError: Kafka removed a file or truncated its log meanwhile; try again.
    """
    index = BatchIndex(log.all_segments[0].base_offset if log.all_segments else 0)
    try:
        base = log.base_checkpoint
        if base is not None and not log.segments:
            index = BatchIndex(base.end_offset, last_epoch=base.leader_epoch)
        index.committed_end = log.committed_end_offset
        scan = log.scan()
        for batch in scan.batches():
            assert scan.position is not None
            header = parse_header(scan.position.header)
            kind = _NOOP if is_noop(batch) else _PLAIN
            index.add(batch.base_offset, batch.end_offset, batch.leader_epoch, header.crc, kind)
        index.trailing_bytes = scan.trailing_bytes
    except CorruptLogError as error:
        index.damage = str(error)
    return index


def index_log(log: LogReader) -> BatchIndex:
    """Index one of our logs; for a mirror, index the batches that Kafka wrote.

    Raises:
        UnavailableError: the log was removed meanwhile.
    """
    last_epoch = log.base.leader_epoch if log.base else -1
    index = BatchIndex(log.start_offset, last_epoch=last_epoch, committed_end=log.confirmed_end)
    try:
        for batch in log.batches():
            _add_rows(index, batch.rows)
    except CorruptLogError as error:
        index.damage = str(error)
    return index


def _add_rows(index: BatchIndex, rows: Sequence[Envelope]) -> None:
    first, last = rows[0], rows[-1]
    if isinstance(first.payload, NoOpRunRecord):
        end_offset = first.offset + first.payload.count
        index.add(first.offset, end_offset, first.leader_epoch, 0, _RUN)
        return
    kind = _NOOP if all(type(row.payload) is NoOpRecord for row in rows) else _PLAIN
    index.add(first.offset, last.offset + 1, first.leader_epoch, _crc(rows), kind)


def _crc(rows: Sequence[Envelope]) -> int:
    try:
        return parse_header(encode_batch(rows)).crc
    except RequestError:
        # Records that Kafka does not know, in a log of our own.
        content = msgspec.msgpack.encode([(row.timestamp, row.payload) for row in rows])
        crc: int = google_crc32c.value(content)
        return crc
