"""What a writer does with the bytes past the commit mark when it opens a log.

The mark may lag behind the last crash. Whole blocks past it are kept: they may have been
acknowledged. At the first byte that is not a whole block that follows, the log is cut.
"""

import logging
from pathlib import Path

from metadata_log.commit_mark import CommitMark
from metadata_log.fs import File, Fs
from metadata_log.log_writer import Tail
from metadata_log.names import index_name, segment_name, segment_offsets
from metadata_log.segment_scan import SegmentScan, corrupt, read_header
from records.errors import CorruptLogError

_LOG = logging.getLogger(__name__)


def recover(fs: Fs, directory: Path, mark: CommitMark) -> Tail:
    """Cut what is not whole past the mark, and return the end of the log. Idempotent.

    Raises:
        CorruptLogError: the segment that the mark points into is missing, short, or damaged at
            its header.
    """
    path = directory / segment_name(mark.segment_offset)
    try:
        file = fs.open(path, write=True)
    except FileNotFoundError as error:
        raise corrupt(path, 0, "the commit mark points into this segment: it is missing") from error
    try:
        tail = _recover_segment(file, path, mark)
    finally:
        file.close()
    for base in segment_offsets(fs.list(directory)):
        if base > mark.segment_offset:
            tail = _recover_next(fs, directory, base, tail)
    return tail


def _recover_segment(file: File, path: Path, mark: CommitMark) -> Tail:
    header, start = read_header(file, path)
    if file.size() < mark.position:
        raise corrupt(
            path,
            file.size(),
            f"the file ends here, the commit mark says byte {mark.position}. Is this a short copy? "
            "A copy of a live log is made with `metalog backup`",
        )
    scan = SegmentScan(
        file,
        path,
        header,
        position=max(mark.position, start),
        limit=file.size(),
        next_offset=mark.end_offset,
        last_crc32c=mark.last_crc32c,
    )
    tail = Tail(
        end_offset=mark.end_offset,
        leader_epoch=mark.leader_epoch,
        segment_offset=mark.segment_offset,
        position=scan.position,
        previous_length=header.previous_length,
        last_crc32c=mark.last_crc32c,
        max_timestamp=_max_timestamp_before(file, path, mark, start),
    )
    return _keep_whole_blocks(file, path, scan, tail)


def _keep_whole_blocks(file: File, path: Path, scan: SegmentScan, tail: Tail) -> Tail:
    """Go over the blocks past the mark; cut the file at the first that is not whole."""
    max_timestamp = tail.max_timestamp
    epoch = tail.leader_epoch
    try:
        for _, batch in scan.batches():
            epoch = batch.leader_epoch
            max_timestamp = max(batch.timestamp, max_timestamp or batch.timestamp)
    except CorruptLogError as error:
        _LOG.warning(
            "%s: cut %d bytes from byte %d on, written but never committed (%s)",
            path,
            file.size() - scan.position,
            scan.position,
            error,
        )
        file.truncate(scan.position)
    file.sync()
    assert scan.next_offset is not None
    return Tail(
        end_offset=scan.next_offset,
        leader_epoch=epoch,
        segment_offset=tail.segment_offset,
        position=scan.position,
        previous_length=tail.previous_length,
        last_crc32c=scan.last_crc32c or 0,
        max_timestamp=max_timestamp,
    )


def _recover_next(fs: Fs, directory: Path, base: int, tail: Tail) -> Tail:
    """Keep a segment past the marked one when it follows, else remove it."""
    path = directory / segment_name(base)
    file = fs.open(path, write=True)
    try:
        header, position = read_header(file, path)
        if base == tail.end_offset and header.previous_crc32c == tail.last_crc32c:
            scan = SegmentScan(
                file,
                path,
                header,
                position=position,
                limit=file.size(),
                next_offset=base,
                last_crc32c=tail.last_crc32c,
            )
            start = Tail(
                end_offset=base,
                leader_epoch=header.leader_epoch,
                segment_offset=base,
                position=position,
                previous_length=header.previous_length,
                last_crc32c=tail.last_crc32c,
                max_timestamp=tail.max_timestamp,
            )
            return _keep_whole_blocks(file, path, scan, start)
    finally:
        file.close()
    _LOG.warning("%s: removed, it was never committed and does not follow the log", path)
    for name in {path.name, index_name(base)} & set(fs.list(directory)):
        fs.unlink(directory / name)
    fs.sync_directory(directory)
    return tail


def _max_timestamp_before(file: File, path: Path, mark: CommitMark, start: int) -> int | None:
    """Return the highest append time below the mark, from the marked segment's own batches."""
    header, _ = read_header(file, path)
    highest = header.max_timestamp
    scan = SegmentScan(
        file,
        path,
        header,
        position=start,
        limit=mark.position,
        next_offset=header.base_offset,
        last_crc32c=header.previous_crc32c,
    )
    for _, batch in scan.batches():
        highest = max(batch.timestamp, highest or batch.timestamp)
    return highest
