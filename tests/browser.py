"""A real browser: Debian's Chromium, driven by Playwright. See docs/decisions/0020."""

import contextlib
import os
import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, sync_playwright

_NAMES = ("chromium", "chromium-browser", "google-chrome")

# As root there is no sandbox; the others keep Chromium from asking hosts of its maker for anything.
_FLAGS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)


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
