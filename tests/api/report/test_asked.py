"""What is asked from the page: its answers are those of `bisect`, `check` and `what-if`."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from replay.expressions.functions import FUNCTIONS, METHODS
from replay.expressions.macros import MACROS
from replay.expressions.vocabulary import COLLECTIONS, FIELDS
from tests.api.conftest import Metalog
from tests.api.report.conftest import picture
from tests.api.report.page_actions import select, texts, wait_until_idle
from tests.api.report.served import Visitor, viewed
from tests.browser import Pages, apart
from tests.real_logs import DataSet, each_covering_data_set
from tests.replay.incidents.real import imported

LIVE = ".state.live"

_COMPLETED = """async texts => {
  const { completionAt } = await import("asked/completion.js");
  const names = { topics: ["orders", "org:apache"], brokers: ["1", "12"] };
  return texts.map(text => {
    const { begin, words } = completionAt(text, text.length, (of, begun) =>
      (names[of] ?? []).filter(name => name.startsWith(begun)));
    return words.map(word => text.slice(0, begin) + word.text);
  });
}"""

_ASKED = "report.ask.page.picture.strips._groups"

_LAST_STATES = """async partings => {
  const { stepsOf } = await import("asked/second_future.js");
  const objects = [...new Set(partings.map(({ object }) => object))];
  return Object.fromEntries(objects.map(object => {
    const own = partings.filter(each => each.object === object);
    return [object, stepsOf(report.data, object, own, offset => offset).at(-1).forked];
  }));
}"""

BITS = {"leaderless": 1, "under_replicated": 2, "fenced": 4, "shutting_down": 8}


@pytest.fixture(scope="module")
def demo_url(demo_log: Path) -> Iterator[str]:
    """The URL of a view of the demo."""
    with viewed(demo_log) as url:
        yield url


@pytest.fixture(scope="module")
def kept(demo_url: str, pages_of_package: Pages) -> Iterator[Page]:
    """The page of a view of the demo, opened once."""
    with Visitor(pages_of_package).visit(demo_url, until=LIVE) as page:
        yield page


@pytest.fixture
def asking(kept: Page) -> Page:
    """The page with nothing asked."""
    kept.evaluate("['ask', 'check', 'without'].forEach(owner => report.ask.close(owner))")
    kept.evaluate("document.activeElement.blur()")
    return kept


def answered(page: Page, label: str) -> None:
    """Wait until an answer is there."""
    page.locator(f".asked [aria-label='{label}'] .command").wait_for()
    wait_until_idle(page)


def listed(page: Page, label: str) -> list[str]:
    """Return the first records that an answer lists."""
    return texts(page, f".asked [aria-label='{label}'] .chain li:not(.more)")


def command_of(page: Page, label: str) -> list[str]:
    """Return the arguments of the command that an answer shows."""
    (line,) = texts(page, f".asked [aria-label='{label}'] .command code")
    program, *arguments = shlex.split(line)
    assert program == "metalog"
    return arguments


def test_names_are_those_of_the_service(page: Page) -> None:
    found = page.evaluate("import('asked/vocabulary.js').then(found => ({ ...found }))")
    parts = ["producer_ids", "zk_migration", "kraft_version"]
    fields = {name: list(FIELDS[each.kind.name]) for name, each in COLLECTIONS.items()}
    assert found["COLLECTIONS"] == {**fields, "cluster": parts}
    assert set(found["MACROS"]) == MACROS
    assert set(found["FUNCTIONS"]) == {"size", "has", *FUNCTIONS}
    assert set(found["METHODS"]) == {"size", *METHODS}


COMPLETIONS = {
    "par": ["partitions"],
    "size(to": ["size(topics", "size(tokens"],
    'topics["o': ['topics["orders"]', 'topics["org:apache"]'],
    "topics[": ['topics["orders"]', 'topics["org:apache"]'],
    "brokers[1": ["brokers[1]", "brokers[12]"],
    "brokers[12].fe": ["brokers[12].features", "brokers[12].fenced"],
    "brokers.ex": ["brokers.exists(", "brokers.exists_one("],
    "brokers.exists(b, b.ra": ["brokers.exists(b, b.rack"],
    "brokers.exists(b, !b.fenced && b": [
        "brokers.exists(b, !b.fenced && brokers",
    ],
    "partitions.filter(n, p, p.is": ["partitions.filter(n, p, p.isr"],
    'topics["orders"].partitions[0': [],
    'x == "part': [],
}


def test_completion_knows_collections_names_and_fields(page: Page) -> None:
    found = page.evaluate(_COMPLETED, list(COMPLETIONS))
    assert dict(zip(COMPLETIONS, found, strict=True)) == COMPLETIONS


def test_a_report_names_the_command(metalog: Metalog, demo_log: Path, page: Page) -> None:
    page.evaluate("report.ask.flips('size(topics) > 20')")
    arguments = command_of(page, "where it is true")
    assert arguments[:2] == ["bisect", str(demo_log)]
    assert metalog(*arguments).code == 0
    page.evaluate("report.ask.whatIf('785')")
    assert metalog(*command_of(page, "what if not")).code == 0
    expect(page.locator(".asked .remark").first).to_contain_text("no log to ask")
    page.evaluate("['ask', 'without'].forEach(owner => report.ask.close(owner))")


def test_an_expression_is_written_with_the_keyboard_and_shown_in_the_chart(
    metalog: Metalog, asking: Page
) -> None:
    page = asking
    page.keyboard.press("e")
    page.keyboard.type("brokers.exists(b, b.fenc")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.keyboard.type(")")
    page.keyboard.press("Enter")
    answered(page, "where it is true")
    arguments = command_of(page, "where it is true")
    assert arguments[2] == "brokers.exists(b, b.fenced)"
    told = metalog(*arguments, "--json").json
    shown = listed(page, "where it is true")
    assert len(shown) == len(told["flips"])
    for line, flip in zip(shown, told["flips"], strict=True):
        assert line.startswith(f"{flip['offset']} ")
        assert f" {str(flip['value']).lower()} {flip['type']}" in line
    (sentence,) = texts(page, ".asked [aria-label='where it is true'] > p")
    first = told["flips"][0]
    assert f"changes {len(shown)} times; it holds first at offset {told['first']}." in sentence
    assert f"offset {first['offset']}, by {first['type']} at {first['cause']}" in sentence
    # The band has the value at each record.
    for offset in (0, first["offset"], told["flips"][1]["offset"], 600, 800, 900):
        values = [told["before"], *[flip["value"] for flip in told["flips"]]]
        value = values[sum(flip["offset"] <= offset for flip in told["flips"])]
        (band,) = page.evaluate(
            f"[...{_ASKED}.get('ask').strips.map(strip =>"
            f" strip.textsAt(report.picture.timeAt({offset}))[0])]"
        )
        assert band.startswith(str(value).lower())
    assert page.evaluate("report.selection.link()").endswith(
        "&ask=brokers.exists(b%2C%20b.fenced)&first=0"
    )
    expect(page.locator(".strip-names .pick")).to_have_text("brokers.exists(b, b.fenced)")
    page.get_by_role("region", name="ask").get_by_role("button", name="close").click()
    expect(page.locator(".strip-names")).to_have_count(0)


def test_a_refused_expression_says_why(asking: Page) -> None:
    page = asking
    page.evaluate("report.ask.flips('topicz.size() > 3')")
    expect(page.locator(".asked .failed")).to_contain_text("topicz")
    expect(page.locator(".strip-names")).to_have_count(0)


def check_future(metalog: Metalog, page: Page, folder: Path) -> dict[str, Any]:
    """Compare the second future with the command's, and with the log that the command saves."""
    arguments = command_of(page, "what if not")
    saved = apart(metalog, *arguments, "--save", folder / "fork", "--json")
    told = saved.json
    objects = {each["object"] for each in told["partings"]}
    (count,) = re.findall(r"(\d+) objects? would", page.inner_text(".asked"))
    assert int(count) == len(objects)
    outages = metalog("outages", folder / "fork", "--json").json["intervals"]
    expected = dict.fromkeys(objects, 0)
    for each in outages:
        if each["to_offset"] is None and each["object"] in objects:
            expected[each["object"]] |= BITS.get(each["kind"], 0)
    found = page.evaluate(_LAST_STATES, told["partings"])
    states = {name: bits for name, bits in found.items() if re.match("partition:|broker:", name)}
    there = {name: bits for name, bits in states.items() if bits != 128}
    assert there == {name: expected[name] for name in there}
    return {"told": told, "there": there}


def test_the_second_future_is_that_of_what_if(
    metalog: Metalog, asking: Page, tmp_path: Path
) -> None:
    page = asking
    select(page, 785, 790)
    page.keyboard.press("d")
    answered(page, "what if not")
    found = check_future(metalog, page, tmp_path)
    assert len(found["there"]) > 100
    assert found["told"]["changed"][0] in page.inner_text(".asked")
    # Of broker 1, which would not have been fenced, both futures are drawn.
    assert texts(page, ".strip-names .pick")[0] == "broker 1"
    lines = page.evaluate(
        f"{_ASKED}.get('without').strips[0].textsAt(report.picture.timeAt(800)).slice(0, 2)"
    )
    assert lines == ["happened: is fenced", "would have been: healthy"]
    picture(page, "asked_what_if")


def test_an_object_can_be_left_out_and_invariants_be_checked(
    metalog: Metalog, asking: Page, tmp_path: Path
) -> None:
    page = asking
    select(page, 700, 790)
    page.locator(".without").fill("broker:1#fenced=true")
    page.keyboard.press("Enter")
    answered(page, "what if not")
    check_future(metalog, page, tmp_path)
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("c")
    answered(page, "check")
    told = metalog(*command_of(page, "check"), "--json").json
    assert len(listed(page, "check")) == len(told["violations"]) == 0
    expect(page.locator(".asked [aria-label=check] h3")).to_contain_text("no violation")


@each_covering_data_set
def test_answers_about_a_real_log_are_those_of_the_command(
    metalog: Metalog, data_set: DataSet, pages: Pages, tmp_path: Path
) -> None:
    log = imported(data_set, tmp_path)
    expression = "partitions.exists(p, size(p.isr) < size(p.replicas))"
    link = f"#from=0&to=0&ask={expression}&check="
    with viewed(log) as url, Visitor(pages).visit(f"{url}/{link}", until=LIVE) as page:
        answered(page, "where it is true")
        told = metalog(*command_of(page, "where it is true"), "--json").json
        assert len(
            texts(page, ".asked [aria-label='where it is true'] .chain li:not(.more)")
        ) == min(12, len(told["flips"]))
        answered(page, "check")
        violations = metalog(*command_of(page, "check"), "--json").json["violations"]
        assert len(listed(page, "check")) == min(12, len(violations))
        fenced = metalog("history", log, "broker:1", "--json").lines
        select(page, fenced[-1]["offset"], fenced[-1]["offset"])
        page.keyboard.press("d")
        answered(page, "what if not")
        check_future(metalog, page, tmp_path)
