"""Texts from a log are only text on the page: no script runs, and no command does more than it
shows.
"""

import subprocess
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page

from api.cli.main import run
from api.http.options import HttpOptions
from tests.api.report.conftest import Opened
from tests.api.report.page_actions import select, wait_until_idle
from tests.api.report.served import Visitor, served
from tests.browser import Pages
from tests.hostile_log import HOSTILE, OBEYED, write_hostile_log

_OBJECTS = """() => {
  const { data } = report, row = data.rowAt(data.last), found = [];
  for (let object = 0; object < data.objects; object++) found.push(data.nameAt(object, row));
  return found;
}"""

_FOUND = """() => {
  const found = [], texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const { data, parentElement } = texts.currentNode;
    if (!["SCRIPT", "STYLE"].includes(parentElement.tagName)) found.push(data);
  }
  const elements = [...document.body.querySelectorAll("*")];
  for (const element of elements)
    for (const name of ["title", "aria-label"]) found.push(element.getAttribute(name) ?? "");
  return {
    texts: found,
    hit: window.hit ?? null,
    foreign: elements.filter((each) => each.matches("img, iframe, object, embed")).length,
    handlers: elements.filter((each) =>
      [...each.attributes].some(({ name }) => name.startsWith("on"))).length,
    links: [...document.querySelectorAll("a[href]")].map((each) => each.protocol),
    commands: [...document.querySelectorAll(".command code")].map((each) => each.textContent),
    width: document.documentElement.scrollWidth,
  };
}"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the log."""
    folder = tmp_path_factory.mktemp("hostile page")
    write_hostile_log(folder / "log")
    return folder


@pytest.fixture(scope="module")
def file(folder: Path) -> Path:
    """The report of the log."""
    assert run(["report", str(folder / "log"), str(folder / "report.html")]) == 0
    return folder / "report.html"


def _check(page: Page) -> list[str]:
    """Check the page as it is; return its command lines."""
    wait_until_idle(page)
    found: dict[str, Any] = page.evaluate(_FOUND)
    assert [text for text in found["texts"] if OBEYED.search(text)] == []
    assert (found["hit"], found["foreign"], found["handlers"]) == (None, 0, 0)
    assert set(found["links"]) <= {"file:", "http:", "https:"}
    assert found["width"] <= 1000
    commands: list[str] = found["commands"]
    return commands


def _walk(page: Page) -> set[str]:
    """Select every object and ask every question of it; return the command lines."""
    commands = set(_check(page))
    last = page.evaluate("report.data.last")
    objects = page.evaluate(_OBJECTS)
    assert any(HOSTILE.split("\\")[0] in name for name in objects)
    for name in objects:
        select(page, 0, last, name)
        commands.update(_check(page))
        for link in ("its history", "why", "who set it"):
            button = page.locator(".changes .link, .object .link", has_text=link).first
            if button.count():
                button.click()
                commands.update(_check(page))
        for key in "hwbo":
            page.keyboard.press(key)
            commands.update(_check(page))
    page.keyboard.press("/")
    page.keyboard.type("img")
    commands.update(_check(page))
    return commands


def _check_commands(commands: set[str], folder: Path) -> None:
    """Check that a shell reads the hostile name as one word, and does nothing else."""
    assert any(HOSTILE in word for word in _words(commands, folder))
    assert list(folder.iterdir()) == []


def test_texts_of_a_log_stay_texts(opened: Opened, file: Path, tmp_path: Path) -> None:
    _check_commands(_walk(opened(file)), tmp_path)


def test_texts_of_a_log_stay_texts_when_it_is_served(
    folder: Path, pages: Pages, tmp_path: Path
) -> None:
    with (
        served(folder, HttpOptions(host="127.0.0.1", port=0)) as service,
        Visitor(pages).visit(service.url, until=".state.live") as page,
    ):
        commands = _walk(page)
        note = {"at_offset": 0, "text": HOSTILE}
        assert service.http.post("/v1/notes/add", json=note).status_code == 200
        page.locator("button.news").click()
        commands.update(_check(page))
    # The browser says itself that an answer was an error: of an object that is not there, or
    # whose name is longer than a request may be.
    assert [text for text in pages.errors if "Failed to load resource" not in text] == []
    _check_commands(commands, tmp_path)


def _words(commands: set[str], folder: Path) -> list[str]:
    """Return the words that a shell reads in command lines."""
    script = "\n".join(["metalog() { printf '%s\\0' \"$@\"; }", *sorted(commands)])
    printed = subprocess.run(
        ["bash", "-eus"],
        input=script.encode(),
        cwd=folder,
        env={"LC_ALL": "C.UTF-8", "PATH": "/usr/bin:/bin"},
        capture_output=True,
        check=True,
    )
    assert printed.stderr == b""
    return printed.stdout.decode().split("\0")
