"""JSON form of the results of audits."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from api.questions.parts import GapFound


class Since(msgspec.Struct, frozen=True, kw_only=True):
    """The first offset of the audited range."""

    since: int


class Gaps(msgspec.Struct, frozen=True, kw_only=True):
    """The gaps between the parts of a recording that were asked, with what was found after each."""

    gaps: tuple[GapFound, ...]


class AnsweredBy(msgspec.Struct, frozen=True, kw_only=True):
    """The engine that answered: `duckdb` or `spark`."""

    engine: str


class AuditRows(msgspec.Struct, frozen=True, kw_only=True):
    """The rows of one query; `truncated` is true if there are more rows."""

    truncated: bool
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]


class RowsWritten(msgspec.Struct, frozen=True, kw_only=True):
    """All rows of one query, written to a Parquet file."""

    file: str
    row_count: int


class Audits(msgspec.Struct, frozen=True, kw_only=True):
    """The rows of several queries, by name."""

    audits: Mapping[str, AuditRows | RowsWritten]


class AuditAsked(msgspec.Struct, frozen=True, kw_only=True):
    """The query that was answered: its name, or `sql`."""

    query: str


class AuditListed(msgspec.Struct, frozen=True, kw_only=True):
    """An available query: its name, the engines that answer it, the defaults of its parameters, and
    its SQL over the views.
    """

    name: str
    description: str
    engines: Sequence[str]
    parameters: Mapping[str, int | str]
    sql: str


class ChangesExported(msgspec.Struct, frozen=True, kw_only=True):
    """Result of an export: offsets [from, to), and the numbers of files and rows written.

    `unconfirmed_rows`: changes after `to` that the next run replaces.
    """

    from_: int = msgspec.field(name="from")
    to: int
    files: int
    rows: int
    unconfirmed_rows: int
