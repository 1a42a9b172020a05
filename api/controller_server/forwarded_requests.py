"""A client's request that a broker forwarded in an envelope, while the controller answers it."""

import contextlib
from collections.abc import Awaitable, Iterator
from contextvars import ContextVar
from typing import Any, TypeVar

from api.kafka.errors import CODES, with_codes
from api.kafka.messages.envelope import NOTHING_COMMITTED
from api.requests.wire_requests import WireAnswer
from controller.results.answer import Answer
from records.errors import Outcome, RequestError

A = TypeVar("A", Answer[Any], WireAnswer)


class AskAgain(Exception):
    """The broker is to send the request again, to the node that leads then."""

    def __init__(self, error_code: int) -> None:
        super().__init__(error_code)
        self.error_code = error_code


class Forwarded:
    """A forwarded request.

    Attributes:
        request_id: Given by the broker; None: the request cannot be sent again.
        committed_offset: Last offset of its change, -1 if it has changed nothing.
    """

    def __init__(self, request_id: str | None) -> None:
        self.request_id = request_id
        self.committed_offset = NOTHING_COMMITTED

    def check(self, error: RequestError) -> None:
        """Raise AskAgain if another node leads and nothing was changed, or if that is not known.

        What became of a request with an id is found out when it is sent again.
        """
        if error.code == "NOT_CONTROLLER" and error.outcome is Outcome.NOTHING:
            raise AskAgain(CODES["NOT_CONTROLLER"]) from error
        if self.request_id is not None and error.outcome is Outcome.UNKNOWN:
            raise AskAgain(CODES["REQUEST_TIMED_OUT"]) from error


_ANSWERING: ContextVar[Forwarded | None] = ContextVar("_ANSWERING", default=None)


@contextlib.contextmanager
def answering(forwarded: Forwarded) -> Iterator[None]:
    """Answer a forwarded request in this context."""
    token = _ANSWERING.set(forwarded)
    try:
        yield
    finally:
        _ANSWERING.reset(token)


def forwarded_id() -> str | None:
    """Return the id of the forwarded request of this context; None without an id or request."""
    forwarded = _ANSWERING.get()
    return None if forwarded is None else forwarded.request_id


async def answered(running: Awaitable[A]) -> A:
    """Await an answer.

    Raises:
        RequestError: it was refused or failed, with a Kafka code.
        AskAgain: as `Forwarded.check`.
    """
    forwarded = _ANSWERING.get()
    try:
        answer = await with_codes(running)
    except RequestError as error:
        if forwarded is not None:
            forwarded.check(error)
        raise
    if forwarded is not None and answer.wrote:
        forwarded.committed_offset = answer.end_offset - 1
    return answer
