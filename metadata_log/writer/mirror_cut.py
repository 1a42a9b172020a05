"""Finding the place to cut a mirror, so that it ends at the end of a Kafka batch."""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from metadata_log.files.fs import Fs
from metadata_log.format.batch import offsets_covered
from metadata_log.format.tail import Tail
from metadata_log.reader.committed import committed_segments
from metadata_log.reader.log_reader import LogReader
from metadata_log.writer.cut import cut_at
from records.control import NoOpRunRecord
from records.envelope import Envelope


class MirrorCut(msgspec.Struct, frozen=True, kw_only=True):
    """Where to cut: blocks up to `tail` stay unchanged; `rows` are the kept rows of the next block.

    `continues_source` is the value for the header of a segment that begins at `tail`.
    """

    tail: Tail
    rows: Sequence[Envelope]
    continues_source: bool


def find_cut(fs: Fs, directory: Path, end_offset: int, last_timestamp: int) -> MirrorCut:
    """Return where to cut a mirror.

    Args:
        end_offset: The end of a Kafka batch, inside the mirror.
        last_timestamp: Append time of that batch, ms since 1970.

    Raises:
        CorruptLogError: the mirror is damaged there.
    """
    with LogReader.open(directory, fs=fs) as reader:
        segments = committed_segments(fs, reader)
        segment = [s for s in segments if s.base_offset < end_offset or s is segments[0]][-1]
        cut = cut_at(segment, end_offset)
        rows = list(cut.rows)
        kept_end = _end_of(rows) if rows else cut.end_offset
        if kept_end < end_offset:
            rows.append(_shortened(reader, kept_end, end_offset, last_timestamp))
    return MirrorCut(
        tail=Tail(
            end_offset=cut.end_offset,
            leader_epoch=cut.leader_epoch,
            segment_offset=segment.base_offset,
            position=cut.position,
            previous_length=segment.header.previous_length,
            last_crc32c=cut.last_crc32c,
            max_timestamp=cut.max_timestamp,
        ),
        rows=rows,
        continues_source=cut.continues_source,
    )


def _end_of(rows: Sequence[Envelope]) -> int:
    return rows[-1].offset + offsets_covered(rows[-1].payload)


def _shortened(
    reader: LogReader, run_offset: int, end_offset: int, last_timestamp: int
) -> Envelope:
    """Return the first part of a run of NoOps, up to `end_offset`."""
    (row,) = next(reader.batches(run_offset)).rows
    run = row.payload
    assert isinstance(run, NoOpRunRecord), run
    removed = row.offset + run.count - end_offset
    # Kafka writes each NoOp as a batch of its own.
    part = msgspec.structs.replace(
        run,
        count=run.count - removed,
        batch_count=max(run.batch_count - removed, 1),
        last_timestamp=last_timestamp,
    )
    return msgspec.structs.replace(row, payload=part)
