"""Reports, and pages that show them in a browser."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from api.cli.main import run
from tests.browser import chromium

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


@pytest.fixture
def opened(browser: Browser) -> Iterator[Opened]:
    """Opens a file; the test fails if the page asked for anything else, or threw an error."""
    asked: list[str] = []
    errors: list[str] = []
    pages: list[Page] = []

    def open_file(file: Path, link: str = "", width: int = 1000, scheme: Any = "light") -> Page:
        page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
        pages.append(page)
        page.on("request", lambda request: asked.append(request.url))
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda message: errors.append(message.text))
        page.goto(file.as_uri() + link)
        page.wait_for_selector(SHOWN)
        return page

    yield open_file
    for page in pages:
        page.close()
    assert errors == []
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
