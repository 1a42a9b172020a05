"""Error families that a caller can act on. Bugs of our own are assertions.

Every error says what became of the request (`Outcome`). Whether and how to retry follows from
that, never from the class: the class says what is wrong, and on whose side.
"""

from enum import StrEnum
from typing import ClassVar


class Outcome(StrEnum):
    """What became of a failed request; except for DONE, of this attempt alone.

    NOTHING: no record of it is or will be in the log; it can be sent again safely. UNKNOWN: its
    records may be in the log; retry only with the same request id. PARTIAL: its first records are
    in the log for good, the others are not. DONE: an earlier attempt with the same id is in the
    log, and its answer cannot be given; do not send it again.
    """

    NOTHING = "nothing"
    UNKNOWN = "unknown"
    PARTIAL = "partial"
    DONE = "done"


class MetadataLogError(Exception):
    """Root of every error this project raises on purpose.

    Attributes:
        outcome: What became of the request.
        done_to: The offset of the last record that is in the log, inclusive; None unless the
            outcome is PARTIAL or DONE.
    """

    usual_outcome: ClassVar[Outcome] = Outcome.NOTHING
    """Default of `outcome`."""

    def __init__(
        self, message: str = "", *, outcome: Outcome | None = None, done_to: int | None = None
    ) -> None:
        super().__init__(message)
        self.outcome = self.usual_outcome if outcome is None else outcome
        self.done_to = done_to
        assert (done_to is not None) == (self.outcome in (Outcome.PARTIAL, Outcome.DONE))

    def with_outcome(
        self, outcome: Outcome, message: str | None = None, *, done_to: int | None = None
    ) -> "MetadataLogError":
        """Return the same error with another outcome, and another message if one is given."""
        text = str(self) if message is None else message
        return type(self)(text, outcome=outcome, done_to=done_to)


class RequestError(MetadataLogError):
    """The request cannot be carried out.

    Attributes:
        code: Kafka's name of the error, such as INVALID_PARTITIONS.
        retry_ms: When to retry, in ms from now; 0 if waiting does not help.
    """

    def __init__(
        self,
        code: str,
        message: str,
        *,
        retry_ms: int = 0,
        outcome: Outcome | None = None,
        done_to: int | None = None,
    ) -> None:
        super().__init__(message, outcome=outcome, done_to=done_to)
        self.code = code
        self.retry_ms = retry_ms

    def with_outcome(
        self, outcome: Outcome, message: str | None = None, *, done_to: int | None = None
    ) -> "RequestError":
        """Return the same error with another outcome, and another message if one is given."""
        return RequestError(
            self.code,
            str(self) if message is None else message,
            retry_ms=self.retry_ms,
            outcome=outcome,
            done_to=done_to,
        )


class UnknownHistoryError(RequestError):
    """The point is before the kept history: whether the object existed is not known."""

    def __init__(self, message: str) -> None:
        super().__init__("OFFSET_OUT_OF_RANGE", message)


class CorruptLogError(MetadataLogError):
    """Bytes on disk are not what was written. The message names file, byte and offset."""


class UnavailableError(MetadataLogError):
    """Temporary: nothing is wrong with the request or with what is stored; try again later."""


class FencedError(MetadataLogError):
    """Another writer took over the log, or a write failed; this writer must not write again."""

    usual_outcome = Outcome.UNKNOWN
