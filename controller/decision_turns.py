"""A decision made in several turns of the event loop, so that other work runs between them.

Nothing is sent before the last turn. Until then the latest state stays as the decision read it, and
other decisions wait, except those that write nothing.

    decide --> ... --> encode --> ... --> apply and append (last turn) --> what waited
"""

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec

from controller.results.turns import Turns
from controller.turns_for_others import call_after_others

_END = object()


class _Decision(msgspec.Struct, frozen=True):
    """A decision, and the future of its answer."""

    future: asyncio.Future[Any]
    turns: Turns[None]


class DecisionTurns:
    """The decision that needs another turn of the event loop, if there is one."""

    def __init__(
        self,
        attempt: Callable[[asyncio.Future[Any], Callable[[], None]], None],
        on_end: Callable[[], None],
    ) -> None:
        """Start without a decision.

        Args:
            attempt: Calls the function, which takes a turn, unless nobody waits for the future any
                more or nothing may be decided; sets its errors on the future.
            on_end: Called after the last turn of a decision that took more than one.
        """
        self._attempt = attempt
        self._on_end = on_end
        self._decision: _Decision | None = None

    @property
    def is_in_progress(self) -> bool:
        """True if a decision needs another turn."""
        return self._decision is not None

    def begin(self, future: asyncio.Future[Any], turns: Turns[None]) -> None:
        """Take the first turn of a decision now, and the others in later turns of the loop."""
        assert self._decision is None, "decisions are made one after the other"
        self._take(_Decision(future, turns))

    def refuse(self, refusal: Exception) -> None:
        """Refuse the decision in progress, because the state that it read is lost."""
        decision, self._decision = self._decision, None
        if decision is not None and not decision.future.done():
            decision.future.set_exception(refusal)

    def _take(self, decision: _Decision) -> None:
        needs_more = False

        def go_on() -> None:
            nonlocal needs_more
            needs_more = next(decision.turns, _END) is not _END

        self._attempt(decision.future, go_on)
        if needs_more:
            self._decision = decision
            call_after_others(self._take_next)

    def _take_next(self) -> None:
        decision, self._decision = self._decision, None
        if decision is not None:
            self._take(decision)
            self._on_end()
