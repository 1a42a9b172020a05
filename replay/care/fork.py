"""Forks a log: creates a writable log whose base is the state of another log at some offset."""

from collections.abc import Callable
from pathlib import Path

import msgspec

from metadata_log.care.new_log import NewLog
from metadata_log.care.restore import RESTORED_EPOCH_GAP
from metadata_log.files.fs import OsFs
from metadata_log.files.names import segment_name
from metadata_log.format.checkpoint import write_checkpoint
from metadata_log.format.commit_mark import CommitMark
from metadata_log.format.manifest import Kind, Manifest
from metadata_log.format.segment import SegmentHeader
from metadata_log.reader.committed import highest_epoch
from metadata_log.reader.log_reader import LogReader
from records.errors import CorruptLogError, RequestError
from replay.care.base_records import base_records
from replay.image.digest import image_digest
from replay.image.metadata import MetadataImage
from replay.kafka_form.first_names import first_names_at
from replay.loader import load_image
from replay.time_travel.contradictions import explained

Progress = Callable[[int], None]
"""Called with the end offset of each batch as it is replayed."""


class ForkResult(msgspec.Struct, frozen=True, kw_only=True):
    """History start, digest of the state, and lowest writer epoch of a forked log."""

    history_start: int
    digest: str
    writer_epoch: int


def fork_log(reader: LogReader, target: Path, at: int, *, progress: Progress) -> ForkResult:
    """Create a writable log (not a mirror) whose base is the image of another log.

    The log appears at `target` only when it is complete. It keeps the cluster id and the offsets:
    the next record has the offset after `at`, or that of the begin record of a transaction that is
    open at `at`. The writers of the new log use epochs far above all epochs known to the source,
    like those of a restored log. The source is only read.

    Raises:
        UnknownHistoryError: `at` is before the kept history.
        RequestError: LOG_EXISTS, `target` exists; OFFSET_OUT_OF_RANGE, `at` is past the end; or
            INVALID_REQUEST, there is no record to start from; or as `first_names_at`.
        CorruptLogError: the source is damaged, or the new log gives another image.
    """
    with explained(reader):
        image = load_image(reader, at, progress=progress)
    end_offset = image.provenance.next_offset
    if end_offset == 0:
        raise RequestError(
            "INVALID_REQUEST",
            "the state before offset 0 is empty; make an empty log with `metalog init`",
        )
    epoch = highest_epoch(reader.fs, reader) + RESTORED_EPOCH_GAP
    digest = image_digest(image)

    def check(made: LogReader) -> None:
        with explained(made):
            found = image_digest(load_image(made))
        if found != digest:
            raise CorruptLogError(
                f"{target} has digest {found}, but its source has {digest}; run `metalog verify` "
                "on the source"
            )

    with NewLog(target, OsFs()) as log:
        mark = _write(log, reader, image)
        manifest = Manifest(cluster_id=reader.cluster_id, kind=Kind.OWN)
        log.publish(manifest, mark, epoch, check)
    return ForkResult(history_start=end_offset, digest=digest, writer_epoch=epoch + 1)


def _write(log: NewLog, reader: LogReader, image: MetadataImage) -> CommitMark:
    """Write the base and an empty segment after it; return the commit mark at their end."""
    where = image.provenance
    base = write_checkpoint(
        log.fs,
        log.directory,
        base_records(reader, image),
        cluster_id=reader.cluster_id,
        end_offset=where.next_offset,
        leader_epoch=where.leader_epoch,
        timestamp=where.timestamp,
        first_names=first_names_at(reader, where.next_offset),
    )
    header = SegmentHeader(
        cluster_id=reader.cluster_id,
        base_offset=where.next_offset,
        leader_epoch=where.leader_epoch,
        previous_length=base.size,
        previous_crc32c=base.last_crc32c,
        max_timestamp=where.timestamp,
    ).encode()
    log.add(segment_name(where.next_offset), [header])
    return CommitMark(
        sequence=2,
        leader_epoch=where.leader_epoch,
        end_offset=where.next_offset,
        segment_offset=where.next_offset,
        position=len(header),
        confirmed_end=where.next_offset,
        last_crc32c=base.last_crc32c,
        max_timestamp=where.timestamp,
    )
