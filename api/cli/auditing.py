"""Spark: audit."""

import itertools
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
from api.cli.output import print_json, print_json_list, print_line, print_table, value_text

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from api.documents.audits import AuditRows
    from api.documents.logs import Place
    from metadata_log.log_reader import LogReader

_ROWS_MAX = 1_000


@app.command()
@reads_only
def audit(
    arguments: Annotated[
        list[str],
        typer.Argument(
            metavar="list|NAME...|sql|export [LOG] [SELECT ...]",
            help="What to ask, then the log, else METALOG_LOG.",
            show_default=False,
        ),
    ],
    since: Annotated[str, typer.Option(metavar="POINT", help="First, inclusive.")] = "start",
    until: Annotated[str, typer.Option(metavar="POINT", help="Last, inclusive.")] = "end",
    limit: Annotated[int, typer.Option(min=1, help="Print at most this many rows.")] = _ROWS_MAX,
    to: Annotated[
        str | None, typer.Option(metavar="LOCATION", help="Directory that `export` adds to.")
    ] = None,
    show_secrets: ShowSecrets = False,
    json: Json = False,
) -> None:
    """Ask Spark about a log: `list`, queries by NAME, `sql LOG "SELECT ..."`, `export LOG --to`."""
    from api.cli.reading import open_reader
    from api.documents.audits import Audits, Since

    if (arguments[0] == "export") != (to is not None):
        raise typer.BadParameter("`audit export` needs --to LOCATION, the others take none")
    if arguments == ["list"]:
        _print_queries(as_json=json)
        return
    names, log, query = _parsed(arguments)
    if to is not None:
        from api.cli.audit_export import export

        if (since, until) != ("start", "end"):
            raise typer.BadParameter("`audit export` goes on where it was: no --since, no --until")
        export(log_place(log), to, show_secrets=show_secrets, as_json=json)
        return
    with open_reader(log_place(log)) as reader:
        answers, place, first = _ask(
            reader, names, query, since, until, limit, show_secrets=show_secrets
        )
    if json:
        found = answers.values() if len(answers) == 1 else [Audits(audits=answers)]
        print_json(place, Since(since=first), *found)
        return
    for name, answer in answers.items():
        if len(answers) > 1:
            print_line(f"{name}:")
        print_table(answer.columns, [[value_text(value) for value in row] for row in answer.rows])
        if answer.truncated:
            print_line(f"... only the first {limit:,} rows: --limit")


def _parsed(arguments: list[str]) -> tuple[list[str], str, str | None]:
    """Return the names of the queries, the log, and the text of a query.

    The first argument is a name; those that follow are, as long as there are queries of the name.
    """
    is_sql = arguments[0] == "sql"
    more = [] if is_sql else list(itertools.takewhile(_is_query, arguments[1:]))
    names, rest = [arguments[0], *more], arguments[1 + len(more) :]
    if os.environ.get("METALOG_LOG") and len(rest) == int(is_sql):
        rest.insert(0, os.environ["METALOG_LOG"])
    if not rest:
        raise typer.BadParameter("LOG is missing")
    if len(rest) != 1 + is_sql:
        raise typer.BadParameter("`audit sql` takes a query, the others take none")
    return names, rest[0], rest[1] if is_sql else None


def _is_query(name: str) -> bool:
    from replay.audit.queries import QUERIES

    return name in QUERIES


def _print_queries(*, as_json: bool) -> None:
    from replay.audit.queries import QUERIES

    if as_json:
        from api.documents.audits import AuditListed

        print_json_list(
            [AuditListed(name=q.name, description=q.description) for q in QUERIES.values()]
        )
        return
    rows = [(q.name, q.description) for q in QUERIES.values()]
    rows.append(("sql", "a query of your own over the views log, topics, partitions, brokers, ..."))
    print_table(("name", "tells"), rows)


def _ask(
    reader: "LogReader",
    names: list[str],
    query: str | None,
    since: str,
    until: str,
    limit: int,
    *,
    show_secrets: bool,
) -> "tuple[dict[str, AuditRows], Place, int]":
    """Return the rows by query, the position of the answer, and its first offset."""
    from api.cli.reading import about, first_offset_of, offset_of
    from api.cli.spark import local_time_is_utc, spark_and_files
    from records.errors import RequestError
    from replay.audit.queries import QUERIES, Range, run_sql

    for name in names:
        if query is None and name not in QUERIES:
            raise RequestError(
                "INVALID_REQUEST", f"{name!r} is not an audit; `metalog audit list` lists them"
            )
    offsets = Range(first_offset_of(reader, since), offset_of(reader, until))
    answers = {}
    with spark_and_files(reader) as (spark, files), local_time_is_utc():
        for name in names:
            if query is None:
                with QUERIES[name].run(spark, files, offsets) as frame:
                    answers[name] = _collect(frame, limit)
            else:
                asked = run_sql(spark, files, query, offsets, show_secrets=show_secrets)
                with _refusing(), asked as frame:
                    answers[name] = _collect(frame, limit)
    return answers, about(reader, offsets.last), offsets.first


def _collect(frame: "DataFrame", limit: int) -> "AuditRows":
    from api.documents.audits import AuditRows

    found = frame.limit(limit + 1).collect()
    rows = [[_plain(value) for value in row] for row in found[:limit]]
    return AuditRows(truncated=len(found) > limit, columns=frame.columns, rows=rows)


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
