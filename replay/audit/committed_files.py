"""Which files of a log an audit reads: what the commit mark says is committed."""

from itertools import zip_longest
from pathlib import Path

from metadata_log.log_reader import LogReader
from records.errors import CorruptLogError
from replay.audit.log_frame import LogFiles


def committed_files(reader: LogReader) -> LogFiles:
    """Return the committed files of a log as it was when the reader was opened.

    A segment can hold more than is committed: the last one while it is written, any other when its
    writer was fenced and did not know it yet. Only those need a copy.

    Raises:
        CorruptLogError: a segment is shorter than what is committed, its header is damaged, or
            its schema is none of ours.
    """
    paths = reader.segment_paths
    for path in paths:
        # Spark decodes by whatever schema a header holds.
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
    """Return how much of a segment counts: the next one names it, the mark that of the last."""
    if following is None:
        return reader.mark.position
    return reader.header(following).previous_length
