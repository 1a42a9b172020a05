"""The first reading of a log that is shown: its state, and beside it the summary of its page."""

from collections.abc import Callable
from typing import NamedTuple

from api.questions.pages import Page
from api.questions.parts import opened, stretches
from api.questions.past import Past
from api.questions.summary import ShowSummary, summary_read
from controller.wire import to_wire
from metadata_log.reader.log_reader import LogReader
from replay.image.metadata import MetadataImage
from replay.timeline import Timeline

ASKED = ShowSummary()
"""The question that the page asks first: about the whole log."""

Progress = Callable[[int, int], None]
"""Called with the end offset of each batch that is read, and the end offset of the log."""


class FirstReading(NamedTuple):
    """What was read.

    Attributes:
        image: The state at the end of the log.
        summary: The answer to `ASKED` at that end; None if the log was not read from its start.
    """

    image: MetadataImage
    end_offset: int
    summary: Page | None


def is_read_whole(reader: LogReader) -> bool:
    """True if the state is read from the log's first record, so that the summary costs no reading.

    Otherwise there is a snapshot, a base state or an earlier part of a recording.
    """
    return (
        reader.start_offset == reader.history_start < reader.end_offset
        and _past(reader).before is None
        and not Timeline.of(reader).newest_snapshot_end()
    )


def first_reading(
    reader: LogReader,
    progress: Progress,
    on_snapshot: Callable[[MetadataImage], None] = lambda image: None,
) -> FirstReading:
    """Read the state at the end of a log, and the summary if `is_read_whole`.

    Args:
        on_snapshot: Called with the state of the newest snapshot, if there is one.

    Raises:
        ContradictionError: a record contradicts the state before it.
        CorruptLogError: the log is damaged.
    """
    end = reader.end_offset

    def advance(offset: int) -> None:
        progress(offset, end)

    if not is_read_whole(reader):
        return FirstReading(_from_snapshot(reader, advance, on_snapshot), end, None)
    past = _past(reader)
    parts = stretches(past, ASKED.first, past.offset("end"))
    reading = past.timeline.overview_reader(parts[-1].first, end)
    image = past.timeline.image(progress=advance, on_batch=reading.follow)
    computed = summary_read(parts, reading, ASKED)
    answer = to_wire(computed.answer)
    summary = Page(payload=answer, about=computed.about(), points=dict(past.points))
    return FirstReading(image, end, summary)


def _from_snapshot(
    reader: LogReader,
    advance: Callable[[int], None],
    on_snapshot: Callable[[MetadataImage], None],
) -> MetadataImage:
    timeline = Timeline.of(reader)
    start = timeline.newest_snapshot()
    if start is not None:
        on_snapshot(start)
    return timeline.image(start=start, progress=advance)


def _past(reader: LogReader) -> Past:
    return opened(reader, lambda of, before: Past(of, before=before))
