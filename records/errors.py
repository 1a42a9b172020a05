"""Error classes that a caller can act on. Our own bugs raise AssertionError instead.

Every error has an `Outcome`: what happened to the request. Only the outcome decides whether and how
to retry. The class says what is wrong: the request, the stored data, or the service.
"""

from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

if TYPE_CHECKING:
    from records.envelope import Envelope, Origin


class Outcome(StrEnum):
    """What happened to a failed request. All values except DONE concern only the failed attempt.

    - NOTHING: no record of the attempt is or will be in the log; the request can be sent again
      safely.
    - UNKNOWN: records of the attempt may be in the log; retry only with the same request id.
    - PARTIAL: the attempt's first records are in the log permanently, the others are not.
    - DONE: an earlier attempt with the same id is in the log, and its response is not available; do
      not send the request again.
    """

    NOTHING = "nothing"
    UNKNOWN = "unknown"
    PARTIAL = "partial"
    DONE = "done"


class MetadataLogError(Exception):
    """Root of every error this project raises on purpose.

    Attributes:
        outcome: What happened to the request.
        done_to: Offset of the request's last record in the log, inclusive; None unless the outcome
            is PARTIAL or DONE.
    """

    usual_outcome: ClassVar[Outcome] = Outcome.NOTHING
    """Default of `outcome`."""

    retry_ms: int = 0
    """When to retry, in ms from now; 0 if waiting does not help or nobody knows how long."""

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


class CommittedHistoryChangedError(RequestError):
    """A Kafka quorum no longer has records that it had committed; the mirror is then frozen."""

    def __init__(self, message: str) -> None:
        super().__init__("COMMITTED_HISTORY_CHANGED", message)


class UnknownHistoryError(RequestError):
    """The requested point is before the kept history, so it is unknown whether the object existed.

    Attributes:
        history_start: The first offset kept; None if the error does not include it.
    """

    def __init__(self, message: str, *, history_start: int | None = None) -> None:
        super().__init__("OFFSET_OUT_OF_RANGE", message)
        self.history_start = history_start


class CorruptLogError(MetadataLogError):
    """Bytes on disk differ from those written. The message gives file, byte and offset."""


class RecordPlace(NamedTuple):
    """Offset, type, time and origin of a record, to identify the record in an error.

    Attributes:
        time: Append time, ms since 1970.
        origin: Principal, request and reason of the record's batch; None if the log lacks them.
    """

    offset: int
    type: str
    time: int
    origin: "Origin | None"

    @classmethod
    def of(cls, row: "Envelope") -> "RecordPlace":
        """Return the offset, type, time and origin of a row's record."""
        return cls(row.offset, type(row.payload).__name__, row.timestamp, row.origin)


class ContradictionError(MetadataLogError):
    """A record contradicts the state before it, although its bytes are intact.

    No controller can have written the record there. In a log that is not a mirror, a contradiction
    is corruption; an imported log of a real cluster can contain one.

    Attributes:
        text: Description of the contradiction.
        about: The object or field whose state is contradicted, such as `broker:1#broker_epoch`;
            None if the contradiction concerns several.
        record: The contradicting record. None when the error is first raised; replay then sets it.
        earlier: The record that set the contradicted state; None if no record did, or if none was
            looked for.
        image_before: The command that shows the image just before the record; None if the log is
            neither a directory nor a URL.
    """

    def __init__(
        self,
        text: str = "",
        *,
        about: str | None = None,
        record: RecordPlace | None = None,
        earlier: RecordPlace | None = None,
        image_before: str | None = None,
        outcome: Outcome | None = None,
        done_to: int | None = None,
    ) -> None:
        where = "" if record is None else f"offset {record.offset}: {record.type}: "
        since = "" if earlier is None else f"; so since {_named(earlier)}"
        before = "" if image_before is None else f"; the image just before: `{image_before}`"
        super().__init__(f"{where}{text}{since}{before}", outcome=outcome, done_to=done_to)
        self.text = text
        self.about = about
        self.record = record
        self.earlier = earlier
        self.image_before = image_before

    def replaced(self, **known: Any) -> "ContradictionError":
        """Return the same error with the given attributes replaced."""
        names = ("text", "about", "record", "earlier", "image_before", "outcome", "done_to")
        return ContradictionError(**({name: getattr(self, name) for name in names} | known))

    def with_outcome(
        self, outcome: Outcome, message: str | None = None, *, done_to: int | None = None
    ) -> "ContradictionError":
        """Return the same error with another outcome, and another text if one is given."""
        text = self.text if message is None else message
        return self.replaced(text=text, outcome=outcome, done_to=done_to)


def _named(record: RecordPlace) -> str:
    """Return the record as text, such as `offset 7 (RegisterBrokerRecord, by User:ann)`."""
    by = None if record.origin is None else record.origin.principal
    return f"offset {record.offset} ({record.type}{f', by {by}' if by else ''})"


class UnavailableError(MetadataLogError):
    """A temporary failure: request and stored data are fine; try again later."""


class FencedError(MetadataLogError):
    """Another writer took over the log, or a write failed; this writer must not write again."""

    usual_outcome = Outcome.UNKNOWN
