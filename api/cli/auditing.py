"""Spark: audit."""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from api.cli.app import app
from api.cli.arguments import Json, ShowSecrets
from api.cli.asking import log_place
from api.cli.errors import reads_only
from api.cli.output import print_json, print_line, print_table, value_text

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from metadata_log.log_reader import LogReader

_ROWS_MAX = 1_000


@app.command()
@reads_only
def audit(
    name: Annotated[str, typer.Argument(metavar="list|sql|NAME", help="What to ask.")],
    log: Annotated[
        str | None,
        typer.Argument(metavar="[LOG]", help="Else METALOG_LOG.", show_default=False),
    ] = None,
    query: Annotated[str | None, typer.Argument(metavar="[SELECT ...]", show_default=False)] = None,
    since: Annotated[str, typer.Option(metavar="POINT", help="First, inclusive.")] = "start",
    until: Annotated[str, typer.Option(metavar="POINT", help="Last, inclusive.")] = "end",
    limit: Annotated[int, typer.Option(min=1, help="Print at most this many rows.")] = _ROWS_MAX,
    show_secrets: ShowSecrets = False,
    json: Json = False,
) -> None:
    """Ask Spark about a log: `list`, a query by NAME, or `sql LOG "SELECT ..."`."""
    from api.cli.reading import open_reader

    if name == "list":
        _print_queries(as_json=json)
        return
    if os.environ.get("METALOG_LOG") and (log is None or (name == "sql" and query is None)):
        log, query = os.environ["METALOG_LOG"], log
    if not log:
        raise typer.BadParameter("LOG is missing")
    if (name == "sql") != (query is not None):
        raise typer.BadParameter("`audit sql` takes a query, the others take none")
    with open_reader(log_place(log)) as reader:
        columns, rows, about = _ask(
            reader, name, query, since, until, limit, show_secrets=show_secrets
        )
    if json:
        print_json({**about, "columns": columns, "rows": rows})
        return
    print_table(columns, [[value_text(value) for value in row] for row in rows])
    if about["truncated"]:
        print_line(f"... only the first {limit:,} rows: --limit")


def _print_queries(*, as_json: bool) -> None:
    from replay.audit.queries import QUERIES

    if as_json:
        print_json([{"name": q.name, "description": q.description} for q in QUERIES.values()])
        return
    rows = [(q.name, q.description) for q in QUERIES.values()]
    rows.append(("sql", "a query of your own over the views log, topics, partitions, brokers, ..."))
    print_table(("name", "tells"), rows)


def _ask(
    reader: "LogReader",
    name: str,
    query: str | None,
    since: str,
    until: str,
    limit: int,
    *,
    show_secrets: bool,
) -> tuple[list[str], list[list[Any]], dict[str, Any]]:
    from api.cli.reading import about, first_offset_of, offset_of
    from api.cli.spark import local_time_is_utc, spark_and_files
    from records.errors import RequestError
    from replay.audit.queries import QUERIES, Range, run_sql

    if name != "sql" and name not in QUERIES:
        raise RequestError(
            "INVALID_REQUEST", f"{name!r} is not an audit; `metalog audit list` lists them"
        )
    offsets = Range(first_offset_of(reader, since), offset_of(reader, until))
    with spark_and_files(reader) as (spark, files), local_time_is_utc():
        if query is None:
            with QUERIES[name].run(spark, files, offsets) as frame:
                columns, found = _collect(frame, limit)
        else:
            asked = run_sql(spark, files, query, offsets, show_secrets=show_secrets)
            with _refusing(), asked as frame:
                columns, found = _collect(frame, limit)
    rows = [[_plain(value) for value in row] for row in found[:limit]]
    document = {
        **about(reader, offsets.last),
        "since": offsets.first,
        "truncated": len(found) > limit,
    }
    return columns, rows, document


def _collect(frame: "DataFrame", limit: int) -> tuple[list[str], list[Any]]:
    """Return the columns and the rows, at most one more than may be shown."""
    return frame.columns, frame.limit(limit + 1).collect()


@contextmanager
def _refusing() -> Iterator[None]:
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
    import datetime

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
