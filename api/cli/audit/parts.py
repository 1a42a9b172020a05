"""Audits of a recording of several parts: each part answers by itself.

A query adds up durations and compares each record with the next. Across a gap, a query would count
states as lasting, and miss the changes in the gap. So a query is asked once for each part, and the
answers stand one after the other, with a column for the part.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from api.cli.source.image_view import print_bounds
from api.cli.source.opened_log import about, absolute_in

if TYPE_CHECKING:
    from api.documents.audits import Gaps
    from api.documents.logs import Place
    from api.questions.parts import GapFound, Stretch
    from metadata_log.reader.log_reader import LogReader
    from replay.audit.queries.asking import Range
    from replay.audit.queries.query import Parameter, Query


class Audited(Protocol):
    """A log that is open in an engine; an answer is a data frame or an Arrow table."""

    def query(
        self,
        query: "Query",
        offsets: "Range",
        parameters: "Mapping[str, Parameter] | None" = None,
        *,
        show_secrets: bool = False,
    ) -> object:
        """Return the answer to a named query."""

    def sql(self, text: str, offsets: "Range", *, show_secrets: bool = False) -> object:
        """Return the answer to the caller's SQL."""


class PartAnswer(NamedTuple):
    """The answer of one part: a data frame or an Arrow table.

    Attributes:
        part: Name of the part's folder; None if the question was about one part only.
    """

    part: str | None
    rows: Any


class AuditedPart(NamedTuple):
    """A part of a recording that is open in an engine, and the offsets that it is asked for."""

    name: str | None
    audited: Audited
    offsets: "Range"


class AuditedParts:
    """The parts of a recording that an audit's range includes, oldest first; or one log."""

    def __init__(self, parts: Sequence[AuditedPart]) -> None:
        self._parts = parts

    def query(
        self,
        query: "Query",
        parameters: "Mapping[str, Parameter] | None" = None,
        *,
        show_secrets: bool = False,
    ) -> list[PartAnswer]:
        """Return each part's answer to a named query; a query about one state asks the last part.

        Raises:
            MetadataLogError: as for `DuckAudit.query` and `Audit.query`.
        """
        if query.is_of_state:
            _, audited, offsets = self._parts[-1]
            answer = audited.query(query, offsets, parameters, show_secrets=show_secrets)
            return [PartAnswer(None, answer)]
        return [
            PartAnswer(name, audited.query(query, offsets, parameters, show_secrets=show_secrets))
            for name, audited, offsets in self._parts
        ]

    def sql(self, text: str, *, show_secrets: bool = False) -> list[PartAnswer]:
        """Return the answers to the caller's SQL.

        Raises:
            MetadataLogError: as for `DuckAudit.sql` and `Audit.sql`.
        """
        return [
            PartAnswer(name, audited.sql(text, offsets, show_secrets=show_secrets))
            for name, audited, offsets in self._parts
        ]


def stretches_between(reader: "LogReader", since: str, until: str) -> "list[Stretch]":
    """Return the stretches of a range, one for each part of the recording, oldest first.

    Raises:
        UnknownHistoryError: a point is in a gap, or before the kept history.
        RequestError: a point is malformed or past the end; an earlier part is missing.
    """
    from api.questions.parts import located, opened, stretches
    from api.questions.past import Past

    newest = opened(reader, lambda part, before: Past(part, absolute=absolute_in, before=before))
    past, at = located(newest, until)
    return stretches(past, since, at)


def part_names(parts: "Sequence[Stretch]") -> list[str | None]:
    """Return the names of the parts' folders; None for a range in a single part."""
    if len(parts) == 1:
        return [None]
    return [each.past.reader.directory.resolve().name for each in parts]


def gaps_between(parts: "Sequence[Stretch]") -> "tuple[GapFound, ...]":
    """Return the gaps before the stretches, with what was found after each."""
    from api.questions.changes import shown
    from api.questions.parts import FOUND, across

    nothing: tuple[GapFound, ...] = ()
    found = across(parts, lambda of: nothing, lambda change: shown(change, FOUND))
    return tuple(found)


def place_of_parts(parts: "Sequence[Stretch]") -> "Place":
    """Return the position of an answer; without the last gap if all gaps are shown by themselves.

    Raises:
        CorruptLogError: the log is damaged.
    """
    from api.questions.parts import about_across

    place = about(parts[-1].past.reader, parts[-1].at)
    return place if len(parts) == 1 else about_across(place)


def gaps_in_json(parts: "Sequence[Stretch]") -> "tuple[Gaps, ...]":
    """Return the gaps between several parts, as a field of a JSON document."""
    from api.documents.audits import Gaps

    return () if len(parts) == 1 else (Gaps(gaps=gaps_between(parts)),)


def print_range(parts: "Sequence[Stretch]") -> None:
    """Print the unknown or unreliable parts of an answer, with the gaps between the parts."""
    from api.cli.source.gaps import print_gap

    print_bounds(place_of_parts(parts[:1]), parts[0].first)
    if len(parts) > 1:
        for gap in gaps_between(parts):
            print_gap(gap)
        last = place_of_parts(parts)
        # Of what is below its history, the gap was printed.
        print_bounds(last, last.history_start + 1)
