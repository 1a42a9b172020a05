"""A transaction as seen by its body, and its time limit."""

import asyncio
from asyncio import Future
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from controller.decisions.context.context import Context
from controller.raw_appends.raw_append import Appended, AppendRecords, append_records
from controller.results.answer import Answer
from controller.results.result import ControllerResult
from records.envelope import Origin
from records.errors import RequestError

T = TypeVar("T")

_SubmitInside = Callable[[Callable[[Context], ControllerResult[Any]], Origin | None], Any]


class Transaction:
    """Decides inside a transaction, on the state inside it.

    An answer means that the records are in the log. They take effect only when the transaction has
    ended.
    """

    def __init__(self, submit: _SubmitInside) -> None:
        self._submit = submit

    def submit(
        self,
        decide: Callable[[Context], ControllerResult[T]],
        *,
        origin: Origin | None = None,
    ) -> "Future[Answer[T]]":
        """Decide inside the transaction, like `Controller.submit`."""
        future: Future[Answer[T]] = self._submit(decide, origin)
        return future

    def append(
        self, request: AppendRecords, *, origin: Origin | None = None
    ) -> "Future[Answer[Appended]]":
        """Append records inside the transaction, like `Controller.append`."""
        return self.submit(partial(append_records, request=request), origin=origin)


class TimeLimit:
    """Aborts a transaction that is open for too long, because all other requests wait for its end.

    The time is measured by the event loop's clock, which is monotonic.

    Attributes:
        name: The name of the transaction.
        error: The error to raise in the transaction's body after the time has expired.
    """

    def __init__(self, name: str, timeout_ms: int, abort: Callable[[str], None]) -> None:
        """Start the time limit.

        Args:
            abort: Called with the reason when the time expires.
        """
        self.name = name
        self.error: RequestError | None = None
        self._timeout_ms = timeout_ms
        self._abort = abort
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(timeout_ms / 1_000, self._over)

    def cancel(self) -> None:
        """Cancel the time limit: the transaction has ended."""
        self._timer.cancel()

    def _over(self) -> None:
        reason = f"{self.name} was open for more than {self._timeout_ms} ms"
        self.error = RequestError("REQUEST_TIMED_OUT", f"{reason}, and was aborted")
        self._abort(reason)
