"""What the body of a metadata transaction writes with."""

from asyncio import Future
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from controller.decisions.context import Context
from controller.decisions.raw_append import Appended, AppendRecords, append_records
from controller.parking import Answer
from controller.result import ControllerResult
from records.envelope import Origin

T = TypeVar("T")

_SubmitInside = Callable[[Callable[[Context], ControllerResult[Any]], Origin | None], Any]


class Transaction:
    """Decides inside a transaction, on what was written inside it.

    An answer says that the records are in the log; that they happened is known when the
    transaction has ended.
    """

    def __init__(self, submit: _SubmitInside) -> None:
        self._submit = submit

    def submit(
        self,
        decide: Callable[[Context], ControllerResult[T]],
        *,
        origin: Origin | None = None,
    ) -> "Future[Answer[T]]":
        """As `Controller.submit`."""
        future: Future[Answer[T]] = self._submit(decide, origin)
        return future

    def append(
        self, request: AppendRecords, *, origin: Origin | None = None
    ) -> "Future[Answer[Appended]]":
        """As `Controller.append`."""
        return self.submit(partial(append_records, request=request), origin=origin)
