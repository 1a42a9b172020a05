"""A report that is continued where it ended equals one made from the beginning."""

import random
from collections.abc import Sequence
from typing import Any

import pytest

from api.questions.redaction import redact_field, redact_label
from metadata_log.format.batch import Batch
from replay.report import kept_reports
from replay.report import report as report_module
from replay.report.columns import Columns, RowPlace
from replay.report.gaps import Range
from replay.report.kept_reports import KeptReports
from replay.report.object_changes import Touched
from replay.report.report import GrowingReport, Redaction
from replay.report.size_limit import fitting_report
from replay.timeline import Timeline
from tests.histories import random_history
from tests.replay.builders import FakeLog
from tests.replay.report.unpacked import Unpacked
from tests.samples import cases, sampled

REDACTION = Redaction(redact_field, redact_label, lambda header: header)


def report(
    log: Sequence[Batch], first: int, kept: KeptReports | None = None, **options: Any
) -> bytes:
    """Return the packed report of a log from an offset to its end."""
    source = FakeLog(log)
    last, none = source.end_offset - 1, lambda offset: None
    made = fitting_report(
        Range(Timeline(source), first, last), 1 << 24, dict, REDACTION, none, kept=kept, **options
    )
    return made.packed


@sampled
@pytest.mark.parametrize(
    "topics",
    [None, ("orders", "zo\N{LATIN SMALL LETTER E WITH DIAERESIS}")],
    ids=["whole", "topics"],
)
def test_it_is_that_of_the_longer_range(topics: tuple[str, ...] | None) -> None:
    for seed in range(cases(60, 8)):
        rng = random.Random(seed)
        history, kept = random_history(rng, 60), KeptReports()
        first = rng.choice(history[:20]).base_offset
        for end in sorted(rng.sample(range(20, len(history) + 1), 4)):
            grown = report(history[:end], first, kept, topics=topics)
            assert grown == report(history[:end], first, None, topics=topics), (seed, end)


def test_nothing_is_begun_anew_but_another_range(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[int] = []
    begin = GrowingReport.__init__

    def counted(self: GrowingReport, timeline: Timeline, first: int, *more: Any) -> None:
        begun.append(first)
        begin(self, timeline, first, *more)

    monkeypatch.setattr(GrowingReport, "__init__", counted)
    history, kept = random_history(random.Random(1), 60), KeptReports()
    one, two = history[3].base_offset, history[5].base_offset
    for end, first in ((20, one), (30, one), (30, one), (25, one), (40, two), (60, two)):
        report(history[:end], first, kept)
    # One that ends earlier, and one that begins elsewhere.
    assert begun == [one, one, two]


def test_several_ranges_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    history, kept = random_history(random.Random(2), 60), KeptReports()
    firsts = [history[at].base_offset for at in (3, 5, 7)]
    made = [report(history[:40], first, kept) for first in firsts]
    monkeypatch.setattr(GrowingReport, "__init__", None)
    for first, before in zip(firsts, made, strict=True):
        assert report(history[:40], first, kept) == before


def test_the_last_report_is_kept_however_large(monkeypatch: pytest.MonkeyPatch) -> None:
    history, kept = random_history(random.Random(2), 60), KeptReports()
    one, two = history[3].base_offset, history[5].base_offset
    monkeypatch.setattr(kept_reports, "KEPT_TOUCHES_MAX", 1)
    for first in (one, two):
        report(history[:40], first, kept)
    end = history[39].end_offset
    assert kept.take((one, None, 0), one, end) is None
    assert kept.take((two, None, 0), two, end) is not None


def after(packed: bytes) -> int | None:
    found: int | None = Unpacked(packed).header.get("after")
    return found


def test_what_is_new_is_known_from_many_ends() -> None:
    history, kept = random_history(random.Random(3), 60), KeptReports()
    first, ends = history[3].base_offset, [20, 30, 40, 60]
    known = [history[end - 1].end_offset - 1 for end in ends]
    for end in ends:
        report(history[:end], first, kept)
    for last in known:
        assert after(report(history, first, kept, known=last)) == last
    # A process that never saw this end reads up to it first.
    assert after(report(history, first, known=known[1])) == known[1]
    between = history[25].base_offset
    assert after(report(history, first, kept, known=between)) is None
    # A part of a batch is no end.
    whole = next(batch for batch in history[4:] if batch.end_offset - batch.base_offset > 1)
    assert after(report(history, first, known=whole.base_offset)) is None


def test_an_end_that_was_forgotten_gets_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report_module, "MARKS_MAX", 2)
    history, kept = random_history(random.Random(4), 60), KeptReports()
    first, known = history[3].base_offset, history[19].end_offset - 1
    report(history[:20], first, kept)
    assert after(report(history[:25], first, kept, known=known)) == known
    assert after(report(history[:30], first, kept, known=known)) is None
    whole = report(history[:30], first, kept, known=known)
    assert whole == report(history[:30], first)


def test_a_field_that_stops_to_be_a_counter_gets_everything() -> None:
    columns = Columns(lambda kind, field, value: value)
    place = RowPlace(1, 1, 1, "", None)
    columns.add(place, [Touched("topic", bytes(16), "a", None, {"partitions": 3}, ())])
    before = columns.mark
    columns.add(place, [Touched("topic", bytes(16), "a", {"partitions": 3}, {"partitions": 4}, ())])
    assert columns.can_go_on(before)
    middle = columns.mark
    columns.add(place, [Touched("topic", bytes(16), "a", {"partitions": 4}, {"name": "a"}, ())])
    assert not columns.can_go_on(middle)
    assert columns.can_go_on(columns.mark)
