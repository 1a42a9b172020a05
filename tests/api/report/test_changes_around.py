"""What people changed around an outage: the panel says what `timeline --by-people` says."""

import re
import shlex
from datetime import datetime
from pathlib import Path

from playwright.sync_api import Page

from tests.api.conftest import Metalog
from tests.api.report.page_actions import selected, texts, wait_until_idle
from tests.api.report.test_outages import terms

_OPEN = """([bit, share]) => {
  const { data, outages } = report;
  const touches = [...data.outages.keys()].filter((i) => data.rowOf[i] && data.outages[i] & bit);
  const touch = touches[Math.floor(share * (touches.length - 1))];
  outages.open([data.object[touch]], bit, data.rowOf[touch], null, true);
}"""

_UNFOLD = """() => {
  for (const each of document.querySelectorAll(".outage details")) each.open = true;
}"""

_PREPOSITION = re.compile("^(to|from) ")

_SHOWN = ".outage .changed > li:not(.more)"


def _shown(page: Page) -> list[str]:
    """Return the texts of all changes in the panel."""
    page.evaluate(_UNFOLD)
    wait_until_idle(page)
    while page.locator(".outage .changed .more button").count():
        page.locator(".outage .changed .more button").first.click()
    found: list[str] = page.locator(f"{_SHOWN} > button").all_inner_texts()
    return found


def test_it_lists_what_the_command_lists(metalog: Metalog, demo_log: Path, page: Page) -> None:
    events = metalog("timeline", demo_log, "--by-people", "--json").json["events"]
    counts = []
    for bit, share in ((2, 0.0), (2, 0.06), (2, 0.5), (4, 1.0)):
        page.evaluate(_OPEN, [bit, share])
        found = terms(page)
        (began, begin), (_, end) = (found[name].split(" record ") for name in ("from", "to"))
        start_ms = datetime.fromisoformat(began).timestamp() * 1000 - 600_000
        expected = [
            event
            for event in events
            if event["time"] >= start_ms and event["from_offset"] <= int(end)
        ]
        before = [event for event in expected if event["from_offset"] < int(begin)]
        counts.append((len(before), len(expected)))
        heading = f"{len(before)} change" if before else "nothing"
        assert found["people changed"].startswith(heading)
        assert sorted(_shown(page)) == sorted(event["text"] for event in expected)
        command = shlex.split(texts(page, ".answer > .command code")[-1])
        told = metalog(command[1], demo_log, *command[3:], "--json").json["events"]
        assert told == expected
    assert any(before for before, _ in counts)
    assert any(before < every for before, every in counts)


def test_a_changed_config_has_its_values(metalog: Metalog, demo_log: Path, page: Page) -> None:
    page.evaluate(_OPEN, [2, 0.06])
    _shown(page)
    command = shlex.split(texts(page, ".answer > .command code")[-1])
    options = ("--kind", "config", "--json")
    events = metalog(command[1], demo_log, *command[3:], *options).json["events"]
    values = set()
    for event in events:
        offset = event["from_offset"]
        if event["kind"] != "topics" or event["to_offset"] != offset or len(event["objects"]) > 1:
            continue
        told = metalog("history", demo_log, event["objects"][0], "--from", offset, "--to", offset)
        item = page.locator(_SHOWN, has_text=event["text"])
        found = item.locator("span:not(.by)").all_inner_texts()
        values |= set(found)
        assert any(_PREPOSITION.sub("", value) in told.out for value in found), (found, told.out)
    assert len(values) > 3


def test_a_change_leads_to_its_records(page: Page) -> None:
    page.evaluate(_OPEN, [4, 1.0])
    page.evaluate(_UNFOLD)
    wait_until_idle(page)
    time, text, *_, by = page.locator(f"{_SHOWN} >> nth=0").locator("> *").all_inner_texts()
    page.locator(f"{_SHOWN} > button").first.click()
    first, last, _ = selected(page)
    (event, *_) = texts(page, ".events .event")
    assert event.startswith(time)
    assert text in event
    assert by in event
    assert last >= first
