"""`audit shell`: runs several queries with one start of an engine, from a terminal or a pipe."""

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from api.cli.audit.answers import print_queries, print_rows, refusing, rows_across
from api.cli.audit.engine import Engine
from api.cli.audit.parts import AuditedParts
from api.cli.terminal.errors import report
from api.cli.terminal.output import is_conversation, print_json_line, print_line
from api.documents.audits import AuditAsked, AuditRows
from records.errors import MetadataLogError, RequestError
from replay.audit.queries import QUERIES
from replay.audit.queries.asking import named_query

if TYPE_CHECKING:
    from replay.audit.queries.query import Parameter, Query

_PROMPT, _MORE = "audit> ", "   ...> "
_END = ("exit", "quit")


def run_shell(
    audited: AuditedParts,
    engine: Engine,
    limit: int,
    *,
    show_secrets: bool,
    as_json: bool,
) -> None:
    """Answer queries until the input ends.

    A query is a name with its parameters on one line (`out-of-hours zone=Asia/Tokyo`), `list`, or
    SQL up to a semicolon. At a terminal an error is printed and the shell continues; in a pipe an
    error ends it.

    Args:
        as_json: Print each answer as a JSON document on a line of its own.

    Raises:
        MetadataLogError: as for `AuditedParts`; not at a terminal.
    """

    for text in statements(_lines()):
        try:
            if text == "list":
                print_queries()
                continue
            with refusing(engine):
                name, answer = _answer(audited, text, limit, show_secrets=show_secrets)
        except MetadataLogError as error:
            if not is_conversation():
                raise
            report(error)
            continue
        if as_json:
            print_json_line(AuditAsked(query=name), answer)
        else:
            print_rows(answer)


def query_with_parameters(words: Iterable[str]) -> "tuple[Query, dict[str, Parameter]]":
    """Parse a query's name and its parameters, written NAME=VALUE or NAME=@FILE.

    Raises:
        RequestError: INVALID_REQUEST: there is no such query, a word is not a parameter, or a file
            cannot be read.
    """

    name, *settings = words
    query = named_query(name)
    parameters: dict[str, Parameter] = {}
    for setting in settings:
        key, is_setting, value = setting.partition("=")
        if not is_setting:
            raise RequestError("INVALID_REQUEST", f"{setting!r} is not NAME=VALUE")
        value = _content(value)
        is_number = isinstance(query.parameters.get(key), int) and value.isascii()
        parameters[key] = int(value) if is_number and value.isdigit() else value
    return query, parameters


def _content(value: str) -> str:
    """Return the content of the file if the value is `@FILE`, else the value itself.

    Raises:
        RequestError: INVALID_REQUEST: the file cannot be read.
    """
    if not value.startswith("@"):
        return value
    try:
        return Path(value[1:]).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise RequestError("INVALID_REQUEST", f"{value[1:]}: {error}") from error


def statements(lines: Iterable[str]) -> Iterator[str]:
    """Yield each query in the input lines, until a line is `exit`."""

    sql: list[str] = []
    for line in lines:
        text = line.strip()
        if not sql and text in _END:
            return
        if not sql and text.rstrip(";").split()[:1] and _first(text) in (*QUERIES, "list"):
            yield text.rstrip(";")
        elif text:
            sql.append(line.rstrip("\n"))
            if text.endswith(";"):
                yield "\n".join(sql).rstrip().rstrip(";")
                sql = []
    if sql:
        yield "\n".join(sql)


def _first(text: str) -> str:
    return text.rstrip(";").split()[0]


def _lines() -> Iterator[str]:
    if not is_conversation():
        yield from sys.stdin
        return
    import readline  # noqa: F401  Gives `input` a history and editing.

    is_inside = False
    while True:
        try:
            line = input(_MORE if is_inside else _PROMPT)
        except EOFError:
            print_line()
            return
        yield line
        is_inside = bool(line.strip()) and not _is_whole(line, is_inside=is_inside)


def _is_whole(line: str, *, is_inside: bool) -> bool:
    if line.rstrip().endswith(";"):
        return True
    return not is_inside and _first(line) in (*QUERIES, "list")


def _answer(
    audited: AuditedParts, text: str, limit: int, *, show_secrets: bool
) -> "tuple[str, AuditRows]":
    if _first(text) in QUERIES:
        query, parameters = query_with_parameters(text.split())
        answers = audited.query(query, parameters, show_secrets=show_secrets)
        return query.name, rows_across(answers, limit)
    return "sql", rows_across(audited.sql(text, show_secrets=show_secrets), limit)
