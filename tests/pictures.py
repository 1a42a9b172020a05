"""The pictures in docs/pictures, of the page in a real browser: `python -m tests.pictures`."""

import json
import subprocess
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import httpx

from api.cli.main import run
from tests.api.services import http_url
from tests.browser import chromium
from tests.docs_console import ROOT
from tests.forked_commands import METALOG

DIRECTORY = ROOT / "docs/pictures"

LOGS = {
    "week": ("--topics", "8", "--brokers", "4", "--changes", "800", "--seed", "13"),
    "night": ("--topics", "12", "--brokers", "4", "--changes", "300", "--seed", "7"),
}
"""The logs that are shown, as options of `metalog demo`: nothing of a real cluster."""

_WIDTH = 1200

_SHOWN = ("main .panel h2 small", ".summary:not([aria-busy])")
"""What a page has once it shows everything."""

_CLAUSE = ".summary button:has-text('without a leader')"
"""Opens the outage that the documents are about."""


class Picture(NamedTuple):
    """A picture: of the page at a path, from this element down to a height in pixels."""

    path: str
    top: str
    height: int
    keys: str = ""


PICTURES = {
    "list.png": Picture("/", "body", 660),
    "page.png": Picture("/logs/week/", "body", 770),
    "why.png": Picture("/logs/week/", "main .answer:has(h3)", 520, keys="w"),
}
"""The pictures by file."""


def take(directory: Path) -> None:
    """Write the pictures into a directory."""
    with tempfile.TemporaryDirectory() as place:
        for name, options in LOGS.items():
            assert run(["demo", str(Path(place) / name), *options]) == 0
        words = [*METALOG, "view", *LOGS, "--http", "127.0.0.1:0", "--json"]
        with subprocess.Popen(words, cwd=place, stdout=subprocess.PIPE, text=True) as process:
            try:
                assert process.stdout is not None
                url = http_url(json.loads(process.stdout.readline())["http"])
                _take_all(url, directory)
            finally:
                process.terminate()


def _take_all(url: str, directory: Path) -> None:
    while httpx.get(f"{url}/ready").status_code != 200:
        time.sleep(0.1)
    with chromium() as browser:
        for name, of in PICTURES.items():
            page = browser.new_page(viewport={"width": _WIDTH, "height": 2_000})
            page.goto(url + of.path)
            for selector in ("text=night",) if of.path == "/" else _SHOWN:
                page.wait_for_selector(selector)
            if of.path != "/":
                page.click(_CLAUSE)
                page.wait_for_selector("text=lasted")
            for key in of.keys:
                page.keyboard.press(key)
            page.wait_for_timeout(1_000)  # until nothing moves
            box = page.locator(of.top).first.bounding_box()
            assert box is not None
            clip = {"x": 0, "y": box["y"], "width": _WIDTH, "height": of.height}
            page.screenshot(path=directory / name, clip=clip)
            page.close()


if __name__ == "__main__":
    DIRECTORY.mkdir(exist_ok=True)
    take(DIRECTORY)
