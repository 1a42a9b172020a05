"""What became of one item of a request that holds several."""

import msgspec

from records.errors import RequestError


class Refusal(msgspec.Struct, frozen=True):
    """Why an item was refused: Kafka's name of the error, and a message for people.

    `retry_ms`: as in `RequestError`.
    """

    code: str
    message: str
    retry_ms: int = 0

    @classmethod
    def of(cls, error: RequestError) -> "Refusal":
        """Take code and message from an error."""
        return cls(error.code, str(error), error.retry_ms)
