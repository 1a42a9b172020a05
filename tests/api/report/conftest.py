"""Reports, and pages that show them in a browser."""

import asyncio
import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from api.cli.main import run
from tests.api.report.stormy import write_stormy
from tests.browser import Pages, apart, chromium

_PICTURES = Path(__file__).parents[3] / ".report-pictures"
"""Not in git: pictures of the page to be looked at."""

_TAKES_PICTURES = "METALOG_TAKE_PICTURES" in os.environ
"""Only if asked for: a picture of a whole page takes as much CPU as most tests."""

SHOWN = "main .panel h2 small"
"""Is there once the page shows something."""

Opened = Callable[..., Page]

_KEEP_OPENING = """() => {
  const { from, to } = report.selection;
  window.opening = { from, to, object: null };
}"""

_AS_OPENED = """() => {
  document.activeElement.blur();
  report.answers.close();
  report.answers.element.replaceChildren();
  report.selection.set(opening);
  report.picture.zoom(true);
  scrollTo(0, 0);
}"""


@pytest.fixture(scope="session")
def report_file(demo_log: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of the whole demo."""
    file = tmp_path_factory.mktemp("report") / "report.html"
    assert run(["report", str(demo_log), str(file)]) == 0
    return file


@pytest.fixture(scope="session")
def stormy_log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The log of `write_stormy`; tests must not change it."""
    log = tmp_path_factory.mktemp("stormy") / "log"
    apart(asyncio.run, write_stormy(log))
    return log


@pytest.fixture(scope="session")
def stormy_report(stormy_log: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of the whole stormy log."""
    file = tmp_path_factory.mktemp("stormy-report") / "report.html"
    assert run(["report", str(stormy_log), str(file)]) == 0
    return file


@pytest.fixture
def stormy_page(opened: Opened, stormy_report: Path) -> Page:
    """The page of the stormy log."""
    return opened(stormy_report)


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """One browser for all tests of this package: its start and its first page take 3 s of CPU."""
    with chromium() as found:
        yield found


@pytest.fixture(scope="package")
def pages_of_package(browser: Browser) -> Pages:
    """Pages that the tests use in turn."""
    return Pages(browser)


@pytest.fixture
def pages(pages_of_package: Pages) -> Pages:
    """The pages, with an empty list of their requests."""
    pages_of_package.forget()
    return pages_of_package


@pytest.fixture
def opened(pages: Pages) -> Iterator[Opened]:
    """Opens a file; the test fails if the page requests any other file, or throws an error."""
    with contextlib.ExitStack() as stack:

        def open_file(file: Path, link: str = "", width: int = 1000, scheme: Any = "light") -> Page:
            page = stack.enter_context(pages.page(width=width, scheme=scheme))
            page.goto(file.as_uri() + link)
            page.wait_for_selector(SHOWN)
            return page

        yield open_file
    check_alone(pages)


@pytest.fixture(scope="package")
def kept_page(pages_of_package: Pages, report_file: Path) -> Iterator[Page]:
    """The report of the whole demo, opened once: opening it takes as much CPU as most tests."""
    with pages_of_package.page() as page:
        page.goto(report_file.as_uri())
        page.wait_for_selector(SHOWN)
        page.evaluate(_KEEP_OPENING)
        yield page


@pytest.fixture
def page(kept_page: Page, pages: Pages) -> Iterator[Page]:
    """The page of `report_file` in its first state, for tests that do not use its search.

    The search closes its list a moment after the test that used it, which would disturb the next
    test.
    """
    kept_page.evaluate(_AS_OPENED)
    yield kept_page
    check_alone(pages)


def picture(page: Page, name: str, *, full_page: bool = True) -> None:
    """Take a picture to be looked at, if METALOG_TAKE_PICTURES is set."""
    if _TAKES_PICTURES:
        page.screenshot(path=_PICTURES / f"{name}.png", full_page=full_page)


def check_alone(pages: Pages) -> None:
    """Check that the pages requested nothing from outside, and threw no error."""
    assert pages.errors == []
    outside = ("file:", "data:", "about:blank")
    assert [url for url in pages.asked if not url.startswith(outside)] == []
