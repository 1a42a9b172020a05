"""State machines of partitions and replicas: legal transitions as data, and paths through them.

Source: docs/kafka_rules.md, section 11.
"""

from collections import deque
from collections.abc import Mapping
from itertools import pairwise

import msgspec

from records.errors import RequestError


class StateMachine(msgspec.Struct, frozen=True, kw_only=True):
    """A state machine: its states by code, each with the states from which it may be entered.

    `absent` is the state of an object that does not exist.
    """

    subject: str
    names: Mapping[int, str]
    valid_previous: Mapping[int, frozenset[int]]
    absent: int

    def allows(self, before: int, after: int) -> bool:
        """True if a transition is legal."""
        return before in self.valid_previous.get(after, frozenset())

    def check(self, before: int, after: int) -> None:
        """Refuse illegal transitions.

        Raises:
            RequestError: INVALID_REQUEST.
        """
        if not self.allows(before, after):
            raise RequestError(
                "INVALID_REQUEST",
                f"{self.subject} cannot go from {self.name(before)} to {self.name(after)}",
            )

    def walk(self, *states: int) -> int:
        """Assert that each step from one state to the next is legal, and return the last state.

        Decisions go through every intermediate state, though only the last state is written.
        """
        for before, after in pairwise(states):
            assert self.allows(before, after), f"{self.subject}: {before} to {after}"
        return states[-1]

    def path(self, before: int, after: int) -> tuple[int, ...]:
        """Return the shortest legal path between two states, including both.

        The path includes `absent` only if there is no other one, because an object that was deleted
        and created again is another object. Without any legal path, return the two states: a raw
        append may make a transition that no controller makes.
        """
        if before == after:
            return (before,)
        for forbidden in ({self.absent} - {before, after}, set[int]()):
            found = self._shortest(before, after, forbidden)
            if found is not None:
                return found
        return before, after

    def name(self, state: int) -> str:
        """Return the name of a state."""
        return self.names.get(state, f"state {state}")

    def _shortest(self, before: int, after: int, forbidden: set[int]) -> tuple[int, ...] | None:
        waiting: deque[tuple[int, ...]] = deque([(before,)])
        seen = {before} | forbidden
        while waiting:
            way = waiting.popleft()
            for state in self.names:
                if state in seen or not self.allows(way[-1], state):
                    continue
                if state == after:
                    return (*way, state)
                seen.add(state)
                waiting.append((*way, state))
        return None
