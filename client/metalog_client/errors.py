"""The error of every request that is not answered as asked."""

from typing import Any


class MetalogError(Exception):
    """Why a request failed.

    Attributes:
        code: Kafka's name of the error, or the service's; UNAVAILABLE without an answer.
        outcome: What became of the request: `nothing`, `unknown`, `partial` or `done`.
        done_to: The last committed offset, of a partial or done outcome.
        current: The version that an object has instead of the expected one.
        status: Of HTTP; 0 without an answer.
    """

    def __init__(
        self,
        code: str,
        message: str,
        *,
        outcome: str = "unknown",
        done_to: int | None = None,
        current: str | None = None,
        status: int = 0,
    ) -> None:
        super().__init__(f"{code}: {message}")
        self.code, self.outcome, self.done_to = code, outcome, done_to
        self.current, self.status = current, status

    @classmethod
    def of(cls, status: int, problem: dict[str, Any]) -> "MetalogError":
        """Return the error that a problem document describes."""
        return cls(
            problem.get("code", "UNAVAILABLE"),
            problem.get("detail", f"the service answers with status {status}"),
            outcome=problem.get("outcome", "unknown"),
            done_to=problem.get("done_to"),
            current=problem.get("current"),
            status=status,
        )
