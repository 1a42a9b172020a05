"""Reads a cluster: from a log directory, at any point and without a lock, or from a service."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from api.cli.admin.options import ReadLogOption, ServerOption
from api.cli.admin.verb_options import verb_with
from api.cli.options.parameters import bad_parameter
from api.cli.source.arguments import At, Json
from api.cli.source.image_view import print_remark
from api.cli.source.opened_log import place_of
from api.cli.source.source import Source
from api.cli.terminal.output import print_json
from records.errors import RequestError, UnavailableError

if TYPE_CHECKING:
    from api.cli.source.source import Source
    from api.documents.logs import Place
    from api.questions.question import Question


@dataclass(frozen=True, kw_only=True)
class Look:
    """Options of a verb that reads: the log or service to read, the point, and the output format.

    Attributes:
        log: The log directory to read; None: a service is queried.
        at: The point to read.
        json: True to print JSON, False to print text.
        server: URL of the service to query; None: the log is read.
    """

    log: Path | None
    at: str
    json: bool
    server: str | None = None

    def show(self, name: str, request: Any, text: Callable[[Any], object]) -> None:
        """Print the answer to a question: its document as JSON, or with `text`.

        Raises:
            As `answer`; the error for an absent object gives the reason for its absence.
        """
        with self.explaining(request):
            answer, about = self.answer(name, request)
        self.print(self.document(name, request, answer), about, text)

    def document(self, name: str, request: Any, answer: Any) -> Any:
        """Return the document of a question's answer, as `api.documents` has it."""
        from api.documents.document import document_of

        document = document_of(_question(name))
        assert document is not None, "only a report has none"
        return document.of(request, answer)

    def print(self, document: Any, about: "Place", text: Callable[[Any], object]) -> None:
        """Print a document as JSON with its position in the log, or with `text`."""
        if self.json:
            print_json(about, document)
        else:
            text(document)

    def answer(
        self, name: str, request: Any, *, within_s: float | None = None
    ) -> "tuple[Any, Place]":
        """Return the answer to a question by its name, and its position in the log.

        With text output, first prints what may be missing from the answer, such as left-out
        records.

        Args:
            within_s: How long a service may take to answer, in seconds; None: the default limit.

        Raises:
            RequestError: an object in the request does not exist; or there is no log, or no such
                point.
            UnavailableError: no service answers.
            CorruptLogError: the log is damaged.
        """
        question = _question(name)
        result = self.source.ask(question, request, at=self.at, within_s=within_s)
        answer = result.answer if question.item is None else [*result.items]
        about = result.about()
        if not self.json:
            print_remark(about)
        return answer, place_of(about)

    @property
    def source(self) -> "Source":
        """The log to read, or the service to query."""
        return Source(log=self.log, server=self.server)

    @contextmanager
    def explaining(self, request: Any) -> Iterator[None]:
        """Run the body; extend an error about an absent object by the reason for its absence."""
        try:
            yield
        except RequestError as error:
            from api.questions.named_objects import asked_object

            object_ = asked_object(request)
            if object_ is None:
                raise
            message = self.explained(error.code, str(error), object_)
            raise RequestError(error.code, message) from error

    def explained(self, code: str, message: str, object_: str) -> str:
        """Return an error's message, extended by the reason why the object is absent.

        If the reason cannot be found out, the message is unchanged.
        """
        from api.questions.named_objects import ABSENT, REASONS

        if code not in ABSENT:
            return message
        from api.questions.blame import BLAME, ShowBlame

        try:
            self.source.ask(BLAME, ShowBlame(object=object_), at=self.at)
        except RequestError as error:
            if error.code in REASONS:
                return f"{message}: {error}"
        except UnavailableError:
            pass  # the first error is an answer without the reason
        return message


def _question(name: str) -> "Question":
    from api.questions.table import find_question

    return find_question(name)


def _look(
    *, log: ReadLogOption = None, server: ServerOption = None, at: At = "end", json: Json = False
) -> Look:
    if (log is None) == (server is None):
        raise bad_parameter("name one of --log LOG and --server URL")
    return Look(log=log, server=server, at=at, json=json)


reading = verb_with(_look, reads=True)
"""Registers a verb that reads a log or a service; its first parameter is a `Look`."""
