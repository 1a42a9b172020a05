"""Which files of a log an audit reads: what the commit mark says is committed."""

from metadata_log.log_reader import LogReader
from replay.audit.log_frame import LogFiles


def committed_files(reader: LogReader) -> LogFiles:
    """Return the committed files of a log as it was when the reader was opened.

    A last segment that ends at the mark is read in place, like the ones before it: only one that
    goes on behind the mark needs a copy.

    Raises:
        CorruptLogError: a segment's header is damaged, or its schema is none of ours.
    """
    for path in reader.segment_paths:
        # Spark decodes by whatever schema a header holds.
        reader.header(path)
    *sealed, last = reader.segment_paths
    goes_on = last.stat().st_size != reader.mark.position
    return LogFiles(
        sealed=tuple(sealed) if goes_on else (*sealed, last),
        active=last if goes_on else None,
        active_bytes=reader.mark.position if goes_on else 0,
        base=reader.base.path if reader.base else None,
        base_end_offset=reader.base.end_offset if reader.base else 0,
        history_start=reader.history_start,
        end_offset=reader.end_offset,
    )
