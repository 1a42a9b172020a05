"""A metadata transaction: its beginning, what its body may do, its time limit, and its end."""

import asyncio
from asyncio import Future
from collections.abc import Callable
from functools import partial
from typing import Any, Self, TypeVar

from controller.decider import Decider, Decision
from controller.pipeline.pipeline import Pipeline
from controller.raw_appends.raw_append import Appended, AppendRecords, append_records
from controller.results.answer import Answer
from controller.results.refusals import cannot_be_repeated, lost_transaction
from metadata_log.writer.request_window import has_id
from records.control import AbortTransactionRecord, EndTransactionRecord
from records.envelope import Origin
from records.errors import RequestError

T = TypeVar("T")


class Transaction:
    """An open transaction: decides on the state inside it.

    An answer means that the records are in the log. They take effect only when the transaction has
    ended. All other requests wait for its end, so a transaction that is open for too long is
    aborted; the time is measured by the event loop's clock, which is monotonic.

    As a context manager, ends the transaction after its body, and returns once the end is
    committed; aborts it if the body raises an error.
    """

    def __init__(
        self,
        name: str,
        *,
        pipeline: Pipeline,
        decider: Decider,
        decide: Callable[[Future[Any], Decision[Any], Origin | None, Callable[[Any], None]], None],
        on_end: Callable[[], None],
        origin: Origin | None,
        began_ms: int,
        timeout_ms: int,
    ) -> None:
        """Open a transaction.

        Args:
            decide: Makes a decision whose answer is for a future; calls the function with the
                response once the records are sent.
            on_end: Called when the end or the abort is sent, before it is committed.
        """
        self._name = name
        self._pipeline = pipeline
        self._decider = decider
        self._decide = decide
        self._on_end = on_end
        self._timeout_ms = timeout_ms
        self._timed_out: RequestError | None = None
        # An abort restores them.
        self._sessions = decider.sessions
        pipeline.begin_transaction(name, timestamp=began_ms, origin=origin)
        self._opened = pipeline.transaction
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(timeout_ms / 1_000, self._time_out)

    def submit(self, decide: Decision[T], *, origin: Origin | None = None) -> Future[Answer[T]]:
        """Decide inside the transaction, like `Controller.submit`."""
        future: Future[Answer[T]] = asyncio.get_running_loop().create_future()
        if has_id(origin):
            future.set_exception(cannot_be_repeated())
        elif self._pipeline.transaction is self._opened:
            self._decide(future, decide, origin, lambda _: None)
        else:
            future.set_exception(self._over())
        return future

    def append(
        self, request: AppendRecords, *, origin: Origin | None = None
    ) -> Future[Answer[Appended]]:
        """Append records inside the transaction, like `Controller.append`."""
        return self.submit(partial(append_records, request=request), origin=origin)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, _type: object, error: BaseException | None, _trace: object) -> None:
        self._timer.cancel()
        if error is not None:
            self._abort(f"{type(error).__name__}: {error}")
        elif not self._is_open:
            raise self._over()
        else:
            await self._end()

    @property
    def _is_open(self) -> bool:
        return self._pipeline.is_open and self._pipeline.transaction is self._opened

    async def _end(self) -> None:
        """End the transaction; return once the end, and all before it, is committed."""
        end = self._pipeline.end_transaction(
            EndTransactionRecord(), timestamp=self._decider.now_ms()
        )
        committed: Future[Answer[None]] = asyncio.get_running_loop().create_future()
        self._pipeline.answer_when_committed(committed, None, start_offset=end.base_offset)
        self._on_end()
        await committed

    def _abort(self, reason: str) -> None:
        """Abort the transaction, unless it is already over."""
        if self._is_open:
            abort = AbortTransactionRecord(reason=reason)
            self._pipeline.end_transaction(abort, timestamp=self._decider.now_ms())
            self._decider.sessions = self._sessions
            self._on_end()

    def _time_out(self) -> None:
        reason = f"{self._name} was open for more than {self._timeout_ms} ms"
        self._timed_out = RequestError("REQUEST_TIMED_OUT", f"{reason}, and was aborted")
        self._abort(reason)

    def _over(self) -> RequestError:
        """Return the error for a step, or the end, of a transaction that is over."""
        return self._timed_out or lost_transaction(self._name)


async def opened(begun: Future[Transaction]) -> Transaction:
    """Wait until a transaction is open; abort it if the caller is cancelled at that moment."""
    try:
        return await begun
    except asyncio.CancelledError:
        if not begun.cancelled() and begun.exception() is None:
            async with begun.result():
                raise
        raise
