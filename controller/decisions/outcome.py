"""Results of items, in requests with several."""

import msgspec

from records.errors import RequestError


class Refusal(msgspec.Struct, frozen=True):
    """Why an item was refused: Kafka's error name, and a message.

    `retry_ms`: as in `RequestError`.
    """

    code: str
    message: str
    retry_ms: int = 0

    @classmethod
    def of(cls, error: RequestError) -> "Refusal":
        """Take code and message from an error."""
        return cls(error.code, str(error), error.retry_ms)
