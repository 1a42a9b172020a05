"""A page whose columns grew has the same columns as a page loaded anew.

Checked in a browser, with random histories.
"""

import base64
import random
from collections.abc import Iterator
from functools import partial

import pytest
from playwright.sync_api import Page

from api.questions.redaction import redact_field, redact_label
from metadata_log.format.batch import Batch
from records.brokers import (
    BrokerRegistrationChangeRecord,
    RegisterBrokerRecord,
    UnfenceBrokerRecord,
)
from replay.report.gaps import Range
from replay.report.kept_reports import KeptReports
from replay.report.report import Redaction
from replay.report.size_limit import fitting_report
from replay.timeline import Timeline
from tests.histories import random_history
from tests.replay.builders import FakeLog
from tests.replay.report.unpacked import Unpacked
from tests.samples import cases, sampled

_RETURNS = RegisterBrokerRecord, UnfenceBrokerRecord, BrokerRegistrationChangeRecord

_REDACTION = Redaction(redact_field, redact_label, lambda header: header)

CONTENTS = """data => {
  data.readValues();
  const { events, header } = data, found = { objects: data.objects, rows: data.rows };
  for (const [name, value] of Object.entries(data)) {
    if (ArrayBuffer.isView(value) && !["_old", "_now", "_seen"].includes(name)) {
      found[name] = [...value];
    }
  }
  for (const [name, value] of Object.entries(header)) {
    const isOfEvents = ["names", "event_texts", "event_kinds", "event_origins"].includes(name);
    if (!isOfEvents && !["columns", "format"].includes(name)) found[`header.${name}`] = value;
  }
  found.events = [...events.told(data.first, data.last)];
  found.keys = [...events.key];
  found.notes = [...events.notes(data.last)];
  found.moved = [...data.moved];
  return JSON.stringify(found);
}"""
"""All that a page knows."""

_GROWN = f"""async blocks => {{
  const {{ openData, renewedData }} = await import("report/data.js");
  const {{ bytesOf }} = await import("report/columns.js");
  const contents = {CONTENTS};
  let grown = await openData(bytesOf(blocks[0][0]));
  const wrong = [];
  for (const [i, [fresh, block, isRead, isAnew]] of blocks.entries()) {{
    if (i && isAnew) grown = await openData(bytesOf(block));
    else if (i && await renewedData(grown, bytesOf(block)) !== grown) wrong.push(`${{i}}: anew`);
    if (!isRead) continue;
    const mine = contents(grown), other = contents(await openData(bytesOf(fresh)));
    if (mine === other) continue;
    const [a, b] = [mine, other].map(text => JSON.parse(text));
    for (const name of Object.keys(b)) {{
      const [x, y] = [a, b].map(of => JSON.stringify(of[name]));
      if (x !== y) wrong.push(`${{i}} ${{name}}: ${{x}} for ${{y}}`);
    }}
  }}
  return wrong;
}}"""


def blocks(
    history: list[Batch], ends: list[int], first: int, topics: tuple[str, ...] | None
) -> Iterator[tuple[str, str, bool]]:
    """Yield, for each end, the whole columns, the addition since the end before, and True if that
    is the whole, because a broker came back: the text of its fencing says more since then.
    """
    kept, known = KeptReports(), None
    for end in ends:
        source = FakeLog(history[:end])
        last = source.end_offset - 1
        about = {"confirmed_end": source.end_offset, "about": {}, "asked": [first, last]}
        packed = [
            fitting_report(
                Range(Timeline(source), first, last),
                *(1 << 24, partial(dict, about), _REDACTION, lambda offset: None),
                topics=topics,
                kept=of,
                known=since,
            ).packed
            for of, since in ((None, None), (kept, known))
        ]
        is_anew = known is not None and "after" not in Unpacked(packed[1]).header
        if is_anew:
            rows = [row for each in history[:end] for row in each.rows]
            returns = [row.offset for row in rows if isinstance(row.payload, _RETURNS)]
            assert returns[-1] > (known or 0)
        whole, new = [base64.b64encode(each).decode() for each in packed]
        yield whole, new, is_anew
        known = last


@sampled
@pytest.mark.parametrize("topics", [None, ("orders", "payments")], ids=["whole", "topics"])
def test_what_grew_is_what_is_loaded_anew(page: Page, topics: tuple[str, ...] | None) -> None:
    compared = 0
    for seed in range(cases(80, 10)):
        rng = random.Random(seed)
        history = random_history(rng, 80)
        first = rng.choice(history[:20]).base_offset
        ends = sorted(rng.sample(range(21, len(history) + 1), rng.randint(2, 9)))
        found = [
            (whole, new, rng.random() < 0.5 or end == ends[-1], is_anew)
            for end, (whole, new, is_anew) in zip(
                ends, blocks(history, ends, first, topics), strict=True
            )
        ]
        assert page.evaluate(_GROWN, found) == [], seed
        compared += sum(is_read and not is_anew for *_, is_read, is_anew in found[1:])
    assert compared > cases(80, 10)
