"""Notes that the log does not have: in the page's address, or in a report's file."""

import shlex
from pathlib import Path
from urllib.parse import unquote

import pytest
from playwright.sync_api import Page, expect

from tests.api.conftest import Metalog
from tests.api.report.conftest import Opened
from tests.api.report.page_actions import select, texts
from tests.api.report.test_accessibility import axe, check

__all__ = ["axe"]

TEXT = "it's the <b>disk</b> & 100 % full: #1"


def test_a_note_is_written_by_the_keyboard_and_kept_in_the_address(
    metalog: Metalog, demo_log: Path, page: Page, opened: Opened, axe: str, tmp_path: Path
) -> None:
    select(page, 20, 30)
    page.keyboard.press("p")
    page.keyboard.type(TEXT)
    check(page, axe)
    page.keyboard.press("Enter")
    pin = page.get_by_role("group", name="notes").get_by_role("button", name=TEXT)
    expect(pin).to_be_visible()
    check(page, axe)
    link = page.evaluate("report.selection.link()")
    assert unquote(link) == f"#from=20&to=30&note=20:{TEXT}"
    # A click on the pin selects its record.
    pin.press("Enter")
    assert page.evaluate("[report.selection.from, report.selection.to]") == [20, 20]
    _, *command = shlex.split(page.locator(".pinned .command code").inner_text())
    file = tmp_path / "noted.html"
    command[command.index("report.html")] = str(file)
    assert metalog(*command).code == 0
    page.get_by_role("button", name="remove the note").press("Enter")
    expect(pin).to_have_count(0)
    assert "note=" not in page.evaluate("report.selection.link()")
    # The report has it, and takes another from its address.
    other = opened(file, link="#from=20&to=30&note=25:second")
    pins = other.get_by_role("group", name="notes").get_by_role("button")
    assert pins.evaluate_all("all => all.map(each => each.title)") == [
        f"note: {TEXT} (not in the log)",
        "note: second (not in the log)",
    ]
    assert [line.split("Z ")[1] for line in texts(other, ".pinned li")] == [TEXT, "second remove"]


@pytest.mark.parametrize(
    ("note", "error"),
    [
        ("20", "--note '20' is not OFFSET:TEXT"),
        ("x:y", "--note 'x:y' is not OFFSET:TEXT"),
        ("99999999:y", "--note 99999999: the report has the offsets 0 to "),
    ],
)
def test_a_note_that_cannot_be_pinned_is_an_error(
    metalog: Metalog, demo_log: Path, tmp_path: Path, note: str, error: str
) -> None:
    file = tmp_path / "report.html"
    answer = metalog("report", demo_log, file, "--note", note)
    assert answer.code == 2
    assert error in " ".join(answer.err.split())
    assert not file.exists()
