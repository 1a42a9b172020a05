"""Several logs one above the other on one time axis."""

import shlex
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from api.cli.main import run
from tests.api.conftest import Metalog
from tests.api.report.conftest import PICTURES
from tests.api.report.page_actions import texts, wait_until_idle
from tests.api.report.served import Visitor, viewed
from tests.api.report.test_accessibility import axe, check
from tests.browser import Pages

__all__ = ["axe"]

LIVE = "main.together section:nth-of-type(2) .state.live"

_TIMES = "[together.time.from, together.time.to]"

_ENDS = """() => together.shown.map(({ selection, picture }) =>
  [selection.from, selection.to, picture.axis.begin, picture.axis.end, picture.band.style.left])"""


@pytest.fixture(scope="module")
def logs(demo_log: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The demo, and another one of the same day."""
    other = tmp_path_factory.mktemp("other") / "other"
    command = ["demo", str(other), "--topics", "5", "--changes", "100", "--seed", "7", "--json"]
    # If a browser is open, its loop runs in this thread.
    with ThreadPoolExecutor(1) as thread:
        assert thread.submit(run, command).result() == 0
    return demo_log, other


@pytest.fixture(scope="module")
def url(logs: tuple[Path, Path]) -> Iterator[str]:
    """The URL of a view of both."""
    with viewed(*logs) as found:
        yield found


@pytest.fixture(scope="module")
def kept(url: str, pages_of_package: Pages) -> Iterator[Page]:
    """The page of both logs, opened once by the link of the list."""
    with Visitor(pages_of_package).visit(url, until=".logs .summary") as page:
        page.get_by_role("link", name="all on one time axis").click()
        page.wait_for_selector(LIVE)
        yield page


def check_lists(metalog: Metalog, page: Page) -> list[int]:
    """Compare each list with what its command prints; return the numbers of events."""
    counts = []
    for panel in page.locator(".together .columns > .panel").all():
        command = panel.locator(".command code")
        lines = texts(page, f"[aria-labelledby='{panel.get_attribute('aria-labelledby')}'] .event")
        if not command.count():
            assert lines == []
            counts.append(0)
            continue
        _, *arguments = shlex.split(command.inner_text())
        told = metalog(*arguments, "--json").json["events"]
        # Those that began earlier are folded, and more are shown on demand.
        starts = {str(event["from_offset"]) for event in told}
        assert {line.split()[1].split("-")[0] for line in lines} <= starts
        counts.append(len(lines))
    return counts


def test_a_selected_time_is_selected_in_all_logs(metalog: Metalog, kept: Page) -> None:
    page = kept
    begin, end = page.evaluate("[together.time.times[0], together.time.times.at(-1)]")
    page.evaluate("time => together.time.set(time)", {"from": begin, "to": end})
    wait_until_idle(page)
    assert min(check_lists(metalog, page)) > 20
    # One time axis: the same time is at the same place in both.
    page.evaluate("time => together.time.set(time)", {"from": begin + 2e7, "to": begin + 2.2e7})
    wait_until_idle(page)
    first, second = page.evaluate(_ENDS)
    assert first[2:] == second[2:]
    assert sum(check_lists(metalog, page)) > 0
    where = page.evaluate("together.shown.map(each => each.where)")
    for log, (start, last, *_) in zip(where, (first, second), strict=True):
        rows = metalog("dump", log, "--json").lines
        inside = [r["offset"] for r in rows if begin + 2e7 <= r["timestamp"] <= begin + 2.2e7]
        assert start <= last + 1
        assert all(offset in inside for offset in (start, last) if start <= last)


def test_arrows_step_through_the_changes_of_all_logs(kept: Page) -> None:
    page = kept
    page.evaluate("together.time.zoom(true)")
    times = sorted(set(page.evaluate("[...together.time.times]")))
    page.evaluate("time => together.time.set(time)", {"from": times[0], "to": times[0]})
    for time in times[1:40]:
        page.keyboard.press("ArrowRight")
        assert page.evaluate(_TIMES) == [time, time]
    page.keyboard.press("ArrowLeft")
    assert page.evaluate(_TIMES) == [times[38], times[38]]
    assert (
        page.evaluate("location.hash") == f"#together&begin={int(times[38])}&end={int(times[38])}"
    )
    page.keyboard.press("Space")
    expect(page.get_by_role("button", name="pause")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="play")).to_be_visible()


def test_a_click_in_one_picture_selects_in_the_other(kept: Page) -> None:
    page = kept
    page.evaluate("together.time.zoom(true)")
    box = page.locator(".plot canvas").nth(1).bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 200, box["y"] + 60)
    page.mouse.down()
    page.mouse.move(box["x"] + 300, box["y"] + 60)
    page.mouse.up()
    first, second = page.evaluate(_ENDS)
    assert first[4] == second[4]
    begin, end = page.evaluate(_TIMES)
    assert end > begin


@pytest.mark.parametrize(("width", "scheme"), [(80, "light"), (400, "dark"), (2560, "light")])
def test_both_fit_every_width_and_nothing_is_serious(
    url: str, pages: Pages, axe: str, width: int, scheme: Any
) -> None:
    with Visitor(pages).visit(f"{url}/#together", width=width, scheme=scheme, until=LIVE) as page:
        check(page, axe)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        PICTURES.mkdir(exist_ok=True)
        page.screenshot(path=PICTURES / f"together_{width}_{scheme}.png", full_page=True)
