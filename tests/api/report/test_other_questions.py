"""Every question of the service can be asked from its page."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from api.questions.table import QUESTIONS
from tests.api.conftest import Metalog
from tests.api.report.page_actions import select, texts
from tests.api.report.served import Visitor, viewed
from tests.api.report.test_accessibility import axe, check
from tests.browser import Pages

__all__ = ["axe"]

_CHOSEN = "select[aria-label='which question']"


@pytest.fixture(scope="module")
def kept(demo_log: Path, pages_of_package: Pages) -> Iterator[Page]:
    """The page of the demo with its questions open."""
    with viewed(demo_log) as url, Visitor(pages_of_package).visit(url) as page:
        page.get_by_text("more questions").click()
        page.locator(f"{_CHOSEN} option").first.wait_for(state="attached")
        yield page


def ask(page: Page, question: str, /, **fields: Any) -> None:
    """Ask a question, with fields other than those that the form begins with."""
    page.locator(_CHOSEN).select_option(question)
    for field, value in fields.items():
        field_of = page.locator(f".fields input[name='{field}']")
        field_of.check() if value is True else field_of.fill(str(value))
    page.locator(".other").get_by_role("button", name="ask", exact=True).click()
    expect(page.locator(".found .remark", has_text="asking")).to_have_count(0)


def rows(page: Page, column: int) -> list[str]:
    """Return a column of the answer's table."""
    found: list[str] = page.evaluate(
        "n => [...document.querySelectorAll('.found tbody > tr')].map(r => r.cells[n].innerText)",
        column,
    )
    return found


def test_every_question_is_offered_and_answered_or_refused(kept: Page) -> None:
    page = kept
    offered = page.locator(f"{_CHOSEN} option").evaluate_all("all => all.map(o => o.value)")
    assert texts(page, f"{_CHOSEN} option") == [f"{n}: {QUESTIONS[n].answer}" for n in offered]
    assert set(offered) == QUESTIONS.keys()
    examples = {"object": "broker:1", "filter": "{}", "expression": "size(topics) > 3"}
    for name in offered:
        page.locator(_CHOSEN).select_option(name)
        assert texts(page, ".other > .remark") == [QUESTIONS[name].answer]
        required = page.locator(".fields input[required]")
        named = required.evaluate_all("all => all.map(each => [each.name, each.placeholder])")
        ask(page, name, **{field: examples.get(field, hint) for field, hint in named})
        refused = texts(page, ".found .failed")
        assert not any(text.startswith("the service") for text in refused), (name, refused)


def test_answers_are_those_of_the_commands(
    metalog: Metalog, demo_log: Path, kept: Page, axe: str
) -> None:
    page = kept
    end = page.evaluate("report.data.last")
    select(page, 0, end)
    ask(page, "upgrade-check", to="3.3")
    findings = metalog("upgrade-check", demo_log, "--to", "3.3", "--json").json["findings"]
    assert findings
    # A line for each finding: offset, object, text, remedy.
    assert rows(page, 2) == [each["text"] for each in findings]
    ask(page, "topics list")
    topics = metalog("topics", "list", "--log", demo_log, "--json").json["topics"]
    assert rows(page, 0) == [str(next(iter(each.values()))) for each in topics]
    check(page, axe)
    # A point in the past.
    ask(page, "brokers list", at=0)
    assert "as of offset 0" in texts(page, ".found")[0]
    ask(page, "why", object="broker:77")
    assert "broker:77" in texts(page, ".found .failed")[0]


def test_the_page_is_saved_as_a_file_that_opens_alone(
    metalog: Metalog, demo_log: Path, kept: Page, tmp_path: Path
) -> None:
    page, file = kept, tmp_path / "saved.html"
    ask(page, "report", **{"from": 20, "to": 60})
    with page.expect_download() as download:
        page.get_by_role("button", name="save as report.html").click()
    download.value.save_as(file)
    written = tmp_path / "written.html"
    assert metalog("report", demo_log, written, "--from", 20, "--to", 60).code == 0
    assert len(file.read_text()) == pytest.approx(len(written.read_text()), rel=0.01)
