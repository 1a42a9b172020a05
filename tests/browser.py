"""A real browser: Debian's Chromium, driven by Playwright. See docs/decisions/0020."""

import contextlib
import os
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ParamSpec, TypeVar

import pytest
from playwright.sync_api import Browser, Error, Page, expect, sync_playwright

P = ParamSpec("P")
T = TypeVar("T")

_NAMES = ("chromium", "chromium-browser", "google-chrome")

# As root there is no sandbox; the others keep Chromium from asking hosts of its maker for anything.
_FLAGS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)

_TIMEOUT_MS = 120_000
"""Only so that a test ends: on a busy machine Playwright's 5 and 30 s were too short."""

expect.set_options(timeout=_TIMEOUT_MS)


def apart(call: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
    """Call in another thread: while a browser is open, its event loop runs in this one."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(call, *arguments, **named).result()


@contextlib.contextmanager
def chromium() -> Iterator[Browser]:
    """Start a browser; skip the test if there is none and METALOG_REQUIRE_BROWSER is not set."""
    path = next(filter(None, map(shutil.which, _NAMES)), None)
    if path is None:
        why = "there is no browser: apt-get install chromium"
        if os.environ.get("METALOG_REQUIRE_BROWSER"):
            pytest.fail(why)
        pytest.skip(why)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(_FLAGS))
        try:
            yield browser
        finally:
            browser.close()


class Pages:
    """Browser pages that tests use in turn: opening an empty page costs half of a test's CPU.

    Attributes:
        asked: URLs that the pages requested since `forget`.
        errors: Errors that the pages threw or wrote to the console since `forget`.
    """

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._free: list[Page] = []
        self.asked: list[str] = []
        self.errors: list[str] = []

    def forget(self) -> None:
        """Clear the lists of requests and errors."""
        self.asked.clear()
        self.errors.clear()

    @contextlib.contextmanager
    def page(self, *, width: int = 1000, scheme: Any = "light") -> Iterator[Page]:
        """Yield an empty page in a browser context that no other page uses at the time.

        Afterwards the page is emptied, with its storage and cookies. If the body raises an error
        or the page cannot be emptied, it is not used again.
        """
        page = self._free.pop() if self._free else self._new_page()
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme)
        yield page
        page.evaluate("[localStorage, sessionStorage].forEach(storage => storage.clear())")
        page.mouse.move(-1, -1)
        try:
            page.goto("about:blank")
        except Error:  # the page was just changing its own address
            page.close()
            return
        page.context.clear_cookies()
        self._free.append(page)

    def _new_page(self) -> Page:
        page = self._browser.new_page()
        page.set_default_timeout(_TIMEOUT_MS)
        page.on("request", lambda request: self.asked.append(request.url))
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("console", lambda message: self.errors.append(message.text))
        return page
