"""The texts on a report's page are those of the commands."""

import random
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from records.metadata_versions import LEVEL_NAMES
from tests.api.conftest import Metalog
from tests.api.report.conftest import Opened, picture
from tests.api.report.page_actions import lines, select, show_all, states, texts

_COMMANDS = "section[aria-labelledby=difference] > div:not(.answer) > .command code"


def test_what_came_and_went_is_shown_with_its_life(
    metalog: Metalog, demo_log: Path, page: Page
) -> None:
    passed = metalog("diff", demo_log, 0, 1308, "--json").json["passed"]
    topic = next(each for each in passed if each["object"].startswith("topic:"))
    name, first, last = topic["object"], topic["from_offset"], topic["to_offset"]
    select(page, first, last, name)
    shown = texts(page, ".changes .object")
    assert len(shown) == 1
    assert f"came and went: {first} to {last}" in shown[0]
    assert f"created at {first} " in shown[0]
    assert f"removed at {last} " in shown[0]
    assert f"name={name.removeprefix('topic:')} " in shown[0]
    for verb, offset in (("created", first), ("removed", last)):
        origin = metalog("dump", demo_log, "--from", offset, "--to", offset, "--json").json[
            "origin"
        ]
        assert re.search(rf"{verb} at {offset} \S+ by {origin['principal']}", shown[0])
    page.locator(".changes .link", has_text="its history").click()
    told = lines(metalog("history", demo_log, name).out)
    assert " ".join(texts(page, ".answer li")) == " ".join(told)


def test_the_list_says_what_timeline_says(metalog: Metalog, demo_log: Path, page: Page) -> None:
    page.keyboard.press("a")
    shown = page.evaluate(
        """async () => {
          const { eventParts } = await import("report/words.js");
          const { data } = report;
          return [...data.events.told(data.first, data.last)].map((told) => {
            const { time, offsets, text, by } = eventParts(told);
            return `${time} ${offsets} ${text} ${by}`.trim();
          });
        }"""
    )
    told = lines(metalog("timeline", demo_log).out)
    assert lines("\n".join(shown)) == told
    first = texts(page, ".events > li")[:3]
    for line, text in zip(told, first, strict=False):
        _, offsets, what = line.split(" ", 2)
        assert text.split(" ", 1)[1] == f"{offsets} {what}"
    assert texts(page, "section[aria-labelledby=happened] code") == [
        f"metalog timeline {demo_log} --from 0 --to {page.evaluate('report.data.last')}"
    ]


@pytest.mark.parametrize("range_", [(0, 40), (200, 320), (700, 705), (1000, 1308)], ids=str)
def test_the_difference_is_that_of_diff(
    metalog: Metalog, demo_log: Path, page: Page, range_: tuple[int, int]
) -> None:
    select(page, *range_)
    panel = page.locator("section[aria-labelledby=difference]")
    show_all(page, ".changes")
    before = range_[0] - 1 if range_[0] else "start"
    head, *expected = lines(metalog("diff", demo_log, before, range_[1]).out)
    panel.locator("h2 small", has_text=head).wait_for()
    shown = texts(page, ".changes .name-of, .changes .line")
    assert shown == expected


def _differing(metalog: Metalog, log: Path, before: Any, last: int) -> dict[str, list[Any]]:
    """Return the changes of a diff, by object."""
    found: dict[str, list[Any]] = {}
    for change in metalog("diff", log, before, last, "--json").json["changes"]:
        found.setdefault(change["object"], []).append(change)
    return found


def test_a_topic_is_shown_with_its_configs_and_partitions(
    metalog: Metalog, demo_log: Path, report_file: Path, opened: Opened
) -> None:
    changed = _differing(metalog, demo_log, 600, 1000)
    topic = next(
        config.removeprefix("config:topic/")
        for config in changed
        if config.startswith("config:topic/")
        and f"partition:{config.removeprefix('config:topic/')}/0" in changed
        and f"topic:{config.removeprefix('config:topic/')}" not in changed
    )
    of_partitions = [name for name in changed if name.startswith(f"partition:{topic}/")]
    page = opened(report_file)
    for width in (400, 1600):
        page.set_viewport_size({"width": width, "height": 900})
        select(page, 601, 1000, f"topic:{topic}")
        assert texts(page, ".panel h2")[1].startswith(f"topic:{topic} ")
        commands = [
            f"metalog diff {demo_log} 600 1000 --object {kind}{topic}"
            for kind in ("topic:", "config:topic/")
        ]
        assert texts(page, _COMMANDS) == commands
        expected = [line for c in commands for line in lines(metalog(*c.split(" ")[1:]).out)[1:]]
        assert texts(page, ".changes .name-of, .changes .line") == expected
        count = sum(len(changed[name]) for name in of_partitions)
        summary = page.locator("summary", has_text="its partitions")
        expect(summary).to_have_text(
            re.compile(rf"its partitions: {count} differences in {len(of_partitions)} partition")
        )
        summary.click()
        page.wait_for_selector("details .object")
        assert texts(page, "details .name-of") == of_partitions
        page.locator(".links button", has_text="history").click()
        picture(page, f"report_topic_{width}")
        remark = page.locator(".answer .remark")
        expect(remark).to_have_text(f"config:topic/{topic} has a history of its own.")
        _, command = texts(page, ".answer .command code")
        told = lines(metalog(*command.split(" ")[1:]).out)
        remark.locator("button").click()
        expect(page.locator(".answer h3")).to_contain_text(f"config:topic/{topic}: ")
        assert " ".join(texts(page, ".answer li")) == " ".join(told)
        page.locator("details .name-of").first.click()
        assert page.evaluate("report.selection.object") == of_partitions[0]
        expect(page.locator("details summary", has_text="its partitions")).to_have_count(0)


def test_a_moved_topic_is_shown_with_the_configs_of_both_names(
    metalog: Metalog, demo_log: Path, page: Page
) -> None:
    told = metalog("timeline", demo_log).out
    moves = [int(at) for at in re.findall(r" (\d+)  topic \S+ moved", told)]
    assert moves
    for at in moves:
        changed = _differing(metalog, demo_log, at - 1, at)
        topic = next(name for name in changed if name.startswith("topic:"))
        select(page, at, at, topic)
        assert sum(name.startswith("config:") for name in changed) == len(changed) - 1
        assert len(texts(page, _COMMANDS)) == len(changed)
        expected = lines(metalog("diff", demo_log, at - 1, at).out)[1:]
        assert texts(page, ".changes .name-of, .changes .line") == expected


def test_why_on_a_click_is_that_of_why(metalog: Metalog, demo_log: Path, page: Page) -> None:
    chosen = random.Random(5)
    last: int = page.evaluate("report.data.last")
    asked = 0
    for offset in [last, *chosen.sample(range(100, last), 2)]:
        names: list[str] = list(states(page, offset))
        kinds = ("partition", "broker", "config", "topic", "feature")
        for kind in kinds:
            of_kind = [name for name in names if name.startswith(f"{kind}:")]
            name = chosen.choice(of_kind)
            field = chosen.choice(["leader", "isr"]) if kind == "partition" else None
            select(page, offset, offset)
            page.evaluate("([name, field]) => report.answers.why(name, field)", [name, field])
            answer = metalog("why", demo_log, f"{name}#{field}" if field else name, "--at", offset)
            head, *rest = lines(answer.out)
            links = [line for line in rest if line]
            page.wait_for_selector(".answer:not([hidden])")
            assert texts(page, ".answer h3") == [head]
            show_all(page, ".chain")
            assert " ".join(texts(page, ".answer .remark, .answer li")) == " ".join(links), head
            asked += 1
    assert asked == 15
    select(page, 200, 320)
    page.locator("button.value").first.click()
    assert " is " in texts(page, ".answer h3")[0]
    assert texts(page, ".answer code")[0].startswith(f"metalog why {demo_log} ")


def test_history_is_that_of_history(metalog: Metalog, demo_log: Path, page: Page) -> None:
    select(page, 0, 1308, "broker:2")
    page.keyboard.press("h")
    shown = texts(page, ".answer li")
    told = " ".join(lines(metalog("history", demo_log, "broker:2").out))
    assert " ".join(shown) == told


def test_names_of_levels_are_those_of_the_commands(page: Page) -> None:
    names = page.evaluate("import('report/levels.js').then(({ LEVEL_NAMES }) => LEVEL_NAMES)")
    assert tuple(names) == LEVEL_NAMES
