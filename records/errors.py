"""The three families of errors that a caller can act on. Our own mistakes are assertions."""


class MetadataLogError(Exception):
    """Root of every error this project raises on purpose."""


class RequestError(MetadataLogError):
    """The caller asked for something that cannot be done.

    Attributes:
        code: Kafka's name of the error, such as INVALID_PARTITIONS.
        retry_ms: When to ask again, in ms from now; 0 where waiting changes nothing.
    """

    def __init__(self, code: str, message: str, *, retry_ms: int = 0) -> None:
        super().__init__(message)
        self.code = code
        self.retry_ms = retry_ms


class UnknownHistoryError(RequestError):
    """The point asked for lies before the kept history: neither present nor absent is known."""

    def __init__(self, message: str) -> None:
        super().__init__("OFFSET_OUT_OF_RANGE", message)


class CorruptLogError(MetadataLogError):
    """Bytes on disk are not what was written. The message names file, byte and offset."""


class UnavailableError(MetadataLogError):
    """Try again later: nothing is wrong with the request or with what is stored."""


class FencedError(UnavailableError):
    """Another writer took the log over; this one must not write again."""
