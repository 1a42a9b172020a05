"""The answers that the page of a log asks for when it is opened, begun before it asks."""

from typing import NamedTuple, Self

from api.http.limits import PAGE_RECORDS
from api.questions.report import REPORT, ShowReport
from api.questions.summary import SUMMARY
from api.questions.workers import Workers
from api.viewer.first_reading import ASKED, is_read_whole
from controller.wire import to_wire
from metadata_log.reader.log_reader import LogReader

COLUMNS = ShowReport(records_max=PAGE_RECORDS)
"""The request for the page's columns."""


class FirstAnswers(NamedTuple):
    """Answers about a log that are being computed.

    Attributes:
        workers: They compute the answers; whoever began them closes them.
        end_offset: The log's end when they were begun.
    """

    workers: Workers
    end_offset: int

    @classmethod
    def begin(cls, place: str) -> Self:
        """Start to compute the columns, and the summary unless loading the log will tell it.

        Args:
            place: A directory, or the URL of an archive or a backup.

        Raises:
            RequestError: there is no log.
            CorruptLogError: the log is damaged.
        """
        with LogReader.open(place) as reader:
            first = cls(Workers(reader.directory, is_live=False), reader.end_offset)
            first.workers.begin(REPORT.name, to_wire(COLUMNS), "end")
            if not is_read_whole(reader):
                first.workers.begin(SUMMARY.name, to_wire(ASKED), "end")
            return first
