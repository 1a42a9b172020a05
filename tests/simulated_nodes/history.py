"""What clients asked and were told, and whether one order of all of it explains every answer.

The order is known: it is that of the log. So each call needs a place between its beginning and its
answer: a change the place of its batch, a refusal and a question one where the answer was right.

Source: linearizability, Herlihy and Wing, 1990.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from enum import Enum
from itertools import pairwise

import msgspec

from metadata_log.format.batch import Batch
from records.errors import Outcome
from replay.image.metadata import MetadataImage
from replay.loader import Replayer
from tests.simulated_nodes.machine import WINDOW_OFFSETS

REFUSED = "refused"
"""The answer that the namespace is there already, or is not."""


class Kind(Enum):
    """What was asked."""

    CREATE = "create"
    DELETE = "delete"
    LIST = "list"


class Call(msgspec.Struct, kw_only=True):
    """A call, and its answer.

    Attributes:
        number: Of the request; a repeated request has the same.
        first: End of the log as the clients knew it when the call began.
        last: End of the committed log when it was answered.
        told: End offset of the change; the outcome of an error; REFUSED; or the names that are
            there. None: no answer so far.
    """

    number: int
    kind: Kind
    name: str = ""
    first: int
    last: int | None = None
    told: int | Outcome | str | frozenset[str] | None = None

    def __str__(self) -> str:
        told = sorted(self.told) if isinstance(self.told, frozenset) else self.told
        return (
            f"call {self.number}, {self.kind.value} {self.name} between {self.first} and "
            f"{self.last}, was told {told}"
        )


class Truth:
    """What the log has.

    Attributes:
        batches: All batches, in their order.
        ends: 0, and the end of each batch.
        names: The names at each of these ends.
        found: The batches of each call, by its number.
    """

    def __init__(self) -> None:
        self.batches: list[Batch] = []
        self.ends: list[int] = [0]
        self.names: list[frozenset[str]] = [frozenset()]
        self.found: dict[int, list[Batch]] = {}
        self._answered: list[int] = [0]
        self._replayer = Replayer(MetadataImage.EMPTY)

    def add(self, batch: Batch) -> None:
        """Take in the next batch."""
        self._replayer.replay(batch)
        image = self._replayer.image()
        self.batches.append(batch)
        self.ends.append(batch.end_offset)
        self.names.append(frozenset(each.name for each in image.namespaces()))
        self._answered.append(image.provenance.next_offset)
        origin = batch.rows[0].origin
        if origin is not None and (origin.reason or "").startswith("call "):
            self.found.setdefault(int((origin.reason or "")[5:]), []).append(batch)

    def answered_end(self, end_offset: int) -> int:
        """Return up to where a log that ends there is answered from: not an open transaction."""
        return self._answered[bisect_right(self.ends, end_offset) - 1]

    def states(self, first: int, last: int) -> list[frozenset[str]]:
        """Return the names at each end of the log from one to another."""
        low, high = bisect_left(self.ends, first), bisect_right(self.ends, last)
        return self.names[max(min(low, high - 1), 0) : high]


def problems(calls: Iterable[Call], truth: Truth) -> list[str]:
    """Return the calls whose answers no order explains, and what was lost, moved or doubled."""
    requests: dict[int, list[Call]] = {}
    for call in calls:
        requests.setdefault(call.number, []).append(call)
    found = []
    for number, attempts in requests.items():
        made = truth.found.get(number, [])
        found += _wrong_count(attempts, made)
        found += [p for call in attempts if (p := _problem(call, attempts[0].first, made, truth))]
    times = [batch.timestamp for batch in truth.batches]
    found += [f"time went back from {a} to {b}" for a, b in pairwise(times) if b < a][:1]
    return found


def _wrong_count(attempts: list[Call], made: list[Batch]) -> list[str]:
    """Return whether a request was done though nothing was to be, or twice within the window."""
    bases = [batch.base_offset for batch in made]
    if made and all(call.told in (Outcome.NOTHING, REFUSED) for call in attempts):
        return [f"{attempts[-1]}, had outcome nothing, is at {bases}"]
    if any(after - before < WINDOW_OFFSETS for before, after in pairwise(bases)):
        return [f"{attempts[-1]}, is there {len(made)} times, at {bases}"]
    return []


def _problem(call: Call, first: int, made: list[Batch], truth: Truth) -> str | None:
    """Return in what an answer is wrong.

    Args:
        first: End of the committed log when the request was sent the first time.
        made: The batches of the request.
    """
    last = call.last or 0
    if isinstance(call.told, int):
        right = [batch for batch in made if batch.end_offset == call.told]
        if not right or not first < call.told <= last:
            return f"{call}, acknowledged up to {call.told}, is at {[b.end_offset for b in made]}"
    elif call.told == REFUSED:
        if any(last - WINDOW_OFFSETS < b.base_offset < call.first for b in made):
            return f"{call}, though it was done before"
        is_there = call.kind is Kind.CREATE
        if not any((call.name in names) is is_there for names in truth.states(call.first, last)):
            return f"{call}, which was right at no time"
    elif isinstance(call.told, frozenset) and call.told not in truth.states(call.first, last):
        return f"{call}, which was right at no time"
    return None
