"""A task that reads only the blocks of a range of offsets, found with the log's index."""

from metadata_log.reader.log_reader import LogReader
from replay.audit.decoding.blocks import Range
from replay.audit.decoding.log_scan import Task
from replay.audit.log_files import LogFiles

_SYNC_SIZE = 16
"""Bytes of a sync marker. A block belongs to the range of a file in which the marker before it
begins."""


def task_between(reader: LogReader, files: LogFiles, first: int, end: int) -> Task:
    """Return the task that reads the blocks with an offset in [first, end) of a log."""
    first = max(first, reader.start_offset)  # earlier records are no longer kept
    if first >= end:
        return Task(())
    begin, _ = next(reader.placed_blocks(first))
    places = [files.place(path) for path in files.in_range(begin.segment_offset, end)]
    ranges = [Range(place, 0, place[1]) for place in places]
    ranges[0] = ranges[0]._replace(first=begin.position - _SYNC_SIZE)
    after, _ = next(reader.placed_blocks(end), (None, None))
    if after is not None and files.in_range(end, end + 1) == files.in_range(end - 1, end):
        # With the block at `end` itself, which may begin before.
        ranges[-1] = ranges[-1]._replace(last=after.position - _SYNC_SIZE + 1)
    return Task(tuple(ranges))
