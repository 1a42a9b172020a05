"""The page of a report in a real browser."""

import asyncio
import random
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from api.cli.main import run
from metadata_log.log_reader import LogReader
from replay.timeline import Timeline
from tests.api.conftest import Metalog
from tests.api.report.conftest import PICTURES, Opened
from tests.api.report.restless import write_restless
from tests.replay.report.test_rebuilding import redacted

_STATE = """at => {
  const { data } = report, row = data.rowAt(at), found = {};
  for (let object = 0; object < data.objects; object++) {
    const state = data.stateAt(object, row);
    if (state !== null) found[data.nameAt(object, row)] = state;
  }
  return found;
}"""


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


def selected(page: Page) -> tuple[int, int, str | None]:
    """What is selected, by the link."""
    link: str = page.evaluate("report.selection.link()")
    page.wait_for_url(lambda url: url.endswith(link))
    found = re.search(r"#from=(\d+)&to=(\d+)(?:&object=(.*))?$", page.url)
    assert found is not None, page.url
    return int(found[1]), int(found[2]), found[3]


def wait_until_idle(page: Page) -> None:
    """Of a long list the first part is shown at once, the rest when the page is idle."""
    expect(page.locator("[aria-busy=true]")).to_have_count(0)


def texts(page: Page, selector: str) -> list[str]:
    wait_until_idle(page)
    found = page.locator(selector).all_inner_texts()
    return [re.sub(r"\s+", " ", text).strip() for text in found]


def lines(text: str) -> list[str]:
    return [re.sub(r"\s+", " ", line).strip() for line in text.splitlines()]


def show_all(page: Page, selector: str) -> None:
    wait_until_idle(page)
    more = page.locator(f"{selector} > .more button")
    while more.count():
        more.click()


def select(page: Page, first: int, last: int, name: str | None = None) -> None:
    page.evaluate("s => report.selection.set(s)", {"from": first, "to": last, "object": name})


@pytest.mark.parametrize(
    ("width", "scheme"), [(400, "light"), (1000, "dark"), (1600, "light")], ids=str
)
def test_page_fits_every_width_and_scheme(
    report_file: Path, opened: Opened, width: int, scheme: str
) -> None:
    page = opened(report_file, width=width, scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    PICTURES.mkdir(exist_ok=True)
    page.screenshot(path=PICTURES / f"report_{width}_{scheme}.png", full_page=True)


def test_it_opens_on_the_most_eventful_range(
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
            assert page.evaluate(_STATE, offset) == expected, f"offset {offset}"
    assert page.evaluate(_COUNTED_OTHERWISE, 2_000) == []


def test_states_at_any_offset_are_those_of_a_replay(
    demo_log: Path, report_file: Path, opened: Opened
) -> None:
    check_states(opened(report_file), demo_log, 5)


@pytest.fixture(scope="module")
def restless_log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log in which a partition, a broker and a config changed hundreds of times."""
    log = tmp_path_factory.mktemp("restless") / "log"
    # The browser's loop runs in this thread.
    with ThreadPoolExecutor(1) as thread:
        thread.submit(asyncio.run, write_restless(log)).result()
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


def test_what_came_and_went_is_shown_with_its_life(
    metalog: Metalog, demo_log: Path, report_file: Path, opened: Opened
) -> None:
    page = opened(report_file)
    passed = metalog("diff", demo_log, 0, 1308, "--json").json["passed"]
    topic = next(each for each in passed if each["object"].startswith("topic:"))
    name, first, last = topic["object"], topic["from_offset"], topic["to_offset"]
    select(page, first, last, name)
    shown = texts(page, ".changes .object")
    assert len(shown) == 1
    assert f"came and went: {first} to {last}" in shown[0]
    assert f"created at {first} " in shown[0]
    assert f"removed at {last} " in shown[0]
    assert f"name={name.removeprefix('topic:')} " in shown[0]
    for verb, offset in (("created", first), ("removed", last)):
        origin = metalog("dump", demo_log, "--from", offset, "--to", offset, "--json").json[
            "origin"
        ]
        assert re.search(rf"{verb} at {offset} \S+ by {origin['principal']}", shown[0])
    page.locator(".changes .link", has_text="its history").click()
    told = lines(metalog("history", demo_log, name).out)
    assert " ".join(texts(page, ".answer li")) == " ".join(told)


def test_the_list_says_what_timeline_says(
    metalog: Metalog, demo_log: Path, report_file: Path, opened: Opened
) -> None:
    page = opened(report_file)
    page.keyboard.press("a")
    shown = page.evaluate(
        """async () => {
          const { eventParts } = await import("report/words.js");
          const { data } = report;
          return [...data.events.told(data.first, data.last)].map((told) => {
            const { time, offsets, text, by } = eventParts(told);
            return `${time} ${offsets} ${text} ${by}`.trim();
          });
        }"""
    )
    told = lines(metalog("timeline", demo_log).out)
    assert lines("\n".join(shown)) == told
    first = texts(page, ".events > li")[:3]
    for line, text in zip(told, first, strict=False):
        _, offsets, what = line.split(" ", 2)
        assert text.split(" ", 1)[1] == f"{offsets} {what}"
    assert texts(page, "section[aria-labelledby=happened] code") == [
        f"metalog timeline {demo_log} --from 0 --to {page.evaluate('report.data.last')}"
    ]


@pytest.mark.parametrize("range_", [(0, 40), (200, 320), (700, 705), (1000, 1308)], ids=str)
def test_the_difference_is_that_of_diff(
    metalog: Metalog, demo_log: Path, report_file: Path, opened: Opened, range_: tuple[int, int]
) -> None:
    page = opened(report_file)
    select(page, *range_)
    panel = page.locator("section[aria-labelledby=difference]")
    show_all(page, ".changes")
    before = range_[0] - 1 if range_[0] else "start"
    head, *expected = lines(metalog("diff", demo_log, before, range_[1]).out)
    panel.locator("h2 small", has_text=head).wait_for()
    shown = texts(page, ".changes .name-of, .changes .line")
    assert shown == expected


_COMMANDS = "section[aria-labelledby=difference] > div > .command code"
"""The commands that give the difference shown."""


def _differing(metalog: Metalog, log: Path, before: Any, last: int) -> dict[str, list[Any]]:
    """The changes of a diff, by object."""
    found: dict[str, list[Any]] = {}
    for change in metalog("diff", log, before, last, "--json").json["changes"]:
        found.setdefault(change["object"], []).append(change)
    return found


def test_a_topic_is_shown_with_its_configs_and_partitions(
    metalog: Metalog, demo_log: Path, report_file: Path, opened: Opened
) -> None:
    changed = _differing(metalog, demo_log, 600, 1000)
    topic = next(
        config.removeprefix("config:topic/")
        for config in changed
        if config.startswith("config:topic/")
        and f"partition:{config.removeprefix('config:topic/')}/0" in changed
        and f"topic:{config.removeprefix('config:topic/')}" not in changed
    )
    of_partitions = [name for name in changed if name.startswith(f"partition:{topic}/")]
    for width in (400, 1600):
        page = opened(report_file, width=width)
        select(page, 601, 1000, f"topic:{topic}")
        assert texts(page, ".panel h2")[1].startswith(f"topic:{topic} ")
        commands = [
            f"metalog diff {demo_log} 600 1000 --object {kind}{topic}"
            for kind in ("topic:", "config:topic/")
        ]
        assert texts(page, _COMMANDS) == commands
        expected = [line for c in commands for line in lines(metalog(*c.split(" ")[1:]).out)[1:]]
        assert texts(page, ".changes .name-of, .changes .line") == expected
        count = sum(len(changed[name]) for name in of_partitions)
        summary = page.locator("summary", has_text="its partitions")
        expect(summary).to_have_text(
            re.compile(rf"its partitions: {count} differences in {len(of_partitions)} partition")
        )
        summary.click()
        page.wait_for_selector("details .object")
        assert texts(page, "details .name-of") == of_partitions
        page.locator(".links button", has_text="history").click()
        page.screenshot(path=PICTURES / f"report_topic_{width}.png", full_page=True)
        remark = page.locator(".answer .remark")
        expect(remark).to_have_text(f"config:topic/{topic} has a history of its own.")
        _, command = texts(page, ".answer .command code")
        told = lines(metalog(*command.split(" ")[1:]).out)
        remark.locator("button").click()
        expect(page.locator(".answer h3")).to_contain_text(f"config:topic/{topic}: ")
        assert " ".join(texts(page, ".answer li")) == " ".join(told)
        page.locator("details .name-of").first.click()
        assert page.evaluate("report.selection.object") == of_partitions[0]
        expect(page.locator("details summary", has_text="its partitions")).to_have_count(0)


def test_a_moved_topic_is_shown_with_the_configs_of_both_names(
    metalog: Metalog, demo_log: Path, report_file: Path, opened: Opened
) -> None:
    page = opened(report_file)
    told = metalog("timeline", demo_log).out
    moves = [int(at) for at in re.findall(r" (\d+)  topic \S+ moved", told)]
    assert moves
    for at in moves:
        changed = _differing(metalog, demo_log, at - 1, at)
        topic = next(name for name in changed if name.startswith("topic:"))
        select(page, at, at, topic)
        assert sum(name.startswith("config:") for name in changed) == len(changed) - 1
        assert len(texts(page, _COMMANDS)) == len(changed)
        expected = lines(metalog("diff", demo_log, at - 1, at).out)[1:]
        assert texts(page, ".changes .name-of, .changes .line") == expected


def test_why_on_a_click_is_that_of_why(
    metalog: Metalog, demo_log: Path, report_file: Path, opened: Opened
) -> None:
    page = opened(report_file)
    chosen = random.Random(5)
    last: int = page.evaluate("report.data.last")
    asked = 0
    for offset in [last, *chosen.sample(range(100, last), 2)]:
        names: list[str] = list(page.evaluate(_STATE, offset))
        kinds = ("partition", "broker", "config", "topic", "feature")
        for kind in kinds:
            of_kind = [name for name in names if name.startswith(f"{kind}:")]
            name = chosen.choice(of_kind)
            field = chosen.choice(["leader", "isr"]) if kind == "partition" else None
            select(page, offset, offset)
            page.evaluate("([name, field]) => report.answers.why(name, field)", [name, field])
            answer = metalog("why", demo_log, f"{name}#{field}" if field else name, "--at", offset)
            head, *rest = lines(answer.out)
            links = [line for line in rest if line]
            page.wait_for_selector(".answer:not([hidden])")
            assert texts(page, ".answer h3") == [head]
            show_all(page, ".chain")
            assert " ".join(texts(page, ".answer .remark, .answer li")) == " ".join(links), head
            asked += 1
    assert asked == 15
    select(page, 200, 320)
    page.locator("button.value").first.click()
    assert " is " in texts(page, ".answer h3")[0]
    assert texts(page, ".answer code")[0].startswith(f"metalog why {demo_log} ")


def test_a_range_is_dragged_and_a_moment_clicked(report_file: Path, opened: Opened) -> None:
    page = opened(report_file)
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


def test_a_year_between_two_hours_takes_little_room(report_file: Path, opened: Opened) -> None:
    found = opened(report_file).evaluate(_YEAR_BETWEEN_HOURS)
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


def test_history_is_that_of_history(
    metalog: Metalog, demo_log: Path, report_file: Path, opened: Opened
) -> None:
    page = opened(report_file, "#from=0&to=1308&object=broker:2")
    page.keyboard.press("h")
    shown = texts(page, ".answer li")
    told = " ".join(lines(metalog("history", demo_log, "broker:2").out))
    assert " ".join(shown) == told


def test_a_link_restores_the_view(report_file: Path, opened: Opened) -> None:
    page = opened(report_file)
    select(page, 200, 300, "broker:1")
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


def test_a_range_within_an_event_is_not_called_empty(report_file: Path, opened: Opened) -> None:
    page = opened(report_file)
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


def test_topics_open_to_their_partitions(report_file: Path, opened: Opened) -> None:
    page = opened(report_file)
    count = page.locator(".pick").count()
    opener = page.locator("button.open").first
    opener.click()
    assert page.locator(".pick.partition").count() > 0
    assert page.locator("button.open").first.get_attribute("aria-expanded") == "true"
    page.locator("button.open").first.click()
    assert page.locator(".pick").count() == count


def test_whatever_can_be_used_has_a_name(report_file: Path, opened: Opened) -> None:
    page = opened(report_file)
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
    # The browser's loop runs in this thread.
    with ThreadPoolExecutor(1) as thread:
        assert list(thread.map(run, commands)) == [0] * len(commands)
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
    PICTURES.mkdir(exist_ok=True)
    page.screenshot(path=PICTURES / "report_notes.png", full_page=True)
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
