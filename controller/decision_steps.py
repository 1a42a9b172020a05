"""A decision made in steps: each step is a batch; other decisions may be made between two steps.

A step that leaves something to do (`ControllerResult.is_partial`) is committed like any decision,
but is not answered to the caller. Once the step is committed, the decision is made again, on the
state at that time, and so on. The response of the last step is the caller's answer.

    decide --> step 1 committed --> decide again --> ... --> last step committed --> answer

If a later step fails or is refused, or the controller ends, the committed steps remain, and the
error says so. A repetition of the decision, such as by the next controller's timer, does the rest.
"""

import asyncio
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from msgspec.structs import replace

from controller.results.answer import Answer
from records.errors import MetadataLogError, Outcome

T = TypeVar("T")

STEP_RECORDS = 1_000
"""Maximum number of records of a step. Deciding and sending them takes some 20 ms of processor
time, in several turns of the event loop."""


class DecisionSteps(Generic[T]):
    """The steps of one decision.

    Attributes:
        response: The response of the last committed step; None before it.

    Invariant: at most one step is in flight, so the steps are in the order of the log.
    """

    def __init__(
        self, answer: asyncio.Future[Answer[T]], decide_again: Callable[["DecisionSteps[T]"], None]
    ) -> None:
        """Start before the first step.

        Args:
            answer: The caller's future; if it is cancelled, no further step is made.
            decide_again: Makes the decision again; the answer goes to `rest`, or to `part` if
                something is left to do.
        """
        self._answer = answer
        self._decide_again = decide_again
        # The response of the last committed step, and the offset of its last record.
        self.response: T | None = None
        self._done_to: int | None = None

    def part(self) -> asyncio.Future[Answer[T]]:
        """Return a future for a step that is not the last; its result starts the next step."""
        return _future(self._go_on)

    def rest(self) -> asyncio.Future[Answer[T]]:
        """Return a future for the last step; its result is the answer to the caller."""
        return _future(self._end)

    def _go_on(self, part: asyncio.Future[Answer[T]]) -> None:
        error = part.exception()
        if error is not None:
            self._fail(error)
        elif not self._answer.done():
            committed = part.result()
            self.response, self._done_to = committed.response, committed.end_offset - 1
            self._decide_again(self)

    def _end(self, rest: asyncio.Future[Answer[T]]) -> None:
        error = rest.exception()
        if error is not None:
            self._fail(error)
        elif not self._answer.done():
            self._answer.set_result(replace(rest.result(), wrote=True))

    def _fail(self, error: BaseException) -> None:
        if not self._answer.done():
            self._answer.set_exception(self._with_outcome(error))

    def _with_outcome(self, error: BaseException) -> BaseException:
        if self._done_to is None or not isinstance(error, MetadataLogError):
            return error
        if error.outcome is not Outcome.NOTHING:
            return error  # unknown, which says less
        return error.with_outcome(
            Outcome.PARTIAL,
            f"the records up to offset {self._done_to} are committed, the rest is not: {error}",
            done_to=self._done_to,
        )


def _future(callback: Callable[[asyncio.Future[Any]], None]) -> asyncio.Future[Any]:
    future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    future.add_done_callback(callback)
    return future
