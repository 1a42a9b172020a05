"""Recovery of a node's folder: cuts it at the first damage; the shared log has the rest.

A node acknowledges records once the shared log has committed them, before they are on the node's
own disk. After a power loss the commit mark may point past the end of the file, and blocks may
claim that lost blocks were durable. In any other log that is damage; here the lost blocks are
fetched again, and only blocks that the shared log no longer has are lost.

A power loss damages only the last segment, because a segment begins when everything before it is on
stable storage. Any other damage would remove intact segments, too: first the store must be asked.
"""

import contextlib
import logging
from itertools import zip_longest
from pathlib import Path

from metadata_log.files.file_publish import Owner, publish_file
from metadata_log.files.fs import Fs, copy_start
from metadata_log.files.names import segment_name, segment_offsets
from metadata_log.format.base import check_base_header
from metadata_log.format.segment import SegmentHeader
from metadata_log.format.segment_file import SegmentFile, read_segment_header
from metadata_log.format.segment_indexes import remove_indexes, shorten_indexes
from metadata_log.format.segment_scan import check_identity
from metadata_log.format.tail import EMPTY_TAIL, Tail
from records.errors import CorruptLogError

_LOG = logging.getLogger(__name__)


def cut_back(
    fs: Fs,
    directory: Path,
    cluster_id: str,
    damage: CorruptLogError,
    owner: Owner,
    *,
    least_end: int | None,
) -> Tail:
    """Cut a folder off after the last block before any damage; return the new end.

    Args:
        damage: Why the folder cannot be used as it is.
        least_end: The lowest end offset that the folder may be cut to, because the shared log has
            everything from there on; None if that is unknown: then no segment is removed, only the
            end of the last one.

    Raises:
        CorruptLogError: `damage`; more would have to be removed than may be, and nothing was.
        FencedError: another writer took over meanwhile.
        UnavailableError: the disk has no room for a copy of the last segment.
    """
    kept: list[Tail] = []
    names = fs.list(directory)
    bases = _segments(fs, directory, cluster_id, names)
    for base, following in zip_longest(bases, bases[1:]):
        path = directory / segment_name(base)
        header = _header(fs, path, cluster_id)
        if header is None or (kept and not kept[-1].precedes(header)):
            break
        after = None
        if following is not None:
            after = _header(fs, directory / segment_name(following), cluster_id)
        kept.append(_end_of(fs, path, header, after))
    tail = kept[-1] if kept else EMPTY_TAIL
    has_all_segments = bool(kept) and len(kept) == len(segment_offsets(names))
    if not has_all_segments and (least_end is None or tail.end_offset < least_end):
        raise damage
    _LOG.warning(
        "%s; cut back to offset %d, the rest is fetched from the shared log",
        damage,
        tail.end_offset,
    )
    remove_after(fs, directory, tail, owner)
    return tail


def remove_after(fs: Fs, directory: Path, tail: Tail, owner: Owner) -> None:
    """Remove everything after a tail: later segments, newest first, then the rest of its segment.

    Raises:
        FencedError, UnavailableError: as `cut_back`.
    """
    has_segment = tail.position > 0
    for base in reversed(segment_offsets(fs.list(directory))):
        if has_segment and base <= tail.segment_offset:
            break
        remove_indexes(fs, directory, base)
        if fs.exists(directory / segment_name(base)):
            fs.unlink(directory / segment_name(base))
    fs.sync_directory(directory)
    if has_segment:
        _keep(fs, directory, tail, owner)


def _segments(fs: Fs, directory: Path, cluster_id: str, names: list[str]) -> list[int]:
    """Return the base offsets of the segments; none if the state before the first one is lost."""
    bases = segment_offsets(names)
    try:
        check_base_header(fs, directory, cluster_id, names, bases)
    except CorruptLogError:
        return []
    return bases


def _header(fs: Fs, path: Path, cluster_id: str) -> SegmentHeader | None:
    """Return the header of a segment; None if it is damaged."""
    try:
        header = read_segment_header(fs, path)
        check_identity(path, header, cluster_id)
    except CorruptLogError:
        return None
    return header


def _end_of(fs: Fs, path: Path, header: SegmentHeader, after: SegmentHeader | None) -> Tail:
    """Return the end of the intact blocks of a segment.

    The blocks are read only if the next segment's header does not give this end.
    """
    with SegmentFile.opened(fs, path) as segment:
        size = segment.file.size()
        if after is not None and after.previous_length <= size:
            end = (after.base_offset, after.previous_length, after.previous_crc32c)
            return _tail(header, *end, epoch=header.leader_epoch, latest=after.max_timestamp)
        scan = segment.scan(size)
        epoch, latest = header.leader_epoch, header.max_timestamp
        with contextlib.suppress(CorruptLogError):  # whole up to there
            for block in scan.blocks():
                epoch, latest = block.leader_epoch, max(block.max_timestamp, latest or 0)
    assert scan.next_offset is not None and scan.last_crc32c is not None
    end = (scan.next_offset, scan.position, scan.last_crc32c)
    return _tail(header, *end, epoch=epoch, latest=latest)


def _tail(
    header: SegmentHeader,
    end_offset: int,
    position: int,
    last_crc32c: int,
    *,
    epoch: int,
    latest: int | None,
) -> Tail:
    return Tail(
        end_offset=end_offset,
        leader_epoch=epoch,
        segment_offset=header.base_offset,
        position=position,
        previous_length=header.previous_length,
        last_crc32c=last_crc32c,
        max_timestamp=latest,
    )


def _keep(fs: Fs, directory: Path, tail: Tail, owner: Owner) -> None:
    """Replace the last segment by a synced copy of its intact blocks."""
    path = directory / segment_name(tail.segment_offset)
    shorten_indexes(fs, directory, tail.segment_offset, tail.position)
    file = fs.open(path)
    try:
        publish_file(fs, path, lambda new: copy_start(file, new, tail.position), owner).close()
    finally:
        file.close()
