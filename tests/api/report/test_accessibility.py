"""axe-core finds nothing serious on the page of a report, a service, and a list of logs."""

import os
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page

from tests.api.report.conftest import Opened, picture
from tests.api.report.page_actions import wait_until_idle
from tests.api.report.served import Visitor, viewed
from tests.browser import Pages
from tests.docs_console import ROOT

_AXE = ROOT / "requirements" / "node_modules" / "axe-core" / "axe.min.js"

_FOUND = """async () => {
  const { violations } = await axe.run(document, { resultTypes: ["violations"] });
  return violations.map(({ id, impact, nodes }) =>
    [impact, id, nodes.map(({ html, any }) => `${html.slice(0, 120)}: ${any[0]?.message ?? ""}`)]);
}"""

_VIEWS = [(width, scheme) for width in (400, 1000, 1600) for scheme in ("light", "dark")]


@pytest.fixture(scope="module")
def axe() -> str:
    """The source of axe-core; skips the test if it is not installed, except in CI."""
    if not _AXE.exists():
        assert "METALOG_REQUIRE_CLIENTS" not in os.environ, "axe-core is not installed"
        pytest.skip("axe-core is not installed: make requirements/node_modules/.package-lock.json")
    return _AXE.read_text()


def check(page: Page, axe: str) -> None:
    """Check that axe finds nothing at all that is serious or critical."""
    wait_until_idle(page)
    page.evaluate(axe)
    found: list[Any] = page.evaluate(_FOUND)
    assert [each for each in found if each[0] in ("serious", "critical")] == []


def open_everything(page: Page) -> Iterator[str]:
    """Open what a page has, one after the other; yields a name of each view."""
    page.locator(".outage").wait_for()
    yield "outage"
    page.locator(".events .event").first.click()
    page.locator(".events .groups summary").first.click()
    page.locator(".names .open").first.click()
    yield "opened"
    page.keyboard.press("w")
    page.locator(".filter .brokers").click()
    yield "why"
    page.evaluate("report.selection.set({ object: 'topic:orders', from: 0, to: Infinity })")
    page.keyboard.press("h")
    yield "topic"
    page.keyboard.press("/")
    page.keyboard.type("ord")
    yield "search"
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    yield "help"


def ask_everything(page: Page) -> None:
    """Open every answer in the chart, and the completion of an expression."""
    page.evaluate("report.keys.help.close()")
    page.evaluate("report.ask.flips('brokers.exists(b, b.fenced)')")
    page.evaluate("report.ask.check()")
    page.evaluate("report.ask.whatIf('21')")
    for label in ("where it is true", "check", "what if not"):
        page.locator(f".asked [aria-label='{label}'] .command").wait_for()
    page.keyboard.press("e")
    page.keyboard.type(" && par")
    page.keyboard.press("ArrowDown")


@pytest.mark.parametrize(("width", "scheme"), _VIEWS, ids=str)
def test_nothing_serious_on_a_report(
    stormy_report: Any, opened: Opened, axe: str, width: int, scheme: str
) -> None:
    page = opened(stormy_report, width=width, scheme=scheme)
    for view in open_everything(page):
        check(page, axe)
        picture(page, f"stormy_{view}_{width}_{scheme}")


@pytest.mark.parametrize(("width", "scheme"), _VIEWS, ids=str)
def test_nothing_serious_on_a_view(
    stormy_log: Any, pages: Pages, axe: str, width: int, scheme: str
) -> None:
    with (
        viewed(stormy_log) as url,
        Visitor(pages).visit(url, width=width, scheme=scheme, until=".state.live") as page,
    ):
        page.wait_for_selector(".summary:not([aria-busy])")
        # The same modules draw it: what differs from a report is there at once.
        for view in open_everything(page):
            if view in ("outage", "topic"):
                check(page, axe)
        ask_everything(page)
        check(page, axe)
        assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_serious_on_a_list_of_logs(
    stormy_log: Any, demo_log: Any, pages: Pages, axe: str, scheme: str
) -> None:
    with (
        viewed(stormy_log, demo_log) as url,
        Visitor(pages).visit(url, scheme=scheme, until=".logs .panel") as page,
    ):
        check(page, axe)
