"""The changes of a connection that are not answered yet, for which questions behind them wait."""

import asyncio
from collections import deque


class Changes:
    """Counts unanswered changes, by the number of questions that came before them.

    Appends are many and questions few, so a change costs two steps in a dictionary, and a question
    one future, however many changes are in flight.
    """

    def __init__(self) -> None:
        """Start without changes."""
        self._questions = 0
        # In the order of the numbers: a number is only added while it is the largest.
        self._unanswered: dict[int, int] = {}
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()

    def begin(self) -> int:
        """Count a change; return what to pass to `end` once it is answered."""
        number = self._questions
        self._unanswered[number] = self._unanswered.get(number, 0) + 1
        return number

    def end(self, number: int) -> None:
        """Count a change as answered; wake the questions that wait for no other."""
        left = self._unanswered[number] - 1
        if left:
            self._unanswered[number] = left
            return
        del self._unanswered[number]
        oldest = next(iter(self._unanswered), self._questions)
        while self._waiting and self._waiting[0][0] <= oldest:
            _, answered = self._waiting.popleft()
            if not answered.done():  # the question was abandoned
                answered.set_result(None)

    def answered(self) -> asyncio.Future[None] | None:
        """Return a future of all changes that began before now; None if none is unanswered."""
        if not self._unanswered:
            return None
        self._questions += 1
        answered = asyncio.get_running_loop().create_future()
        self._waiting.append((self._questions, answered))
        return answered
