"""Converts the errors of commands to errors with Kafka's codes."""

from collections.abc import Awaitable
from typing import TypeVar

from api.kafka.errors import code_for, name_of
from records.errors import MetadataLogError, RequestError

T = TypeVar("T")


async def with_codes(answer: Awaitable[T]) -> T:
    """Await an answer; convert errors to RequestError with a Kafka code."""
    try:
        return await answer
    except RequestError:
        raise
    except MetadataLogError as error:
        raise RequestError(
            name_of(code_for(error)), str(error), outcome=error.outcome, done_to=error.done_to
        ) from error
