"""A report that goes on where it stopped is the one that is made from the beginning."""

import random
from collections.abc import Sequence
from typing import Any

import pytest

from api.redaction import redact_field, redact_label
from metadata_log.batch import Batch
from replay.report.narrowing import KeptReports, fitting_report
from replay.report.report import GrowingReport, Redaction
from replay.timeline import Timeline
from tests.histories import random_history
from tests.replay.builders import FakeLog
from tests.samples import cases, sampled

REDACTION = Redaction(redact_field, redact_label, lambda header: header)


def report(log: Sequence[Batch], first: int, kept: KeptReports | None, **options: Any) -> bytes:
    """Return the packed report of a log from an offset to its end."""
    source = FakeLog(log)
    last, none = source.end_offset - 1, lambda offset: None
    made = fitting_report(
        Timeline(source), first, last, 1 << 24, {}, REDACTION, none, kept=kept, **options
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
