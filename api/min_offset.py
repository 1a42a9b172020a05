"""An offset that an answer must know of: so a client reads its own writes."""

from records.errors import RequestError


def not_available(min_offset: int, log_end: int) -> RequestError:
    """Return the error of a question about an offset that the log does not hold yet."""
    return RequestError(
        "OFFSET_NOT_AVAILABLE",
        f"the log ends at {log_end}, and does not hold offset {min_offset} yet; ask again, or see "
        "whether the offset is that of another log",
    )
