"""Answers of Spark, for the commands `audit` and `audit shell`."""

import datetime
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from api.documents.audits import AuditRows


def rows_of(frame: "DataFrame", limit: int) -> "AuditRows":
    """Run a query and return at most `limit` rows of its answer."""
    from api.documents.audits import AuditRows

    found = frame.limit(limit + 1).collect()
    rows = [[_plain(value) for value in row] for row in found[:limit]]
    return AuditRows(truncated=len(found) > limit, columns=frame.columns, rows=rows)


@contextmanager
def refusing() -> Iterator[None]:
    """Turn Spark's errors about a user's query into refusals."""
    from pyspark import errors

    from records.errors import RequestError

    # For a query that cannot be analysed, PySpark prints the whole plan besides raising.
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)
    try:
        yield
    except (
        errors.AnalysisException,
        errors.ArithmeticException,
        errors.ArrayIndexOutOfBoundsException,
        errors.DateTimeException,
        errors.IllegalArgumentException,
        errors.NumberFormatException,
        errors.ParseException,
        errors.SparkRuntimeException,
    ) as error:
        what = error.getMessage() if hasattr(error, "getMessage") else str(error)
        raise RequestError("INVALID_REQUEST", what.split(";")[0]) from error


def _plain(value: Any) -> Any:
    """Convert a value from Spark to a JSON value."""
    from pyspark.sql import Row

    from records.text import bytes_text

    match value:
        case datetime.datetime():
            return value.replace(tzinfo=datetime.UTC).isoformat().replace("+00:00", "Z")
        case bytes() | bytearray():
            return bytes_text(bytes(value))
        case Row():
            return {name: _plain(item) for name, item in value.asDict().items() if item is not None}
        case list():
            return [_plain(item) for item in value]
        case dict():
            return {str(key): _plain(item) for key, item in value.items()}
    return value
