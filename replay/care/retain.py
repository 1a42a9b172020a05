"""Cuts history: the image at a segment's start becomes the base; earlier segments are deleted."""

from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from metadata_log.care.retention import drop_below, retaining
from metadata_log.files.fs import Fs, OsFs
from metadata_log.files.names import checkpoint_name
from metadata_log.format.batch import Batch
from metadata_log.format.checkpoint import Checkpoint, write_checkpoint
from metadata_log.format.segment import SegmentHeader
from metadata_log.reader.committed import CommittedSegment, committed_segments
from metadata_log.reader.log_reader import LogReader
from metadata_log.reader.position import Position
from metadata_log.shared.identity import node_of
from metadata_log.writer.request_window import window_start
from records.errors import CorruptLogError
from replay.care.base_records import base_records
from replay.image.digest import image_digest
from replay.image.metadata import MetadataImage
from replay.kafka_form.first_names import first_names_at
from replay.loader import load_image
from replay.time_travel.contradictions import explained


class RetainResult(msgspec.Struct, frozen=True, kw_only=True):
    """The new start of the history, and how much was removed.

    `digest` is the digest of the image at the new start; None if nothing was removed.
    """

    history_start: int
    previous_history_start: int
    dropped_segments: int
    dropped_bytes: int
    digest: str | None


def retain(
    directory: Path,
    keep_from: int,
    *,
    fs: Fs | None = None,
    check_dropped: Callable[[list[CommittedSegment]], None],
    progress: Callable[[int], None] | None = None,
) -> RetainResult:
    """Move a log's start up to the segment that contains `keep_from`, or to an earlier segment.

    The start stays earlier if a transaction is open at the segment's start, or if Kafka may still
    replace records before it (mirrors). A node of a shared log keeps the request window, because it
    may become leader. A writer and readers may use the log meanwhile; a reader that reaches a
    removed segment gets UnavailableError.

    Args:
        check_dropped: Called with the segments to remove; if it raises, nothing is changed.
        progress: Called with the end offset of each batch as it is replayed.

    Raises:
        RequestError: as `first_names_at`.
        UnavailableError: another process is cutting this log's history.
        CorruptLogError: the log is damaged, or the written base gives another image.
    """
    fs = fs or OsFs()
    with retaining(fs, directory), LogReader.open(directory, fs=fs) as reader:
        if node_of(fs, directory) is not None:
            keep_from = min(keep_from, window_start(reader.end_offset))
        segments = committed_segments(fs, reader)
        found = _start(reader, segments, keep_from, progress)
        if found is None:
            return _unchanged(reader)
        start, image = found
        going = [segment for segment in segments if segment.base_offset < start]
        if not going:
            return _unchanged(reader)
        check_dropped(going)
        digest = image_digest(image)
        if start > reader.history_start:
            (following,) = [segment for segment in segments if segment.base_offset == start]
            _write_base(fs, reader, following.header, image, digest)
        # Remove segments only now: the base is on stable storage and was read back.
        drop_below(fs, directory, start)
    return RetainResult(
        history_start=start,
        previous_history_start=reader.history_start,
        dropped_segments=len(going),
        dropped_bytes=sum(segment.size for segment in going),
        digest=digest,
    )


def _start(
    reader: LogReader,
    segments: list[CommittedSegment],
    keep_from: int,
    progress: Callable[[int], None] | None,
) -> tuple[int, MetadataImage] | None:
    """Return the new start and the image below it; None if the start cannot be moved."""
    limit = min(keep_from, reader.confirmed_end)
    bases = [segment.base_offset for segment in segments]
    while True:
        # An interrupted run may have written its base already.
        below = [base for base in bases if reader.history_start <= base <= limit]
        if not below or below[-1] == 0:
            return None
        with explained(reader):
            image = load_image(reader, below[-1] - 1, progress=progress)
        pending = image.provenance.pending_transaction
        if pending is None:
            return below[-1], image
        # The records of an open transaction are not in the image: they must stay in the log.
        limit = pending


def _write_base(
    fs: Fs, reader: LogReader, following: SegmentHeader, image: MetadataImage, digest: str
) -> None:
    """Write the base checkpoint, and check that it gives the same image.

    Args:
        following: Header of the segment that becomes the first one.
    """
    where, start = image.provenance, following.base_offset
    part = reader.directory / f"{checkpoint_name(start, where.leader_epoch)}.part"
    if fs.exists(part):
        fs.unlink(part)
    base = write_checkpoint(
        fs,
        reader.directory,
        base_records(reader, image),
        cluster_id=reader.cluster_id,
        end_offset=start,
        leader_epoch=where.leader_epoch,
        timestamp=where.timestamp,
        following=following,
        first_names=first_names_at(reader, start),
    )
    restored = load_image(_BaseOnly(base))
    found = image_digest(restored)
    if found != digest or not _same_beside_digest(restored, image):
        fs.unlink(base.path)
        fs.sync_directory(reader.directory)
        raise CorruptLogError(
            f"{base.path} byte 0: the base has digest {found}, the image below offset {start} "
            f"{digest}, or their versions differ; nothing was removed, check the disk and run again"
        )


def _same_beside_digest(one: MetadataImage, other: MetadataImage) -> bool:
    not_understood = one.provenance.not_understood
    return one.has_versions_of(other) and not_understood == other.provenance.not_understood


def _unchanged(reader: LogReader) -> RetainResult:
    return RetainResult(
        history_start=reader.history_start,
        previous_history_start=reader.history_start,
        dropped_segments=0,
        dropped_bytes=0,
        digest=None,
    )


class _BaseOnly:
    """A log that consists only of its base."""

    def __init__(self, base: Checkpoint) -> None:
        self.base = base
        self.start_offset = self.history_start = self.end_offset = base.end_offset

    def position(self, end_offset: int) -> Position:
        header = self.base.header
        return Position(
            cluster_id=header.cluster_id,
            end_offset=end_offset,
            leader_epoch=header.leader_epoch,
            last_crc32c=header.previous_crc32c,
        )

    def batches(
        self, from_offset: int | None = None, to_offset: int | None = None
    ) -> Iterator[Batch]:
        return iter(())
