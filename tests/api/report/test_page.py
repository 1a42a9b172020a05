"""The page of a report in a real browser."""

import asyncio
import random
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from api.cli.main import run
from metadata_log.reader.log_reader import LogReader
from replay.timeline import Timeline
from tests.api.conftest import Metalog
from tests.api.report.conftest import Opened, picture
from tests.api.report.page_actions import lines, select, selected, show_all, states, texts
from tests.api.report.restless import write_restless
from tests.browser import apart
from tests.replay.report.test_rebuilt_states import redacted

_COUNTED_OTHERWISE = """count => {
  const { data } = report, wrong = [];
  let seed = 11;
  const random = (below) => (seed = (seed * 16807) % 2147483647) % below;
  for (let i = 0; i < count; i++) {
    const ends = [random(data.rows), random(data.rows)].sort((a, b) => a - b);
    const object = random(data.objects);
    const fields = data.differenceOf(object, ...ends).length;
    if (fields !== data.countDifferences(object, ...ends)) wrong.push([object, ...ends]);
  }
  return wrong;
}"""


@pytest.mark.parametrize(
    ("width", "scheme"), [(400, "light"), (1000, "dark"), (1600, "light")], ids=str
)
def test_page_fits_every_width_and_scheme(
    report_file: Path, opened: Opened, width: int, scheme: str
) -> None:
    page = opened(report_file, width=width, scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    picture(page, f"report_{width}_{scheme}")


def test_it_opens_on_the_range_of_the_document(
    metalog: Metalog, demo_log: Path, report_file: Path, opened: Opened, tmp_path: Path
) -> None:
    written = metalog("report", demo_log, tmp_path / "r.html", "--json").json
    page = opened(report_file)
    shown = page.evaluate("[report.selection.from, report.selection.to]")
    assert shown == written["opens"]
    assert texts(page, ".events > li")


def check_states(page: Page, log: Path, count: int) -> None:
    """Compare the states at random offsets with those of a replay."""
    with LogReader.open(log) as reader:
        timeline, image = Timeline.of(reader), None
        chosen = random.Random(3).sample(range(reader.end_offset), count)
        for offset in sorted({*chosen, 0, reader.end_offset - 1}):
            image = timeline.image(offset, start=image)
            expected = {f"{kind}:{label}": of for (kind, label), of in redacted(image).items()}
            assert states(page, offset) == expected, f"offset {offset}"
    assert page.evaluate(_COUNTED_OTHERWISE, 2_000) == []


def test_states_at_any_offset_are_those_of_a_replay(demo_log: Path, page: Page) -> None:
    check_states(page, demo_log, 5)


@pytest.fixture(scope="module")
def restless_log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log in which a partition, a broker and a config changed hundreds of times."""
    log = tmp_path_factory.mktemp("restless") / "log"
    apart(asyncio.run, write_restless(log))
    return log


def test_states_of_what_changed_often_are_those_of_a_replay(
    metalog: Metalog, restless_log: Path, opened: Opened, tmp_path: Path
) -> None:
    assert metalog("report", restless_log, tmp_path / "r.html").code == 0
    page = opened(tmp_path / "r.html")
    check_states(page, restless_log, 20)
    for name in ("partition:restless/0", "broker:3", "config:topic/restless"):
        page.evaluate("name => report.answers.history(name)", name)
        show_all(page, ".chain")
        told = lines(metalog("history", restless_log, name).out)
        assert len(told) > 300
        assert " ".join(texts(page, ".answer li")) == " ".join(told)


def test_a_narrow_page_has_a_time_on_every_view(report_file: Path, opened: Opened) -> None:
    page = opened(report_file, width=400)
    views = page.evaluate(
        """async () => {
          const drawn = [], original = CanvasRenderingContext2D.prototype.fillText;
          CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
            drawn.push([text, x + (this.textAlign === "left" ? this.measureText(text).width : 0)]);
            original.call(this, text, x, y);
          };
          const found = [], width = report.picture.axis.width;
          for (let i = 0; i < 60; i++) {
            const from = (i * 389) % report.data.last, to = from + [0, 2, 20, 200][i % 4];
            report.selection.set({ from, to: Math.min(to, report.data.last), object: null });
            drawn.length = 0;
            report.picture.zoom(false);
            await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
            const times = drawn.filter(([text]) => /\\d\\d:\\d\\d/.test(text));
            found.push([from, to, times.length, times.every(([, end]) => end <= width)]);
          }
          CanvasRenderingContext2D.prototype.fillText = original;
          return found;
        }"""
    )
    assert len(views) == 60
    assert [view for view in views if view[2] == 0 or not view[3]] == []


"""The commands that give the difference shown."""


def test_a_range_is_dragged_and_a_moment_clicked(page: Page) -> None:
    box = page.locator(".plot").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 100, box["y"] + 90)
    page.mouse.down()
    page.mouse.move(box["x"] + 300, box["y"] + 90, steps=3)
    page.mouse.up()
    first, last, name = selected(page)
    assert first < last
    assert name is None
    begin, end = page.evaluate(
        "([a, b]) => [a, b].map((o) => report.picture.axis.x(report.picture.timeAt(o)))",
        [first, last],
    )
    assert 95 <= begin <= end <= 305
    page.mouse.click(box["x"] + 200, box["y"] + 85)
    moment = selected(page)
    assert moment[0] <= moment[1]
    assert moment[2] is not None and moment[2].startswith("broker")


_YEAR_BETWEEN_HOURS = """() => {
  const hour = 3600000, year = 365 * 24 * hour, axis = report.picture.axis;
  const times = [0, 0.3, 0.6, 1, year / hour, year / hour + 0.5].map((h) => h * hour);
  const [begin, end] = axis.constructor.withMargin(times, 0, times.at(-1));
  const made = new axis.constructor(times, begin, end, 1000);
  const busy = made.x(hour) + made.width - made.x(year);
  return { busy, tail: made.width - made.x(times.at(-1)) };
}"""


def test_a_year_between_two_hours_takes_little_room(page: Page) -> None:
    found = page.evaluate(_YEAR_BETWEEN_HOURS)
    assert found["busy"] > 700
    assert 0 < found["tail"] < 50


def test_everything_is_reached_by_keys(report_file: Path, opened: Opened) -> None:
    page = opened(report_file)
    page.keyboard.press("a")
    whole = selected(page)
    assert whole == (0, page.evaluate("report.data.last"), None)
    page.keyboard.press("ArrowLeft")
    assert selected(page) == whole  # nothing is before it
    select(page, 500, 500)
    page.keyboard.press("ArrowRight")
    following = selected(page)
    assert following[0] == following[1] > 500
    page.keyboard.press("Shift+ArrowRight")
    assert selected(page)[0] == following[0] < selected(page)[1]
    page.keyboard.press("Shift+ArrowLeft")
    page.keyboard.press("ArrowLeft")
    assert selected(page)[0] <= 500
    page.keyboard.press("?")
    assert page.locator("dialog").is_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("/")
    page.keyboard.type("broker 2")
    page.keyboard.press("Enter")
    assert selected(page)[2] == "broker%3A2"
    page.keyboard.press("w")
    assert texts(page, ".answer h3")[0].startswith("broker:2#fenced is ")
    page.keyboard.press("h")
    assert texts(page, ".answer h3")[0].startswith("broker:2: ")
    page.keyboard.press("Escape")
    assert page.locator(".answer").is_hidden()
    page.keyboard.press("ArrowLeft")
    changed = selected(page)[0]
    assert page.evaluate("o => report.data.recordOf(report.data.rowAt(o)).offset", changed)
    page.keyboard.press("z")
    page.keyboard.press("0")


def test_the_view_follows_what_is_selected(report_file: Path, opened: Opened) -> None:
    page = opened(report_file)
    select(page, 200, 210)
    page.keyboard.press("z")
    begin, end = page.evaluate("[report.picture.viewBegin, report.picture.viewEnd]")
    page.keyboard.press("/")
    page.keyboard.type("900")
    page.keyboard.press("Enter")
    shown = page.evaluate("[report.picture.viewBegin, report.picture.viewEnd]")
    assert shown[0] > end
    assert abs((shown[1] - shown[0]) - (end - begin)) < 1
    assert shown[0] < page.evaluate("report.picture.timeAt(900)") < shown[1]


def test_a_link_restores_the_view(report_file: Path, opened: Opened) -> None:
    page = opened(report_file)
    select(page, 200, 300, "broker:1")
    # The link has no card of the incident on which the page opened.
    page.evaluate("report.answers.close(); report.answers.element.replaceChildren()")
    link = page.evaluate("report.selection.link()").removeprefix("#")
    again = opened(report_file, f"#{link}")
    for selector in (".events", ".changes", ".command code", "h2"):
        assert texts(again, selector) == texts(page, selector)
    assert again.locator(".pick[aria-pressed=true]").inner_text() == "broker 1"


@pytest.mark.parametrize(
    ("typed", "expected"),
    [("700", (700, 700)), ("2026-01-01T03:00", None), ("__consumer_offsets/3", None)],
)
def test_search_finds(
    report_file: Path, opened: Opened, typed: str, expected: tuple[int, int] | None
) -> None:
    page = opened(report_file)
    page.locator("input[type=search]").fill(typed)
    found = texts(page, "[role=option]")
    assert found
    page.keyboard.press("Enter")
    first, last, name = selected(page)
    if expected is not None:
        assert (first, last) == expected
    elif "/" in typed:
        assert name == "partition%3A__consumer_offsets%2F3"
    else:
        assert page.evaluate("o => report.picture.timeAt(o)", first) >= 1_767_236_400_000


def test_search_says_when_nothing_is_found(report_file: Path, opened: Opened) -> None:
    page = opened(report_file)
    before = page.evaluate("report.selection.link()")
    page.locator("input[type=search]").fill("no-such-topic")
    assert texts(page, "[role=option]") == ["no such name, offset or time in this range"]
    page.keyboard.press("Enter")
    assert page.evaluate("report.selection.link()") == before
    page.keyboard.press("Escape")
    assert not texts(page, "[role=option]")


def test_a_range_within_an_event_is_not_called_empty(page: Page) -> None:
    within = """() => {
      const { from, to, length } = report.data.events, { data } = report;
      for (let i = 0; i < length; i++) {
        if (to[i] > from[i] && !data.events.count(from[i] + 1, from[i] + 1)) return from[i] + 1;
      }
    }"""
    at = page.evaluate(within)
    select(page, at, at)
    assert texts(page, ".events > .nothing") == ["No event begins in this range."]
    assert page.locator("details summary", has_text="earlier event").count() == 1


def test_topics_open_to_their_partitions(page: Page) -> None:
    count = page.locator(".pick").count()
    opener = page.locator("button.open").first
    opener.click()
    assert page.locator(".pick.partition").count() > 0
    assert page.locator("button.open").first.get_attribute("aria-expanded") == "true"
    page.locator("button.open").first.click()
    assert page.locator(".pick").count() == count


def test_whatever_can_be_used_has_a_name(page: Page) -> None:
    nameless: list[Any] = page.evaluate(
        """() => [...document.querySelectorAll("button, input, canvas, dialog, section, nav")]
          .filter((e) => !e.closest("[aria-hidden]") && !e.ariaLabel && !e.textContent.trim()
            && !e.getAttribute("aria-labelledby"))
          .map((e) => e.outerHTML)"""
    )
    assert nameless == []
    assert page.locator("[aria-live]").inner_text().startswith("At offset ")


@pytest.fixture
def noted_file(tmp_path: Path) -> Path:
    """The report of a log with three notes."""
    log, file = tmp_path / "log", tmp_path / "noted.html"
    noted = ((20, "the switch was <b>replaced</b>"), (20, "see 17"), (8, "begin"))
    commands = [
        ["demo", str(log), "--topics", "3", "--brokers", "3", "--changes", "40"],
        *(
            ["notes", "add", str(at), text, "--as", "User:ann", "--log", str(log)]
            for at, text in noted
        ),
        ["report", str(log), str(file)],
    ]
    assert [apart(run, each) for each in commands] == [0] * len(commands)
    return file


def test_notes_stand_on_the_axis(noted_file: Path, opened: Opened) -> None:
    page = opened(noted_file)
    pins = page.locator(".pin")
    assert [pin.get_attribute("title") for pin in pins.all()] == [
        "note: begin by User:ann",
        "note: the switch was <b>replaced</b> by User:ann\nnote: see 17 by User:ann",
    ]
    pins.nth(1).click()
    assert selected(page)[:2] == (20, 20)
    assert texts(page, ".events .text.notes") == [
        "note: the switch was <b>replaced</b>",
        "note: see 17",
    ]
    picture(page, "report_notes")
    # A note outside of what is shown has no place.
    page.evaluate("report.picture.zoom(false)")
    assert [pin.is_visible() for pin in pins.all()] == [False, True]


def test_a_range_without_records_shows_the_state_before_it(
    metalog: Metalog, demo_log: Path, opened: Opened, tmp_path: Path
) -> None:
    log = tmp_path / "fork"
    assert metalog("fork", demo_log, log, "--at", "900").code == 0
    assert metalog("report", log, tmp_path / "r.html").code == 0
    page = opened(tmp_path / "r.html")
    said = page.locator(".said")
    expect(said).not_to_contain_text("no partitions")
    expect(said).not_to_contain_text("1970")
