"""The error raised for a request that failed."""

from typing import Any


class MetalogError(Exception):
    """A request failed.

    Attributes:
        code: Name of the error, from Kafka or from the service; UNAVAILABLE if no answer came;
            TLS_FAILED if a certificate was refused or the service does not speak TLS.
        outcome: What happened to the request: `nothing`, `unknown`, `partial` or `done`.
        done_to: Offset of the request's last record in the log, if the outcome is partial or done.
        current: The actual version of the object, if it does not have the expected version.
        status: HTTP status of the answer; 0 if no answer came.
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
        """Build the error from a problem document (RFC 9457) that the service sent."""
        return cls(
            problem.get("code", "UNAVAILABLE"),
            problem.get("detail", f"the service answers with status {status}"),
            outcome=problem.get("outcome", "unknown"),
            done_to=problem.get("done_to"),
            current=problem.get("current"),
            status=status,
        )
