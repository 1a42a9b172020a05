"""Asks questions about a log directory, at any point and without a lock, or a running service."""

import datetime
import time
from collections.abc import Awaitable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from api.cli.options.parameters import bad_parameter
from api.cli.options.query_options import CONSISTENT, KEEP_GOING, ZONE, zone_of
from api.cli.options.snapshot_database import DATABASE, named_timeline
from api.cli.source.image_view import position_text, print_remark
from api.cli.source.opened_log import absolute_in, note_reading, place_of
from api.cli.terminal.output import print_json_line, print_line
from api.cli.terminal.progress_bar import progress
from records.errors import RequestError, UnavailableError, UnknownHistoryError

if TYPE_CHECKING:
    from api.questions.past import Past
    from api.questions.question import Computed, Question
    from api.requests.wire_requests import AnswerPage
    from replay.about import About

T = TypeVar("T")

# Some ages reach back before all times that can be written.
_FIRST_TIME = "0001-01-01T00:00:00Z"


SERVER_MARK = "server:"
"""Prefix of a service's URL that is given to a command in place of LOG."""


def log_place(text: str) -> str:
    """Parse a path or URL; reject an empty text, such as from an unset shell variable."""
    if not text:
        raise bad_parameter("the path is empty; write . for the working directory")
    return text


def server_url(text: str) -> str:
    """Check the URL of a service, before a command begins."""
    from api.clients.service_url import check_url

    try:
        check_url(text)
    except RequestError as error:
        raise bad_parameter(str(error), param_hint="--server") from error
    return text


def log_path(text: str) -> Path:
    """Parse the path of a log directory; reject a URL."""
    if "://" in log_place(text):
        raise bad_parameter(
            f"this command needs a log directory; `metalog restore {text} LOG` makes one from an "
            "archive or backup"
        )
    return Path(text)


def kafka_path(text: str) -> Path:
    """Parse the path of Kafka's own files; reject a URL."""
    if "://" in log_place(text):
        raise bad_parameter(
            f"Kafka's files can only be read from a directory; copy the files of {text} to one"
        )
    return Path(text)


def quorum_url(text: str) -> str:
    """Parse the URL of a quorum's controllers; reject a path."""
    from api.clients.client import server_addresses

    try:
        server_addresses(text)
    except RequestError as error:
        raise bad_parameter(str(error)) from error
    return text


class Source(NamedTuple):
    """The source of answers: a log directory, an archive's URL, or a running service."""

    log: Path | str | None = None
    server: str | None = None

    @classmethod
    def parse(cls, text: str) -> "Source":
        """Parse a path, an archive's URL, or a service's URL with the prefix `SERVER_MARK`."""
        if text.startswith(SERVER_MARK):
            return cls(server=server_url(text.removeprefix(SERVER_MARK)))
        return cls(log=log_place(text))

    def place(self, verb: str) -> Path | str:
        """Return the log's directory or URL, for a command that needs the log itself.

        Raises:
            typer.BadParameter: a service was named.
        """
        if self.log is None:
            raise bad_parameter(f"{verb} needs a log; name LOG instead of --server")
        return self.log

    def ask(
        self, question: "Question", request: Any, *, at: str = "end", within_s: float | None = None
    ) -> "Computed":
        """Ask a question of `api.questions`.

        Args:
            at: The offset or time that the answer is for. Convert offsets and times inside
                `request` with `point` first.
            within_s: Time limit of a service for each page, in seconds; None means the default.

        Raises:
            RequestError: an object or the point does not exist; or there is no log.
            UnavailableError: the service or the snapshot database does not answer.
            CorruptLogError: the log is damaged.
        """
        if self.server is not None:
            if DATABASE.get() is not None:
                raise bad_parameter("--database needs a log; name LOG instead of --server")
            if KEEP_GOING.get():
                raise bad_parameter(
                    "--keep-going is only for mirrors, and a service's log is not a mirror; name "
                    "LOG instead of --server"
                )
            point = self.point(at, is_first=False)
            return _ask_server(self.server, question, request, point, within_s)
        if CONSISTENT.get():
            raise bad_parameter(
                "--consistent needs --server; leave it out, since a log is always read up to its "
                "end"
            )
        return self._ask_log(question, request, at)

    def point(self, text: str, *, is_first: bool = True) -> str:
        """Return a point in the form to send to the source.

        For a service, whose clock and time zone may differ from ours, the point is made absolute;
        for a log it is unchanged.

        Args:
            is_first: True for the start of a range.
        """
        return text if self.server is None else _absolute(text, is_first=is_first)

    def end(self) -> "About":
        """Return the position of the log's end.

        Raises:
            UnavailableError: no service answers.
            CorruptLogError: the log is damaged.
        """
        from msgspec import UNSET
        from msgspec.structs import replace

        from metadata_log.reader.log_reader import LogReader

        if self.server is not None:
            from api.questions.table import find_question
            from controller.descriptions.features import DescribeFeatures

            # The controller answers this from its state at once.
            about = self.ask(find_question("features describe"), DescribeFeatures()).about()
            return replace(about, as_of_timestamp=UNSET)
        from api.questions.past import Past

        assert self.log is not None, "a log is read"
        with LogReader.open(self.log) as reader:
            return Past(reader).about(reader.end_offset - 1)

    def _ask_log(self, question: "Question", request: Any, at: str) -> "Computed":
        with self.past() as past:
            if past.before is None:
                return question.answered(past, past.offset(at), request)
            from api.questions.parts import located, naming_part

            part, offset = located(past, at)
            try:
                return question.answered(part, offset, request)
            except UnknownHistoryError as error:
                raise naming_part(error, part) from error

    @contextmanager
    def past(self) -> "Iterator[Past]":
        """Open the log, and the parts of its recording before it, for questions.

        Raises:
            RequestError: there is no log.
            CorruptLogError: the log is damaged.
        """
        from api.questions.past import Before, Past
        from metadata_log.format.parts import earlier_parts
        from metadata_log.reader.log_reader import LogReader

        def past_of(reader: LogReader, before: Before | None) -> Past:
            return Past(
                reader,
                absolute=absolute_in,
                progress=progress,
                timeline=named_timeline(reader),
                keep_going=KEEP_GOING.get(),
                before=before,
            )

        assert self.log is not None, "a log is read"
        with LogReader.open(self.log) as reader:
            directory = reader.local_directory
            if directory is None or not earlier_parts(reader.fs, directory):
                yield past_of(reader, None)
                return
            from api.questions.parts import opened

            yield opened(reader, past_of)


def print_end(about: "About", *, json: bool) -> None:
    """Print the last line of a stream under --verbose: its position in the log."""
    from api.documents.logs import End

    if json:
        print_json_line(End(end=place_of(about)))
    else:
        print_line(position_text(about))
        print_remark(about)


def _absolute(point: str, *, is_first: bool) -> str:
    """Return a point in a form that means the same on every clock and in every time zone.

    Raises:
        MalformedPointError: the text is not a point.
    """
    from replay.time_travel.points import absolute_point, age_in, check_point_form

    check_point_form(point)
    now_ms = time.time_ns() // 1_000_000
    read = absolute_point(point, now_ms, zone_of(ZONE.get()), is_first=is_first)
    if read != point:
        note_reading(point, read, is_counted_from_now=True)
    age_ms = 0 if point == "now" else age_in(point)
    if age_ms is None:
        return read
    try:
        then = datetime.datetime.fromtimestamp(0, datetime.UTC) + datetime.timedelta(
            milliseconds=now_ms - age_ms
        )
    except OverflowError:
        return _FIRST_TIME
    return then.isoformat(timespec="milliseconds")


def _ask_server(
    server: str, question: "Question", request: Any, at: str, within_s: float | None
) -> "Computed":
    from api.questions.question import Computed

    pages = _pages(server, question.name, request, at, within_s)
    first = next(pages)
    if question.item is None:
        pages.close()
        return Computed(answer=first.response, about=lambda: _about(server, first))
    last = first

    def items() -> Iterator[Any]:
        nonlocal last
        yield from first.response
        for last in pages:
            yield from last.response

    return Computed(items=items(), about=lambda: _about(server, last))


def _pages(
    server: str, question: str, request: Any, at: str, within_s: float | None
) -> "Generator[AnswerPage, None, None]":
    """Yield the pages of an answer on demand."""
    import asyncio

    from api.clients.service_url import connect

    async def within(answer: Awaitable[T]) -> T:
        try:
            async with asyncio.timeout(within_s):
                return await answer
        except TimeoutError as error:
            raise UnavailableError(f"{server}: no answer in time; try again") from error

    with asyncio.Runner() as runner:
        client = runner.run(within(connect(server)))
        try:
            cursor = b""
            while True:
                asking = client.page(
                    question, request, at=at, cursor=cursor, consistent=CONSISTENT.get()
                )
                page = runner.run(within(asking))
                yield page
                cursor = page.cursor
                if not cursor:
                    return
        finally:
            runner.run(client.close())


def _about(server: str, page: "AnswerPage") -> "About":
    if page.about is None:
        raise RequestError(
            "UNSUPPORTED_VERSION",
            f"{server} runs a release whose answers do not name their offset; upgrade the service",
        )
    return page.about
