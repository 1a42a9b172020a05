"""The options of `format("metalog")`; docs/streaming.md describes each."""

import dataclasses
from collections.abc import Collection, Mapping

from records.errors import RequestError, UnknownHistoryError
from replay.audit.earlier_part import KeptHistory, naming_earlier_part
from replay.audit.points import range_between
from replay.audit.queries.asking import Range
from replay.audit.stream_position import readable_end
from replay.audit.view_names import LOG_VIEW, VIEWS

RECORDS = "records"
CHANGES = "changes"

RELATIONS = (VIEWS - {LOG_VIEW}) | {RECORDS}
"""The relations that the source reads: the views of an audit, and the records."""

STREAMED = (RECORDS, CHANGES)
"""The relations that can also be read as a stream."""

OPTIONS = {
    *("log", "path", "relation", "columns", "since", "until", "at", "startingoffset"),
    *("endingoffset", "snapshot", "maxrecordspertrigger", "failondataloss"),
    *("includeunconfirmed", "showsecrets"),
}
"""Names of the options, in lower case; `load(PATH)` sets `path`."""


_INSTEAD = "write CREATE TEMPORARY VIEW records USING metalog OPTIONS (log '...')"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options:
    """The options of a query."""

    log: str
    relation: str
    columns: tuple[str, ...]
    since: str | None
    until: str | None
    starting_offset: str
    ending_offset: str
    snapshot: bool
    records_max: int | None
    fail_on_data_loss: bool
    unconfirmed: bool
    show_secrets: bool

    @classmethod
    def parse(cls, given: Mapping[str, str]) -> "Options":
        """Parse options; Spark makes their names case-insensitive.

        Raises:
            RequestError: INVALID_REQUEST: an option is unknown, has an invalid value, or is missing
                or useless beside the others.
        """
        names = {name.lower() for name in given}
        if any(name.startswith("option.") for name in names):  # so Spark creates a table
            raise invalid(
                "a table of a Python source cannot be read, because Spark keeps no options of it; "
                f"{_INSTEAD}"
            )
        if unknown := names - OPTIONS:
            raise invalid(f"unknown option {min(unknown)}; there are {', '.join(sorted(OPTIONS))}")
        log = given.get("log") or given.get("path")
        if not log:
            raise invalid(
                'the option "log" is missing: a log directory, or s3://bucket/prefix; if this is '
                f"a table of Spark's catalog, {_INSTEAD}"
            )
        relation = given.get("relation") or RECORDS
        if relation not in RELATIONS:
            raise invalid(f"no relation {relation!r}; write {', '.join(sorted(RELATIONS))}")
        _check_together(given, relation)
        records_max = given.get("maxRecordsPerTrigger")
        return cls(
            log=log.removeprefix("file://"),
            relation=relation,
            columns=tuple(each.strip() for each in (given.get("columns") or "").split(",") if each),
            since=given.get("since"),
            until=given.get("at") or given.get("until"),
            starting_offset=given.get("startingOffset") or "earliest",
            ending_offset=given.get("endingOffset") or "latest",
            snapshot=_flag(given, "snapshot", default=False),
            records_max=None
            if records_max is None
            else _positive("maxRecordsPerTrigger", records_max),
            fail_on_data_loss=_flag(given, "failOnDataLoss", default=True),
            unconfirmed=_flag(given, "includeUnconfirmed", default=False),
            show_secrets=_flag(given, "showSecrets", default=False),
        )

    def chosen(self, names: Collection[str]) -> list[str]:
        """Return the columns to read, among those that the relation has.

        Raises:
            RequestError: INVALID_REQUEST: the relation has no such column.
        """
        for name in self.columns:
            if name not in names:
                raise invalid(f"{self.relation} has no column {name!r}; it has {', '.join(names)}")
        return list(self.columns or names)

    def offset(self, reader: KeptHistory, name: str, text: str) -> int:
        """Return the offset that an option's value means: `earliest`, `latest` or a number.

        Args:
            name: The option's name, for error messages.
        """
        start, end = reader.start_offset, readable_end(reader, unconfirmed=self.unconfirmed)
        if text in ("earliest", "latest"):
            return start if text == "earliest" else end
        if not text.isdecimal():
            raise invalid(f"{name} must be earliest, latest or an offset, not {text!r}")
        if int(text) < start:
            raise UnknownHistoryError(f"offset {text} is not kept: history starts at {start}")
        if int(text) > end:
            raise RequestError(
                "OFFSET_OUT_OF_RANGE", f"{name} {text} is past the end: the log ends at {end}"
            )
        return int(text)

    def range_of(self, reader: KeptHistory) -> Range:
        """Return the offsets that a batch query reads, inclusive.

        Raises:
            RequestError: a point or an offset is invalid, or past the end of what may be read.
            UnknownHistoryError: the range begins in an earlier part of a recording; names the
                part.
        """
        end = readable_end(reader, unconfirmed=self.unconfirmed)
        if self.since is None and self.until is None:
            with naming_earlier_part(reader):
                first = self.offset(reader, "startingOffset", self.starting_offset)
                last = self.offset(reader, "endingOffset", self.ending_offset) - 1
            return Range(first, last)
        found = range_between(reader, self.since, self.until)
        if self.until is not None and self.until.isdecimal() and found.last >= end:
            raise RequestError(
                "OFFSET_OUT_OF_RANGE",
                f"offset {found.last} is past the end: the log ends at {end} (exclusive)",
            )
        return Range(found.first, min(found.last, end - 1))


def invalid(message: str) -> RequestError:
    return RequestError("INVALID_REQUEST", message)


_POINTS = ("since", "until", "at")
_OFFSETS = ("startingOffset", "endingOffset")


def _check_together(given: Mapping[str, str], relation: str) -> None:
    """Refuse options that contradict each other, or the relation."""
    if given.get("at") and given.get("until"):
        raise invalid("at and until are the same point: give only one of them")
    points = [name for name in _POINTS if given.get(name)]
    offsets = [name for name in _OFFSETS if given.get(name)]
    if points and offsets:
        raise invalid(f"{points[0]} and {offsets[0]} both bound the range: give only one of them")
    if relation == CHANGES and not _flag(given, "failOnDataLoss", default=True):
        raise invalid(
            "failOnDataLoss=false is for records only: a copy of the changes would be wrong after "
            "a gap; leave the option out, and start the copy anew after a gap"
        )
    if relation != CHANGES and _flag(given, "snapshot", default=False):
        raise invalid("the option snapshot is for a stream of changes only; leave it out")


def _positive(name: str, text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise invalid(f"{name} must be a number of records above 0, not {text!r}")
    return int(text)


def _flag(given: Mapping[str, str], name: str, *, default: bool) -> bool:
    text = given.get(name) or str(default)
    if text.lower() not in ("true", "false"):
        raise invalid(f"{name} must be true or false, not {text!r}")
    return text.lower() == "true"
