"""Restore: makes a log from a backup or archive, up to any offset.

If the log has records after the end of the copy, they (the tail) can be included.

The restored log keeps its cluster id, offsets, epochs and times. If the old writer still runs, both
logs continue from the same offset. The writers of the restored log therefore claim epochs far above
every known epoch, so that no epoch occurs in two different histories.
"""

from collections.abc import Callable
from pathlib import Path

import google_crc32c
import msgspec

from metadata_log.care.new_log import NewLog
from metadata_log.care.same_history import check_same_history
from metadata_log.files.fs import ByteStore, Fs, OsFs
from metadata_log.files.names import derived_names, segment_name
from metadata_log.format.commit_mark import CommitMark
from metadata_log.format.manifest import Kind, Manifest
from metadata_log.reader.committed import (
    CommittedSegment,
    committed_segments,
    highest_epoch,
)
from metadata_log.reader.log_reader import LogReader
from metadata_log.stores.checked_read import CheckedRead, Progress, file_size, no_progress
from metadata_log.writer.cut import Cut, CutEnd, cut_at, encode_cut_end
from records.errors import RequestError, UnknownHistoryError

RESTORED_EPOCH_GAP = 1_000
"""Gap between the known epochs and those of a restored log: how often the old log can be opened
before both could claim the same epoch."""


class RestoreResult(msgspec.Struct, frozen=True, kw_only=True):
    """Content of a restored log. `end_offset` is exclusive.

    `cut_batch` is (base offset, end offset) of the batch that was cut, None if the end is between
    two batches. `writer_epoch` is the lowest epoch that a writer of the log will claim, None for a
    mirror.
    """

    history_start: int
    end_offset: int
    segments: int
    size_bytes: int
    cut_batch: tuple[int, int] | None
    writer_epoch: int | None


class Splice(msgspec.Struct, frozen=True, kw_only=True):
    """Two readers whose files together make one log: a copy of the log's beginning, and a tail.

    The tail is a log that continues the copy; it may be missing.
    """

    copy_fs: ByteStore
    copy: LogReader
    tail_fs: ByteStore | None = None
    tail: LogReader | None = None

    @property
    def newest(self) -> LogReader:
        """The reader with the higher end: the tail if there is one, else the copy."""
        return self.tail or self.copy

    def segments(self) -> list[CommittedSegment]:
        """Return all segments, ascending. A segment that both readers have is taken from the tail.

        Raises:
            RequestError: copy and tail are of different histories, or records between them are in
                neither.
        """
        mine = committed_segments(self.copy_fs, self.copy)
        if self.tail is None or self.tail_fs is None:
            return mine
        following = committed_segments(self.tail_fs, self.tail)
        if self.tail.cluster_id != self.copy.cluster_id:
            raise RequestError(
                "INCONSISTENT_CLUSTER_ID",
                f"{self.copy.directory} is of cluster {self.copy.cluster_id!r}, but "
                f"{self.tail.directory} of {self.tail.cluster_id!r}; name two logs of one cluster",
            )
        check_same_history(self.copy_fs, self.copy, following, self.tail.mark.end_offset)
        start = following[0].base_offset
        return [segment for segment in mine if segment.base_offset < start] + following

    def check(self, end_offset: int) -> None:
        """Read the parts of copy and tail below an offset, so that damage is reported with its
        place.

        Without a tail nothing is read here: the replay that checks the restored log reads the whole
        copy anyway.

        Raises:
            CorruptLogError: a block is damaged.
        """
        if self.tail is None:
            return
        for reader, end in ((self.copy, self.tail.start_offset), (self.tail, end_offset)):
            for _ in reader.batches(reader.start_offset, min(end, end_offset)):
                pass

    def source_of(self, offset: int) -> LogReader:
        """Return the reader, copy or tail, from which the image at an offset can be replayed."""
        tail = self.tail
        return tail if tail is not None and offset >= self.copy.end_offset else self.copy

    def size_bytes(self) -> int:
        """Return roughly how many bytes will be copied."""
        return sum(segment.size for segment in self.segments())

    def highest_epoch(self) -> int:
        """Return the highest epoch in the marks and claims of copy and tail."""
        epoch = highest_epoch(self.copy_fs, self.copy)
        if self.tail is not None and self.tail_fs is not None:
            epoch = max(epoch, highest_epoch(self.tail_fs, self.tail))
        return epoch


def restore(
    splice: Splice,
    target: Path,
    end_offset: int,
    *,
    fs: Fs | None = None,
    check: Callable[[LogReader], object],
    progress: Progress = no_progress,
) -> RestoreResult:
    """Write a log that ends at `end_offset` (exclusive); it appears at `target` when complete.

    If this end is inside a batch, the last batch of the new log contains only the rows below the
    end. If the end is inside a run of NoOps, the new log ends before the run.

    Args:
        check: Raises an error if the new log is not usable; then nothing appears at `target`.

    Raises:
        UnknownHistoryError: the end is before the kept history.
        RequestError: the end is past the end of the source, or `target` exists.
        CorruptLogError: the source is damaged.
    """
    source = splice.copy
    if end_offset < source.history_start:
        raise UnknownHistoryError(
            f"offset {end_offset - 1} is unknown: history starts at {source.history_start}"
        )
    if end_offset > splice.newest.end_offset:
        raise RequestError(
            "OFFSET_OUT_OF_RANGE",
            f"offset {end_offset - 1} is past the end: the log ends at "
            f"{splice.newest.end_offset} (exclusive)",
        )
    segments = splice.segments()
    splice.check(end_offset)
    kept = [segment for segment in segments if segment.base_offset < end_offset] or segments[:1]
    cut = cut_at(kept[-1], end_offset)
    cut_end = _cut_end(cut, source) if cut.rows else None
    mark = _mark(splice.newest, cut, cut_end)
    epoch = splice.highest_epoch() + RESTORED_EPOCH_GAP
    with NewLog(target, fs or OsFs()) as log:
        size_bytes = _write(log, source, kept, cut, cut_end, progress)
        log.add_mirror_files(splice.newest.fs, splice.newest.directory)
        log.publish(Manifest(cluster_id=source.cluster_id, kind=source.kind), mark, epoch, check)
    return RestoreResult(
        history_start=source.history_start,
        end_offset=mark.end_offset,
        segments=len(kept),
        size_bytes=size_bytes,
        cut_batch=cut.cut_batch,
        writer_epoch=epoch + 1 if source.kind is Kind.OWN else None,
    )


def _cut_end(cut: Cut, source: LogReader) -> CutEnd:
    return encode_cut_end(cut, source.cluster_id, is_mirror=source.kind is Kind.MIRROR)


def _write(
    log: NewLog,
    source: LogReader,
    kept: list[CommittedSegment],
    cut: Cut,
    cut_end: CutEnd | None,
    progress: Progress,
) -> int:
    """Write the base, the segments and their indexes; return the number of bytes written."""
    size_bytes = 0
    if source.base is not None:
        size_bytes += _copy(log, kept[0].fs, source.base.path, source.base.size, progress)
    for segment in kept[:-1]:
        size_bytes += _copy(log, segment.fs, segment.path, segment.size, progress)
        for name in derived_names(segment.base_offset):
            path = segment.path.with_name(name)
            if not segment.fs.exists(path):
                continue
            size_bytes += _copy(log, segment.fs, path, file_size(segment.fs, path), progress)
    # If no batch of a segment is kept, the rows of its cut batch take over its name.
    if cut_end is None or cut.end_offset > cut.segment.base_offset:
        size_bytes += _copy(log, cut.segment.fs, cut.segment.path, cut.position, progress)
    if cut_end is not None:
        content = [cut_end.header.encode(), cut_end.stored]
        log.add(segment_name(cut_end.header.base_offset), content)
        size_bytes += sum(map(len, content))
    return size_bytes


def _copy(log: NewLog, fs: ByteStore, path: Path, size: int, progress: Progress) -> int:
    log.add(path.name, CheckedRead(fs, path, size, progress))
    return size


def _mark(newest: LogReader, cut: Cut, cut_end: CutEnd | None) -> CommitMark:
    """Return the commit mark of a log that ends at the cut."""
    if cut_end is None:
        end, base, position = cut.end_offset, cut.segment.base_offset, cut.position
        epoch, crc32c, latest = cut.leader_epoch, cut.last_crc32c, cut.max_timestamp or 0
    else:
        header = cut_end.header
        end, base, epoch = cut_end.end_offset, header.base_offset, header.leader_epoch
        position = len(header.encode()) + len(cut_end.stored)
        crc32c = google_crc32c.value(cut_end.stored)
        latest = max(*(row.timestamp for row in cut.rows), cut.max_timestamp or 0)
    confirmed = end if newest.kind is Kind.OWN else min(newest.confirmed_end, end)
    return CommitMark(
        sequence=newest.mark.sequence,
        leader_epoch=epoch,
        end_offset=end,
        segment_offset=base,
        position=position,
        confirmed_end=confirmed,
        last_crc32c=crc32c,
        max_timestamp=latest,
    )
