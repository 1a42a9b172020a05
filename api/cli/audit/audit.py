"""The `audit` command, which queries a log with DuckDB or Spark."""

import itertools
import os
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

from api.cli.audit.answers import print_queries, print_rows, refusing, rows_across, write_rows
from api.cli.audit.engine import ENGINES, Engine, check_exports, chosen_engine, opened
from api.cli.audit.parts import (
    PartAnswer,
    gaps_in_json,
    place_of_parts,
    print_range,
    stretches_between,
)
from api.cli.options.parameters import Argument, Option, bad_parameter
from api.cli.parser.quick import command
from api.cli.source.arguments import IncludeUnconfirmed, Json, ShowSecrets
from api.cli.source.image_view import print_remark
from api.cli.source.opened_log import open_reader
from api.cli.source.source import log_place
from api.cli.terminal.errors import reads_only
from api.cli.terminal.output import note, print_json, print_json_list, print_line

if TYPE_CHECKING:
    from api.documents.audits import AuditRows, RowsWritten
    from replay.audit.queries.query import Parameter, Query

_ROWS_MAX = 1_000


@command()
@reads_only
def audit(
    arguments: Annotated[
        list[str],
        Argument(
            metavar="list|NAME...|sql|shell|export [LOG] [SELECT ...]",
            help="Names of queries, or `list`, `sql`, `shell` or `export`; then the log, by "
            "default $METALOG_LOG.",
            show_default=False,
        ),
    ],
    since: Annotated[str, Option(metavar="POINT", help="First point, inclusive.")] = "start",
    until: Annotated[str, Option(metavar="POINT", help="Last point, inclusive.")] = "end",
    parameters: Annotated[
        list[str] | None,
        Option(
            "--set",
            metavar="NAME=VALUE",
            help="A parameter of the query; NAME=@FILE reads the value from a file; repeatable.",
        ),
    ] = None,
    limit: Annotated[int, Option(min=1, help="Print at most this many rows.")] = _ROWS_MAX,
    to: Annotated[
        str | None,
        Option(
            metavar="LOCATION",
            help="Directory for Parquet files; `export` adds files, queries replace the files "
            "there.",
        ),
    ] = None,
    engine: Annotated[
        Engine | None,
        Option(
            help="duckdb or spark; default: duckdb for named queries about a small log, otherwise "
            "spark."
        ),
    ] = None,
    include_unconfirmed: IncludeUnconfirmed = False,
    show_secrets: ShowSecrets = False,
    json: Json = False,
) -> None:
    """Run audit queries by NAME (`list` shows them) or your own SQL; or export the records."""
    from api.documents.audits import AnsweredBy, Audits, RowsWritten, Since
    from api.questions.parts import about_across

    is_export = arguments[0] == "export"
    if is_export and to is None:
        raise bad_parameter("`audit export` needs --to LOCATION")
    if include_unconfirmed and not is_export:
        raise bad_parameter("--include-unconfirmed is for `audit export`; queries read all records")
    if to is not None and arguments[0] in ("list", "shell"):
        raise bad_parameter(f"`audit {arguments[0]}` takes no --to")
    if arguments == ["list"]:
        _print_queries_json() if json else print_queries()
        return
    names, log, query = _parsed(arguments)
    if is_export and to is not None:
        from api.cli.audit.export import export

        check_exports(engine)
        if (since, until) != ("start", "end"):
            raise bad_parameter(
                "`audit export` continues after the last export; it takes no --since or --until"
            )
        export(
            log_place(log),
            to,
            show_secrets=show_secrets,
            include_unconfirmed=include_unconfirmed,
            as_json=json,
        )
        return
    with open_reader(log_place(log)) as reader:
        queries = _queries(names, parameters or [])
        parts = stretches_between(reader, since, until)
        engine = chosen_engine(engine, names, *(each.past.reader for each in parts))
        with opened(parts, engine, keep=len(names) > 1 or names == ["shell"]) as audited:
            if names == ["shell"]:
                from api.cli.audit.shell import run_shell

                if not json:
                    print_range(parts)
                run_shell(audited, engine, limit, show_secrets=show_secrets, as_json=json)
                return
            answers: dict[str, AuditRows | RowsWritten] = {}
            began = time.monotonic()
            with refusing(engine):
                if query is None:
                    for name, (named, chosen) in queries.items():
                        answers[name] = _taken(audited.query(named, chosen), name, limit, to)
                else:
                    asked = audited.sql(query, show_secrets=show_secrets)
                    answers["sql"] = _taken(asked, "sql", limit, to)
            note(f"answered by {engine} in {time.monotonic() - began:.1f} s")
        place = place_of_parts(parts)
        if json:
            bounds = Since(since=parts[0].first), AnsweredBy(engine=engine)
            rows = answers.values() if len(answers) == 1 else [Audits(audits=answers)]
            print_json(place, *gaps_in_json(parts), *bounds, *rows)
            return
        for name, answer in answers.items():
            if len(answers) > 1:
                print_line(f"{name}:")
            if isinstance(answer, RowsWritten):
                print_line(f"{answer.file}: {answer.row_count:,} rows")
            else:
                print_rows(answer)
        print_range(parts)
        print_remark(about_across(place))


def _parsed(arguments: list[str]) -> tuple[list[str], str, str | None]:
    """Split the arguments into the names of queries, the log, and the SQL text of `audit sql`.

    The first argument is taken as a query name, even if there is no such query. Of the other
    arguments, the first that is not the name of a query is the log.
    """
    is_sql = arguments[0] == "sql"
    is_alone = arguments[0] in ("sql", "shell", "export")
    more = [] if is_alone else list(itertools.takewhile(_is_query, arguments[1:]))
    names, rest = [arguments[0], *more], arguments[1 + len(more) :]
    if os.environ.get("METALOG_LOG") and len(rest) == int(is_sql):
        rest.insert(0, os.environ["METALOG_LOG"])
    if not rest:
        raise bad_parameter("LOG is missing")
    if len(rest) != 1 + is_sql:
        raise bad_parameter("give only LOG, or, after `sql`, LOG and SELECT")
    return names, rest[0], rest[1] if is_sql else None


def _is_query(name: str) -> bool:
    from replay.audit.queries import QUERIES

    return name in QUERIES


def _queries(
    names: Sequence[str], parameters: Sequence[str]
) -> "dict[str, tuple[Query, dict[str, Parameter]]]":
    """Return the queries with their parameters, by name; none for `sql` and `shell`.

    Raises:
        RequestError: INVALID_REQUEST.
    """
    from api.cli.audit.shell import query_with_parameters

    if names[0] in ("sql", "shell"):
        if parameters:
            raise bad_parameter(f"`audit {names[0]}` has no parameters; leave out --set")
        return {}
    return {name: query_with_parameters([name, *parameters]) for name in names}


def _taken(
    answers: list[PartAnswer], name: str, limit: int, to: str | None
) -> "AuditRows | RowsWritten":
    """Run a query, and return at most `limit` rows of its answer, or write all rows to `to`."""
    return rows_across(answers, limit) if to is None else write_rows(answers, name, to)


def _print_queries_json() -> None:
    from api.documents.audits import AuditListed
    from replay.audit.queries import QUERIES

    print_json_list(
        [
            AuditListed(
                name=query.name,
                description=query.description,
                engines=ENGINES,
                parameters=query.parameters,
                sql=query.sql,
            )
            for query in QUERIES.values()
        ]
    )
