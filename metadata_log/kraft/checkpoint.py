"""Kafka's checkpoints: the state below an offset, as records.

The file contains batches like a segment, with offsets that count from 0 within the file. The first
record is a SnapshotHeaderRecord, the last a SnapshotFooterRecord. Kafka writes the file under a
temporary name and renames it once it is complete.

Source: KIP-630.
"""

import functools
from collections.abc import Iterator
from pathlib import Path

from metadata_log.kraft.file_scan import FileScan
from metadata_log.kraft_format.batch import BatchHeader, KraftBatch
from metadata_log.kraft_format.batch_codec import decode_batch
from metadata_log.kraft_format.names import checkpoint_id
from records.control import SnapshotFooterRecord, SnapshotHeaderRecord
from records.envelope import Envelope
from records.errors import CorruptLogError

_FRAME = frozenset({SnapshotHeaderRecord, SnapshotFooterRecord})


class KraftCheckpoint:
    """A checkpoint on disk.

    `end_offset` is exclusive: the state includes the effect of all offsets below it. `leader_epoch`
    is the epoch of the last of these offsets. Methods that read the file raise CorruptLogError if
    it is damaged or incomplete, and UnavailableError if it was removed.
    """

    def __init__(self, path: Path) -> None:
        identity = checkpoint_id(path.name)
        assert identity is not None, path
        self.path = path
        self.end_offset, self.leader_epoch = identity

    @functools.cached_property
    def timestamp(self) -> int:
        """Append time of the last record whose effect the state includes, ms since 1970.

        The batches in the file have a different time: when the file was written.
        """
        header = next(self.batches()).rows[0].payload
        assert isinstance(header, SnapshotHeaderRecord), self.path
        return header.last_contained_log_timestamp

    def rows(self) -> Iterator[tuple[Envelope, ...]]:
        """Yield the rows of each batch, without the header and footer records.

        The voters and kraft.version are in the header's batch and are included.
        """
        for batch in self.batches():
            rows = tuple(row for row in batch.rows if type(row.payload) not in _FRAME)
            if rows:
                yield rows

    def batches(self) -> Iterator[KraftBatch]:
        """Yield all batches, control records included; raise an error if the footer is missing."""
        scan = FileScan(self.path, next_offset=0)
        for header, data in self._checked(scan):
            yield _decode(scan, header, data)

    def verify(self) -> None:
        """Check the whole file: every CRC, the header, the footer."""
        for _ in self._checked(FileScan(self.path, next_offset=0)):
            pass

    def has_state(self) -> bool:
        """True if the checkpoint has any record besides header and footer."""
        return any(self.rows())

    def _checked(self, scan: FileScan) -> Iterator[tuple[BatchHeader, bytes]]:
        is_complete = False
        for header, data in scan.batches(may_be_cut=False):
            if header.leader_epoch != self.leader_epoch:
                raise scan.corrupt(
                    f"a batch has epoch {header.leader_epoch}, but the file's name says "
                    f"{self.leader_epoch}"
                )
            if is_complete:
                raise scan.corrupt("a batch follows the SnapshotFooterRecord")
            control = _decode(scan, header, data).rows if header.is_control else ()
            has_header = control and isinstance(control[0].payload, SnapshotHeaderRecord)
            if scan.position == 0 and not has_header:
                raise scan.corrupt("the first record is not a SnapshotHeaderRecord")
            if control:
                is_complete = isinstance(control[-1].payload, SnapshotFooterRecord)
            yield header, data
        if not is_complete:
            raise scan.corrupt("the checkpoint is incomplete: it has no SnapshotFooterRecord")


def _decode(scan: FileScan, header: BatchHeader, data: bytes) -> KraftBatch:
    try:
        return decode_batch(data, header, scan.position)
    except CorruptLogError as error:
        raise scan.corrupt(str(error)) from error
