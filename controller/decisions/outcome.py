"""Results of single items, for requests with several items."""

import msgspec

from records.errors import RequestError


class Refusal(msgspec.Struct, frozen=True):
    """The reason why an item was refused: Kafka's error name, and a message.

    `retry_ms` has the same meaning as in `RequestError`.
    """

    code: str
    message: str
    retry_ms: int = 0

    @classmethod
    def of(cls, error: RequestError) -> "Refusal":
        """Return the refusal with an error's code and message."""
        return cls(error.code, str(error), error.retry_ms)
