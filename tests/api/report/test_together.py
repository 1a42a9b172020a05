"""Several logs one above the other on one time axis."""

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from api.cli.main import run
from tests.api.conftest import Metalog
from tests.api.report.conftest import picture
from tests.api.report.page_actions import texts, wait_until_idle
from tests.api.report.served import Visitor, viewed
from tests.api.report.test_accessibility import axe, check
from tests.browser import Pages, apart

__all__ = ["axe"]

LIVE = "main.together section:nth-of-type(2) .state.live"

_TIMES = "[together.time.from, together.time.to]"

_ENDS = """() => together.shown.map(({ selection, picture }) =>
  [selection.from, selection.to, picture.axis.begin, picture.axis.end, picture.band.style.left])"""

_SINCE = """async () => {
  const { sinceOf } = await import("served/drift.js"), { drift, shown } = together;
  const moments = shown.map(({ data, selection }) => ({ data, row: data.rowAt(selection.to) }));
  return drift.found.flatMap(each => {
    const since = sinceOf(moments, each);
    return each.isShared && since ? [{ ...each, ...since }] : [];
  });
}"""

_OPENS = """(() => {
  const { data, picture } = together.shown[0], [from, to] = data.header.opens;
  return { from: picture.timeAt(from), to: picture.timeAt(from) };
})()"""


@pytest.fixture(scope="module")
def logs(demo_log: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The demo, and another one of the same day."""
    other = tmp_path_factory.mktemp("other") / "other"
    command = ["demo", str(other), "--topics", "5", "--changes", "100", "--seed", "7", "--json"]
    assert apart(run, command) == 0
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


def drift(page: Page) -> set[tuple[str, str, str | None, str | None]]:
    """Return object, key and both values of each config that differs, as the page shows them."""
    wait_until_idle(page)
    found = page.evaluate("together.drift.found")
    return {(each["object"], each["key"], *each["values"]) for each in found}


def set_time(page: Page, time: float) -> None:
    page.evaluate("time => together.time.set({ from: time, to: time })", time)


def told_drift(metalog: Metalog, page: Page) -> set[tuple[str, str, str | None, str | None]]:
    """Return what the command below the drift says."""
    _, *command = shlex.split(page.locator(".drift > div > .command code").inner_text())
    return {
        (each["object"], each["field"], each["before"], each["after"])
        for each in metalog(*command, "--json").json["changes"]
        if each["object"].startswith("config:")
    }


def test_configs_that_differ_are_those_of_diff(metalog: Metalog, kept: Page) -> None:
    page = kept
    begin, end = page.evaluate("[together.time.times[0], together.time.times.at(-1)]")
    for share in (1, 0.6, 0.3):
        set_time(page, begin + share * (end - begin))
        assert drift(page) == told_drift(metalog, page) != set()


def test_a_drift_says_since_when_and_by_whom(metalog: Metalog, kept: Page) -> None:
    page = kept
    set_time(page, page.evaluate("together.time.times.at(-1)"))
    drift(page)
    shown = page.evaluate(_SINCE)
    assert len(shown) > 5
    for each in shown[:6]:
        for time, differs in ((each["time"], True), (each["time"] - 1, False)):
            set_time(page, time)
            keys = {(object_, key) for object_, key, *_ in drift(page)}
            assert ((each["object"], each["key"]) in keys) is differs
        where = page.evaluate("at => together.shown[at].where", each["log"])
        (row,) = metalog(
            "dump", where, "--from", each["offset"], "--to", each["offset"], "--json"
        ).lines
        assert row["type"] == "ConfigRecord"
        assert (row["data"]["resource_name"], row["data"]["name"]) == (
            each["object"].partition("/")[2],
            each["key"],
        )
        assert each["by"].startswith(row["origin"]["principal"])
    # A click on a value asks why, of its log.
    set_time(page, shown[0]["time"])
    wait_until_idle(page)
    page.locator(".drift .value").first.click()
    _, *command = shlex.split(page.locator(".answer:visible .command code").first.inner_text())
    assert command[0] == "why"
    assert metalog(*command).code == 0


def test_why_of_what_is_red_is_that_of_the_command(metalog: Metalog, kept: Page) -> None:
    page = kept
    page.evaluate("time => together.time.set(time)", page.evaluate(_OPENS))
    page.keyboard.press("w")
    wait_until_idle(page)
    answers = page.locator(".answer[aria-label=why]:visible")
    assert answers.count() > 0
    for answer in answers.all():
        heading, command = answer.locator("h3"), answer.locator(".command code")
        told = metalog(*shlex.split(command.inner_text())[1:], "--json").json
        assert heading.inner_text().startswith(f"{told['object']}#{told['field']} is ")
        links = answer.locator(".chain .offset").all_inner_texts()
        assert links == [str(link["offset"]) for link in told["chain"]]


def test_a_question_is_asked_of_all_logs_or_of_one(metalog: Metalog, kept: Page) -> None:
    page = kept
    page.keyboard.press("e")
    page.keyboard.type("brokers.exists(b, b.fenced)")
    page.keyboard.press("Enter")
    asked = page.locator(".asked [aria-label='where it is true']")
    expect(asked.locator(".command")).to_have_count(2)
    wait_until_idle(page)
    for answer in asked.all():
        told = metalog(*shlex.split(answer.locator("code").inner_text())[1:], "--json").json
        lines = answer.locator(".chain li:not(.more) .offset").all_inner_texts()
        assert lines == [str(flip["offset"]) for flip in told["flips"]][: len(lines)]
    assert "&ask=brokers.exists" in page.evaluate("location.hash")
    # An offset is that of one log, which is to be chosen.
    page.locator(".without").fill("30")
    page.locator(".without").press("Enter")
    expect(page.locator(".asked .remark")).to_contain_text("choose which one answers")
    page.get_by_label("which log answers").select_option("other")
    page.locator(".without").press("Enter")
    answer = page.locator(".asked [aria-label='what if not'] .command code")
    expect(answer).to_contain_text("other")
    _, *command = shlex.split(answer.inner_text())
    assert metalog(*command).code == 0
    page.get_by_label("which log answers").select_option("all logs")


def test_a_note_is_pinned_to_one_of_the_logs_and_kept_in_the_address(
    url: str, pages: Pages, kept: Page, axe: str
) -> None:
    page = kept
    set_time(page, page.evaluate("together.time.times.at(-1)"))
    page.get_by_label("which log answers").select_option("other")
    # A key that is pressed in a list of options chooses one.
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("p")
    page.keyboard.type("a & b: 100 %")
    check(page, axe)
    page.keyboard.press("Enter")
    pin = page.get_by_label("other", exact=True).get_by_role("button", name="note: a & b: 100 %")
    expect(pin).to_be_visible()
    expect(page.locator(".pin.own")).to_have_count(1)
    last = page.evaluate("together.shown[1].selection.to")
    link = page.evaluate("location.hash")
    assert f"&note%20of%20other={last}%3Aa%20%26%20b%3A%20100%20%25" in link
    # The link has it, and so has that to the log's own page.
    assert "#note=" in page.evaluate("together.shown[1].link.href")
    with Visitor(pages).visit(f"{url}/{link}", until=LIVE) as again:
        expect(again.locator(".pin.own")).to_have_count(1)
    page.get_by_role("button", name="remove the note").click()
    expect(pin).to_have_count(0)
    assert "note" not in page.evaluate("location.hash")
    page.get_by_label("which log answers").select_option("all logs")


def test_the_keys_are_listed(kept: Page) -> None:
    page = kept
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("?")
    dialog = page.get_by_role("dialog", name="Keys")
    expect(dialog).to_be_visible()
    keys = ["←", "→", "Space", "w", "u", "e", "c", "p", "z", "0", "Esc", "?"]
    expect(dialog.locator("kbd")).to_have_text(keys)
    # No key acts while the list is open.
    before = page.evaluate(_TIMES)
    page.keyboard.press("ArrowLeft")
    assert page.evaluate(_TIMES) == before
    dialog.get_by_role("button", name="close").click()
    expect(dialog).to_be_hidden()


def test_the_list_says_which_logs_violate_an_invariant(
    metalog: Metalog, logs: tuple[Path, Path], url: str, pages: Pages
) -> None:
    with Visitor(pages).visit(url, until=".logs .summary") as page:
        checks = page.locator(".logs .check")
        for at, log in enumerate(logs):
            told = metalog("check", log, "--json").json
            last = told["log_end"] - 1
            assert not told["violations"]
            expect(checks.nth(at)).to_have_text(f"no invariant violated up to offset {last}")


@pytest.mark.parametrize(("width", "scheme"), [(80, "light"), (400, "dark"), (2560, "light")])
def test_both_fit_every_width_and_nothing_is_serious(
    url: str, pages: Pages, axe: str, width: int, scheme: Any
) -> None:
    with Visitor(pages).visit(f"{url}/#together", width=width, scheme=scheme, until=LIVE) as page:
        check(page, axe)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        picture(page, f"together_{width}_{scheme}")
