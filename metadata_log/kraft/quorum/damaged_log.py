"""The part of a log that is readable after its first bad batch."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

import msgspec

from metadata_log.kraft.file_scan import FileScan
from metadata_log.kraft.log_scan import KraftSegment
from metadata_log.kraft.torn_tail import is_whole_batch, whole_batch_behind
from metadata_log.kraft_format.batch import HEADER_SIZE, BatchHeader, KraftBatch, parse_header
from metadata_log.kraft_format.batch_codec import decode_batch
from records.errors import CorruptLogError

_SECTOR_BYTES = 512
# Batches end in a few zeros of their own.
_ZEROS_MIN = 8


class FoundBatch(msgspec.Struct, frozen=True, kw_only=True):
    """A complete batch at byte `position` of a segment."""

    segment: KraftSegment
    position: int
    header: BatchHeader


class BadPlace(msgspec.Struct, frozen=True, kw_only=True):
    """Where reading stopped: after the last good batch, at byte `position` of a segment."""

    segment: KraftSegment
    position: int
    next_offset: int
    leader_epoch: int


def is_torn(place: BadPlace, segments: Sequence[KraftSegment]) -> int | None:
    """Return the size of a log's unreadable end if one unfinished write explains it, else None.

    After a power loss a file can have its new length but not the new bytes. Kafka truncates such a
    batch.
    """
    if place.segment != segments[-1]:
        return None
    tail = _tail(place)
    if len(tail) < HEADER_SIZE:
        return len(tail)
    header = parse_header(tail)
    is_last = header.size >= len(tail) or not any(tail[header.size :]) or not any(tail)
    behind = whole_batch_behind(tail, place.next_offset, place.leader_epoch)
    is_one_write = is_last and behind is None and not is_whole_batch(tail, 0, header)
    return len(tail) if is_one_write else None


def was_unwritten(place: BadPlace) -> bool:
    """True if the end of the log shows that its last write was never finished.

    A power loss leaves whole sectors of zeros. Without such sectors, the last batch was once
    completely written and was damaged later, so the node may have confirmed it.
    """
    tail = _tail(place)
    first = _SECTOR_BYTES - place.position % _SECTOR_BYTES
    starts = [0, *range(first, len(tail), _SECTOR_BYTES)]
    sectors = (tail[start:end] for start, end in pairwise([*starts, len(tail)]))
    return any(len(sector) >= _ZEROS_MIN and not any(sector) for sector in sectors)


def headers_behind(
    place: BadPlace, segments: Sequence[KraftSegment]
) -> tuple[list[FoundBatch], bool]:
    """Return the last run of consecutive complete batches after a damaged place.

    Returns:
        The batches of the run; and True if the run reaches the end of the log, False if there is
        more damage after it.
    """
    tail = _tail(place)
    start = whole_batch_behind(tail, place.next_offset, place.leader_epoch)
    found: list[FoundBatch] = []
    is_to_end = False
    if start is not None:
        first = parse_header(tail, start).base_offset
        found, is_to_end = _run(place.segment, first, place.position + start)
    for segment in segments:
        if segment.base_offset > place.segment.base_offset:
            more, is_to_end = _run(segment, segment.base_offset, 0)
            found += more
    headers = (each.header for each in found)
    gaps = [i for i, (a, b) in enumerate(pairwise(headers), 1) if a.end_offset != b.base_offset]
    return (found[gaps[-1] :] if gaps else found), is_to_end


def batches_from(first: FoundBatch, segments: Sequence[KraftSegment]) -> Iterator[KraftBatch]:
    """Yield all batches to the end of the log, from one that was found after damage.

    Args:
        first: The first batch to yield.

    Raises:
        CorruptLogError: the content of a batch is not valid records.
    """
    position, next_offset = first.position, first.header.base_offset
    for segment in segments[segments.index(first.segment) :]:
        scan = FileScan(segment.path, next_offset=next_offset, position=position)
        for header, data in scan.batches(may_be_cut=True):
            yield decode_batch(data, header, scan.position)
        position, next_offset = 0, scan.next_offset


def _run(segment: KraftSegment, next_offset: int, position: int) -> tuple[list[FoundBatch], bool]:
    found: list[FoundBatch] = []
    scan = FileScan(segment.path, next_offset=next_offset, position=position)
    try:
        for header, _ in scan.batches(may_be_cut=True):
            found.append(FoundBatch(segment=segment, position=scan.position, header=header))
    except CorruptLogError:
        return found, False
    return found, True


def _tail(place: BadPlace) -> bytes:
    with place.segment.path.open("rb") as file:
        file.seek(place.position)
        return file.read()
