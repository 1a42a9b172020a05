"""Reading of all segments of a log in order, as if they were one file."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from metadata_log.kraft.damage import corrupt, vanished
from metadata_log.kraft.epochs import EpochGuard
from metadata_log.kraft.file_scan import FileScan
from metadata_log.kraft_format.batch import HEADER_SIZE, KraftBatch, LogPosition, parse_header
from metadata_log.kraft_format.batch_codec import decode_batch
from metadata_log.kraft_format.names import segment_name
from records.errors import CorruptLogError, UnavailableError


class KraftSegment(msgspec.Struct, frozen=True):
    """A segment file; its name is the offset of its first record."""

    path: Path
    base_offset: int


class LogScan:
    """Batches of a log, from its start or from after a position.

    `position` is the position of the last returned batch. Once the end is reached, `end_offset` is
    the end of the log (None without segments), and `trailing_bytes` is the size of an incomplete
    last batch: the node is still writing this batch, or was writing it when it crashed.
    """

    def __init__(
        self,
        segments: Sequence[KraftSegment],
        epochs: EpochGuard,
        start: LogPosition | None = None,
    ) -> None:
        self._segments = segments
        self._epochs = epochs
        self.position = start
        self.end_offset: int | None = None
        self.trailing_bytes = 0

    def batches(self) -> Iterator[KraftBatch]:
        """Yield each batch, one in memory at a time.

        Raises:
            CorruptLogError: the segments do not make one complete log; names file, byte, what was
                expected and found, and the offset below which everything is intact.
            UnavailableError: a file was removed, or Kafka truncated the log below the position.
        """
        start = self.position
        if start is not None:
            self._epochs.resume(parse_header(start.header).leader_epoch)
        for position, batch in self._epochs.pass_on(self._read(start)):
            self.position = position
            yield batch

    def _read(self, start: LogPosition | None) -> Iterator[tuple[LogPosition, KraftBatch]]:
        before: FileScan | None = None
        for segment in self._segments_from(start):
            if before is None and start is not None:
                scan = _open_behind(segment, start)
            else:
                scan = _open(segment, before)
            for header, data in scan.batches(may_be_cut=segment == self._segments[-1]):
                try:
                    batch = decode_batch(data, header, scan.position)
                except CorruptLogError as error:
                    raise scan.corrupt(str(error)) from error
                raw_header = data[:HEADER_SIZE]
                yield LogPosition(segment.base_offset, scan.position, raw_header), batch
            before = scan
            self.end_offset = scan.next_offset
            self.trailing_bytes = scan.trailing_bytes

    def _segments_from(self, start: LogPosition | None) -> Sequence[KraftSegment]:
        if start is None:
            return self._segments
        base_offset = start.segment_base_offset
        segments = [segment for segment in self._segments if segment.base_offset >= base_offset]
        if not segments or segments[0].base_offset != base_offset:
            raise _changed(f"segment {segment_name(base_offset)}")
        return segments


def _open(segment: KraftSegment, before: FileScan | None) -> FileScan:
    if before is None:
        return FileScan(segment.path, next_offset=segment.base_offset)
    if segment.base_offset != before.next_offset:
        raise corrupt(
            segment.path,
            0,
            f"the segment starts at offset {segment.base_offset}, the one before it ends at "
            f"{before.next_offset}",
            before.next_offset,
        )
    return FileScan(segment.path, next_offset=before.next_offset, leader_epoch=before.leader_epoch)


def _open_behind(segment: KraftSegment, start: LogPosition) -> FileScan:
    try:
        with segment.path.open("rb") as file:
            file.seek(start.byte)
            found = file.read(HEADER_SIZE)
    except FileNotFoundError:
        raise vanished(segment.path) from None
    if found != start.header:
        raise _changed(f"{segment.path} byte {start.byte}: the batch that was read last")
    header = parse_header(start.header)
    return FileScan(
        segment.path,
        next_offset=header.end_offset,
        leader_epoch=header.leader_epoch,
        position=start.byte + header.size,
    )


def _changed(what: str) -> UnavailableError:
    return UnavailableError(
        f"{what} is not there any more: Kafka truncated or cleaned its log; read it again from "
        "its start"
    )
