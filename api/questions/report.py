"""Report: everything that a report's page shows about a range."""

from collections.abc import Iterator, Sequence
from functools import cache

import msgspec
from msgspec.structs import replace

from api.questions.host_mask import HostMask
from api.questions.parts import Stretch, about_across, stretches
from api.questions.past import Past
from api.questions.question import Computed, Question
from api.questions.redaction import redact_field, redact_label
from api.questions.summary import ShowSummary, overview_across, summary_of
from controller.decisions.lookup import full_name
from metadata_log.format.parts import Gap
from metadata_log.limits import MIB
from records.errors import RequestError
from replay.about import About
from replay.incidents.overview import OverviewReader
from replay.report.gaps import PartBefore, Range
from replay.report.report import Redaction, Report
from replay.report.size_limit import fitting_report

PACKED_BYTES_MAX = 22_000_000
"""Maximum size of the packed columns: in base64, with the page's code, a file of 30 MB."""


class ShowReport(msgspec.Struct, frozen=True, kw_only=True):
    """Asks for the report from a point on; `mask_hosts`: replace names of hosts and addresses.

    `size_max`: narrow the range until the packed report has at most this size, in bytes.
    `records_max`: if the range has more records, only this many of the newest are read. `topics`:
    report only these topics, by full name or `@ID`, and their partitions, without events and
    causes, which may reveal other topics. `known`: last offset of an earlier report of the same
    range and topics; only changes after this offset are reported, if they can be determined. Set by
    the service only, because a client cannot know whether the topics were the same.
    """

    first: str = "start"
    mask_hosts: bool = False
    size_max: int = PACKED_BYTES_MAX
    records_max: int | None = None
    topics: tuple[str, ...] | None = None
    known: int | None = None


class ReportPiece(msgspec.Struct, frozen=True, kw_only=True):
    """One piece of the report's packed columns; each piece repeats the totals of the whole report.

    `first` and `last` are the offsets of the range, inclusive. `gaps` are those of a recording in
    the range. `narrowed` is true if the range is
    smaller than requested, because the report would have been too large. `opens` is the range
    that the page shows first, if there was an incident. `after` is the request's `known` if only
    changes after it are reported, else None.
    """

    first: int
    last: int
    records: int
    changes: int
    opens: tuple[int, int] | None
    narrowed: bool
    content: bytes
    after: int | None = None
    gaps: tuple[Gap, ...] = ()


def _names(past: Past, at: int, topics: tuple[str, ...] | None) -> tuple[str, ...] | None:
    """Return topics by full name; each is given by full name or as `@ID`."""
    if topics is None or not any(topic.startswith("@") for topic in topics):
        return topics
    image = past.image(at)
    return tuple([full_name(image, topic) for topic in topics])


def report_shown(past: Past, at: int, request: ShowReport) -> Computed:
    """Return the report up to an offset.

    Raises:
        RequestError: INVALID_REQUEST, the range is empty or ends before it begins, or `records_max`
            is less than 1; UNKNOWN_TOPIC_ID.
    """
    if request.records_max is not None and request.records_max < 1:
        raise RequestError(
            "INVALID_REQUEST", f"records_max must be at least 1, not {request.records_max}"
        )
    parts = stretches(past, request.first, at)
    requested = _begin(parts[0])
    if requested > at and at >= past.reader.start_offset:
        raise RequestError(
            "INVALID_REQUEST",
            f"the range from {request.first} to offset {at} has no records; let the range begin "
            "earlier",
        )
    wanted = _range(parts, at).narrowed(_first(requested, at, request.records_max), at)
    mask = HostMask()
    redaction = (
        Redaction(mask.field, redact_label, mask.mask)
        if request.mask_hosts
        else Redaction(redact_field, redact_label, lambda header: header)
    )
    # Of a range that was narrowed the caller has another begin.
    known = request.known if wanted.first == requested else None
    reading = _summary_reader(parts, request)

    @cache
    def clauses() -> object:
        if reading is None:
            return None
        reading.read()
        asked = ShowSummary(first=request.first)
        found = overview_across(parts, reading, asked.until)
        return msgspec.to_builtins(summary_of(parts, found, asked).clauses)

    about_part = about_across if wanted.before else _same

    @cache
    def place() -> object:
        # To count what is not understood reads the log, but for what the report has read by then.
        return msgspec.to_builtins(about_part(past.about(at) if known is None else past.place(at)))

    about = {
        "cluster_id": past.reader.cluster_id if request.topics is None else "",
        "is_of_topics": request.topics is not None,
        "is_mirror": past.reader.kind.name == "MIRROR",
        "confirmed_end": past.reader.confirmed_end,
        "asked": [requested, at],
    }
    with past.progress("reading", at + 1) as advance:
        found = fitting_report(
            wanted,
            request.size_max,
            lambda: about | {"about": place(), "summary": clauses()},
            redaction,
            advance,
            _names(past, at, request.topics),
            # What masks hosts knows those of one answer.
            None if request.mask_hosts else past.kept_reports,
            known,
            () if reading is None else (reading,),
        )
    return Computed(
        items=_pieces(found, narrowed=(found.first, found.last) != (requested, at)),
        about=lambda: replace(about_part(past.place(found.last)), from_=found.first),
    )


def _begin(oldest: Stretch) -> int:
    """Return a range's first offset, which is that of the gap if the range begins in a gap."""
    return oldest.first if oldest.before is None else oldest.before.gap.from_offset


def _range(parts: Sequence[Stretch], at: int) -> Range:
    before = [
        PartBefore(part.before.past.timeline, part.before.gap)
        for part in parts
        if part.before is not None
    ]
    return Range(parts[-1].past.timeline, _begin(parts[0]), at, before)


def _summary_reader(parts: Sequence[Stretch], request: ShowReport) -> OverviewReader | None:
    """Return the reader of the newest part's summary; None for a report without a summary.

    A page that shows only the newest records asks the service for the summary. A reader of only
    some topics must not see the summary of the whole cluster.
    """
    if request.records_max is not None or request.topics is not None or request.known is not None:
        return None
    newest = parts[-1]
    return newest.past.timeline.overview_reader(newest.first, newest.at + 1)


def _first(requested: int, at: int, records_max: int | None) -> int:
    """Return the first offset of a range that has at most `records_max` records.

    The first offset moves in steps of an eighth of `records_max`, so that ranges of a growing log
    begin at the same offset for a while.
    """
    if records_max is None or at - requested < records_max:
        return requested
    step = max(1, records_max // 8)
    return min(at, -(-(at - records_max + 1) // step) * step)


def _same(about: About) -> About:
    return about


def _pieces(found: Report, *, narrowed: bool) -> Iterator[ReportPiece]:
    for start in range(0, len(found.packed), MIB):
        yield ReportPiece(
            first=found.first,
            last=found.last,
            records=found.rows,
            changes=found.changes,
            opens=found.opens,
            narrowed=narrowed,
            content=found.packed[start : start + MIB],
            after=found.after,
            gaps=found.gaps,
        )


REPORT = Question(name="report", request=ShowReport, item=ReportPiece, tell=report_shown)
