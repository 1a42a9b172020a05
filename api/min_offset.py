"""The minimum offset that an answer must include, with which a client reads its own writes."""

from records.errors import RequestError


def not_available(min_offset: int, log_end: int) -> RequestError:
    """Return the error for a minimum offset that the log does not contain yet."""
    return RequestError(
        "OFFSET_NOT_AVAILABLE",
        f"the log ends at {log_end}, and does not hold offset {min_offset} yet; ask again, or see "
        "whether the offset is that of another log",
    )
