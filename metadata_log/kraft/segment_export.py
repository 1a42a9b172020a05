"""Export of a mirror's batches as Kafka's segments, with the same bytes as in the source.

An exported segment begins where a segment of the mirror begins, because an exact import starts a
new segment wherever the source does. If the mirror began a segment for another reason, the
segment's header has the mark `continues_source`, and its batches are added to the preceding
exported segment. Releases that wrote one block for each batch did not set this mark; such a segment
is recognized because the preceding segment was full or had another schema.
"""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from metadata_log.format.manifest import Kind
from metadata_log.kraft.checkpoint_writer import write_checkpoint
from metadata_log.kraft.new_directory import new_directory
from metadata_log.kraft.synced_file import write_synced
from metadata_log.kraft_format.batch_codec import encode_batch
from metadata_log.kraft_format.names import LEADER_EPOCHS, checkpoint_name, segment_name
from metadata_log.limits import SEGMENT_SIZE_BYTES_MAX
from metadata_log.reader.log_reader import LogReader
from records.base import Record
from records.control import NoOpRunRecord
from records.envelope import Envelope
from records.errors import RequestError
from records.registry import CONTROL_TYPES


class SegmentsExport(msgspec.Struct, frozen=True, kw_only=True):
    """Result of an export: the names of the files, and the offsets [start_offset, end_offset)."""

    files: Sequence[str]
    start_offset: int
    end_offset: int
    bytes: int


def export_segments(
    reader: LogReader, target: Path, end_offset: int, *, progress: Callable[[int], None]
) -> SegmentsExport:
    """Write a new node directory with the mirror's segments up to `end_offset`, exclusive.

    If the mirror has a base checkpoint, a Kafka checkpoint with the same records is written too.

    Args:
        progress: Called with the end offset of each batch.

    Raises:
        RequestError: the mirror stores runs of NoOps as one record; `end_offset` is
            inside a batch; or `target` exists.
        CorruptLogError: the mirror is damaged.
    """
    assert reader.kind is Kind.MIRROR, "replay.kafka_form exports own logs"
    with new_directory(target, reader.cluster_id) as partition:
        writer = _Segments(reader, end_offset)
        if reader.base is not None:
            _write_base(reader, partition)
        for base_offset in writer.starts:
            write_synced(
                partition / segment_name(base_offset), writer.segment(base_offset, progress)
            )
        write_leader_epochs(partition, writer.epoch_starts)
        files = sorted(path.name for path in partition.iterdir())
    return SegmentsExport(
        files=files,
        start_offset=reader.start_offset,
        end_offset=end_offset,
        bytes=writer.bytes_written,
    )


def write_leader_epochs(partition: Path, epoch_starts: Mapping[int, int]) -> None:
    """Write `leader-epoch-checkpoint`: the first offset of each epoch, ascending."""
    lines = [f"{epoch} {start}" for epoch, start in epoch_starts.items()]
    text = "\n".join(["0", str(len(lines)), *lines]) + "\n"
    write_synced(partition / LEADER_EPOCHS, [text.encode()])


def _write_base(reader: LogReader, partition: Path) -> None:
    base = reader.base
    assert base is not None
    control: list[Record] = []
    records: list[tuple[Record, int]] = []
    for row in itertools.chain.from_iterable(base.rows()):
        if type(row.payload) in CONTROL_TYPES:
            control.append(row.payload)
        else:
            records.append((row.payload, row.record_version))
    write_checkpoint(
        partition / checkpoint_name(base.end_offset, base.leader_epoch),
        records,
        leader_epoch=base.leader_epoch,
        timestamp=base.timestamp,
        control=control,
    )


class _Segments:
    """The segments to export; `starts` are their base offsets, ascending."""

    def __init__(self, reader: LogReader, end_offset: int) -> None:
        self.starts = [start for start in _source_starts(reader) if start < end_offset]
        self.epoch_starts: dict[int, int] = {}
        self.bytes_written = 0
        self._reader = reader
        self._end_offset = end_offset

    def segment(self, base_offset: int, progress: Callable[[int], None]) -> Iterator[bytes]:
        """Yield the encoded batches of a segment."""
        following = [start for start in self.starts if start > base_offset]
        end = following[0] if following else self._end_offset
        for rows in _source_batches(self._reader, base_offset, end):
            batch = self._encoded(rows)
            self.epoch_starts.setdefault(rows[0].leader_epoch, rows[0].offset)
            self.bytes_written += len(batch)
            yield batch
            progress(rows[-1].offset + 1)

    def _encoded(self, rows: Sequence[Envelope]) -> bytes:
        first, last = rows[0], rows[-1]
        if isinstance(first.payload, NoOpRunRecord):
            end = first.offset + first.payload.count
            raise RequestError(
                "INVALID_REQUEST",
                f"offsets {first.offset} to {end - 1} are NoOps that are kept as one record; "
                "import the source with --noop keep, or use --as checkpoint",
            )
        if last.offset >= self._end_offset:
            raise RequestError(
                "INVALID_REQUEST",
                f"offset {self._end_offset - 1} is inside the batch of offsets {first.offset} to "
                f"{last.offset}; take {first.offset - 1} or {last.offset}",
            )
        return encode_batch(rows)


def _source_batches(reader: LogReader, start: int, end: int) -> Iterator[Sequence[Envelope]]:
    """Yield the rows of each batch of the source that begins in [start, end)."""
    for batch in reader.batches(start, end):
        if batch.base_offset >= start:
            yield batch.rows


def _source_starts(reader: LogReader) -> Iterator[int]:
    """Yield the base offsets of the source's segments, as far as the mirror's headers show them."""
    before: Path | None = None
    for path in reader.segment_paths:
        if before is None or _starts_with_source(reader, before, path):
            yield reader.header(path).base_offset
        before = path


def _starts_with_source(reader: LogReader, before: Path, path: Path) -> bool:
    """True if a segment of the mirror begins where a segment of the source begins."""
    header = reader.header(path)
    if header.holds_batches or header.continues_source:
        return not header.continues_source
    is_new_schema = header.schema_json != reader.header(before).schema_json
    return not is_new_schema and header.previous_length < SEGMENT_SIZE_BYTES_MAX
