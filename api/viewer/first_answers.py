"""The answers that the page of a log asks for when it is opened, begun before it asks."""

from typing import NamedTuple, Self

from api.http.limits import PAGE_RECORDS, PAGE_RECORDS_MAX
from api.questions.report import REPORT, ShowReport
from api.questions.summary import SUMMARY
from api.questions.workers import Workers
from api.viewer.first_reading import ASKED, is_read_whole
from api.viewer.options import ShownRange
from controller.wire import to_wire
from metadata_log.reader.log_reader import LogReader

COLUMNS = ShowReport(records_max=PAGE_RECORDS)
"""The request for the page's columns."""


class FirstAnswers(NamedTuple):
    """Answers about a log that are being computed.

    Attributes:
        workers: They compute the answers; whoever began them closes them.
        end_offset: The log's end when they were begun.
        is_read_whole: True if loading the log will tell the summary.
    """

    workers: Workers
    end_offset: int
    is_read_whole: bool

    @classmethod
    def begin(cls, place: str, range_: ShownRange | None = None) -> Self:
        """Start to compute the columns.

        Args:
            place: A directory, or the URL of an archive or a backup.
            range_: The range with which the page opens; None: the newest records.

        Raises:
            RequestError: there is no log.
            CorruptLogError: the log is damaged.
        """
        with LogReader.open(place) as reader:
            workers = Workers(reader.directory, is_live=False)
            request, at = _columns(range_)
            workers.begin(REPORT.name, to_wire(request), at)
            return cls(workers, reader.end_offset, is_read_whole(reader))

    def begin_summary(self) -> None:
        """Start to compute the summary, unless loading the log will tell it.

        Call this once the server listens: on two cores, it would start later beside two processes.
        """
        if not self.is_read_whole:
            self.workers.begin(SUMMARY.name, to_wire(ASKED), "end")


def _columns(range_: ShownRange | None) -> tuple[ShowReport, str]:
    """Return the request for the columns of a range, as the page sends it, and its last point."""
    if range_ is None:
        return COLUMNS, "end"
    request = ShowReport(first=str(range_.first), records_max=PAGE_RECORDS_MAX)
    return request, "end" if range_.last is None else str(range_.last)
