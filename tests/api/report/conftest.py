"""Reports, and pages that show them in a browser."""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from api.cli.main import run
from tests.browser import Pages, chromium

PICTURES = Path(__file__).parents[3] / ".report-pictures"
"""Not in git: pictures of the page to be looked at."""

SHOWN = "main .panel h2 small"
"""Is there once the page shows something."""

Opened = Callable[..., Page]


@pytest.fixture(scope="session")
def report_file(demo_log: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of the whole demo."""
    file = tmp_path_factory.mktemp("report") / "report.html"
    assert run(["report", str(demo_log), str(file)]) == 0
    return file


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One browser for all tests of a module."""
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def pages_of_module(browser: Browser) -> Pages:
    """Pages that the tests of a module use one after the other."""
    return Pages(browser)


@pytest.fixture
def pages(pages_of_module: Pages) -> Pages:
    """Pages that have asked for nothing yet."""
    pages_of_module.forget()
    return pages_of_module


@pytest.fixture
def opened(pages: Pages) -> Iterator[Opened]:
    """Opens a file; the test fails if the page asked for anything else, or threw an error."""
    with contextlib.ExitStack() as stack:

        def open_file(file: Path, link: str = "", width: int = 1000, scheme: Any = "light") -> Page:
            page = stack.enter_context(pages.page(width=width, scheme=scheme))
            page.goto(file.as_uri() + link)
            page.wait_for_selector(SHOWN)
            return page

        yield open_file
    assert pages.errors == []
    outside = ("file:", "data:", "about:blank")
    assert [url for url in pages.asked if not url.startswith(outside)] == []
