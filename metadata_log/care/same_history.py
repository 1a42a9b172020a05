"""Check that a copy contains the beginning of a log, so that the copy can be continued."""

from metadata_log.files.fs import ByteStore
from metadata_log.files.names import segment_name
from metadata_log.reader.committed import CommittedSegment
from metadata_log.reader.log_reader import LogReader
from metadata_log.stores.checked_read import CheckedRead
from records.errors import RequestError


def check_same_history(
    fs: ByteStore, copy: LogReader, segments: list[CommittedSegment], end_offset: int
) -> None:
    """Check that a copy is the beginning of a log, by comparing the bytes at the copy's end.

    Each block contains the CRC of the block before, so equal ends mean equal histories.

    Raises:
        RequestError: the histories differ; the message says where.
    """
    mark = copy.mark
    if mark.end_offset > end_offset:
        raise _other_history(
            copy, f"the copy ends at offset {mark.end_offset}, after the log's end at {end_offset}"
        )
    if mark.end_offset < segments[0].base_offset:
        raise _other_history(
            copy,
            f"the copy ends at offset {mark.end_offset}, but the log was cut since and starts at "
            f"{segments[0].base_offset}",
        )
    following = [segment for segment in segments if segment.base_offset == mark.end_offset]
    if following:
        if following[0].header.previous_crc32c != mark.last_crc32c:
            raise _other_history(copy, f"the record before offset {mark.end_offset} differs")
        return
    same = [segment for segment in segments if segment.base_offset == mark.segment_offset]
    if same:
        path = copy.directory / segment_name(mark.segment_offset)
        size = mark.position
        found = CheckedRead(fs, path, size).checksum()
        if same[0].size < size or found != CheckedRead(same[0].fs, same[0].path, size).checksum():
            raise _other_history(copy, f"{path.name} differs below byte {size}")
        return
    raise _other_history(copy, f"the log has no segment that starts at {mark.end_offset}")


def _other_history(copy: LogReader, why: str) -> RequestError:
    return RequestError(
        "DIVERGED",
        f"{copy.directory} is not an earlier state of this log: {why}; look with "
        "`metalog compare`, and name a new place",
    )
