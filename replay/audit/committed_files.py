"""The files of a log that an audit reads: those the commit mark covers."""

from itertools import zip_longest
from pathlib import Path

from metadata_log.log_reader import LogReader
from records.errors import CorruptLogError
from replay.audit.log_frame import LogFiles


def committed_files(reader: LogReader) -> LogFiles:
    """Return the committed files of a log at the time the reader was opened.

    A segment can hold more than is committed: the last one while it is being written, others if a
    fenced writer went on. Only those need a copy.

    Raises:
        CorruptLogError: a segment is shorter than what is committed, its header is damaged, or
            no release writes its schema.
    """
    paths = reader.segment_paths
    for path in paths:
        # Spark decodes with any schema that a header holds.
        reader.header(path)
    ends = {
        path: _committed_bytes(reader, following)
        for path, following in zip_longest(paths, paths[1:])
    }
    sizes = {path: path.stat().st_size for path in paths}
    for path, end in ends.items():
        if sizes[path] < end:
            raise CorruptLogError(
                f"{path} byte {sizes[path]}: ends here, {end} bytes are committed: it was "
                f"shortened; `metalog verify {reader.directory}` says what is intact"
            )
    return LogFiles(
        segments=tuple(paths),
        cut={path: end for path, end in ends.items() if sizes[path] > end},
        base=reader.base.path if reader.base else None,
        base_end_offset=reader.base.end_offset if reader.base else 0,
        history_start=reader.history_start,
        end_offset=reader.end_offset,
    )


def _committed_bytes(reader: LogReader, following: Path | None) -> int:
    """Return how many bytes of a segment are committed, as the next header or the mark says."""
    if following is None:
        return reader.mark.position
    return reader.header(following).previous_length
