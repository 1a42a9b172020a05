"""A trace of one request: the parts it has in the service, and how long each took."""

import time
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from controller.asked.asked import BoundDecision
from controller.decisions.context.context import Context
from controller.results.result import ControllerResult
from controller.results.turns import Turns

T = TypeVar("T")


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a request; times are ns since 1970.

    Attributes:
        error: The code of the refusal, or the name of the error; None if there was none.
    """

    name: str
    begun_ns: int
    ended_ns: int
    attributes: dict[str, str | int]
    error: str | None = None


class Trace:
    """Collects the parts of a request, as they end.

    Attributes:
        parts: A decision, and the commit of its records.
    """

    def __init__(self) -> None:
        self.parts: list[Part] = []

    def decision(self, decide: BoundDecision[T]) -> BoundDecision[T]:
        """Return the decision, wrapped so that it is recorded as a part when it is made."""

        def traced(context: Context, _: Any) -> Turns[ControllerResult[T]]:
            begun_ns, error = time.time_ns(), None
            try:
                return (yield from decide.turns(context))
            except Exception as failure:
                error = getattr(failure, "code", type(failure).__name__)  # no text of the log
                raise
            finally:
                self._ended("decision", begun_ns, error, command=decide.command)

        return replace(decide, in_turns=traced)

    def committed(self, end_offset: int) -> None:
        """Add the commit: from the end of the decision until now.

        Args:
            end_offset: End of the records, exclusive.
        """
        begun_ns = self.parts[-1].ended_ns if self.parts else time.time_ns()
        self._ended("commit", begun_ns, None, last_offset=end_offset - 1)

    def _ended(self, name: str, begun_ns: int, error: str | None, **attributes: str | int) -> None:
        part = Part(
            name=name,
            begun_ns=begun_ns,
            ended_ns=time.time_ns(),
            attributes={f"metalog.{key}": value for key, value in attributes.items()},
            error=error,
        )
        self.parts.append(part)
