"""A click on red: the outage that the page shows is that of `outages`, `why` and `summary`."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from metadata_log.format.batch import NewBatch
from metadata_log.writer.creation import create_log
from metadata_log.writer.log import MetadataLog
from records.brokers import FenceBrokerRecord
from tests.api.conftest import Metalog
from tests.api.report.conftest import Opened
from tests.api.report.page_actions import select, selected, texts, wait_until_idle
from tests.api.report.served import Visitor, viewed
from tests.api.report.stormy import EVENING_MS, NIGHT_S, PARTITIONS
from tests.browser import Pages, apart
from tests.metadata_log.conftest import StepClock
from tests.metadata_log.kraft.node import Node
from tests.real_logs import DataSet, each_data_set
from tests.replay.builders import broker, change, partition, topic, uid
from tests.replay.incidents.real import imported

_OUTAGES = """async () => {
  const { outagesOf, STATES } = await import("report/outages.js"), { data } = report, found = [];
  const { bounds, silenceBeforeOutage } = await import("report/circumstances.js");
  for (let object = 0; object < data.objects; object++) {
    if (!["partition", "broker"].includes(data.kinds[data.objectKind[object]])) continue;
    for (const each of outagesOf(data, object)) {
      const [since, until] = [each.fromTime ?? data.time[0], each.toTime ?? data.header.times[1]];
      const { least, most } = bounds(data, [each], since, until);
      const isLonger = least > each.duration;
      found.push({
        ...(isLonger ? { least_ms: least } : {}),
        ...(isLonger && most !== null ? { most_ms: most } : {}),
        object: data.nameAt(object, each.fromRow), kind: STATES.get(each.bit).kind,
        from_offset: each.from, to_offset: each.to, from_time: each.fromTime, to_time: each.toTime,
        duration_ms: each.duration, cause: each.cause, silence_ms: silenceBeforeOutage(data, each),
      });
    }
  }
  return found;
}"""

_LEADERLESS = """async () => {
  const { ofKind, outagesAround } = await import("report/outages.js"), { data, picture } = report;
  const partitions = ofKind(data, "partition"), found = new Map();
  picture.health.leaderless.forEach((count, i) => {
    if (!count) return;
    const outages = outagesAround(data, partitions, 1, picture.health.row[i]);
    const names = new Set(outages.map(({ object }) => object));
    const last = Math.max(...outages.map(({ row }) => row));
    found.set(outages[0].from, [outages[0].from, last, names.size]);
  });
  return [...found.values()].map(([from, row, count]) =>
    [from, row + 1 < data.rows ? data.offset[row + 1] : null, count]);
}"""

_COLOURED = """async ([bit, name]) => {
  const { worst } = await import("report/states.js");
  const { picture } = report, { left, top } = picture.canvas.getBoundingClientRect();
  for (const [i, row] of picture.current.entries()) {
    const steps = picture.states.stepsOf(row);
    if (name !== null && picture.named(row) !== name) continue;
    for (const [at, bits] of steps.bits.entries()) {
      if (worst(bits) !== bit) continue;
      const ends = [steps.time[at], steps.time[at + 1] ?? Infinity];
      const [x0, x1] = ends.map((time) => picture.axis.x(time));
      if (x1 - x0 < 3) continue;
      const y = 70 + i * 22 + 11 - picture.names.scrollTop;
      const x = left + (x0 + x1) / 2;
      // A note may be in front of it.
      if (document.elementFromPoint(x, top + y) !== picture.canvas) continue;
      return { x, y: top + y, name: picture.named(row), row: steps.row[at] };
    }
  }
  return null;
}"""
"""A place in the middle of a bar of a state, which is at least 3 px wide."""


def _key(outage: dict[str, Any]) -> tuple[str, str, int]:
    return outage["object"], outage["kind"], outage["from_offset"] or -1


def check_outages(metalog: Metalog, log: Path, page: Page) -> None:
    """Compare all outages of the page, and the times without a leader, with the commands."""
    shown = sorted(page.evaluate(_OUTAGES), key=_key)
    told = metalog("outages", log, "--json").json["intervals"]
    for each in told:
        for name in ("brokers", "leaders", "topic_id", "at_least"):
            each.pop(name, None)
        each.setdefault("silence_ms", 0)
    # The page has no colour for it.
    told = [each for each in told if each["kind"] != "under_min_isr"]
    assert shown == sorted(told, key=_key)
    times = metalog("summary", log, "--json").json["leaderless"]
    expected = [[each["from_offset"], each["to_offset"], each["partitions"]] for each in times]
    assert page.evaluate(_LEADERLESS) == expected


def test_outages_are_those_of_the_command(metalog: Metalog, demo_log: Path, page: Page) -> None:
    check_outages(metalog, demo_log, page)


@each_data_set
def test_outages_of_a_real_log_are_those_of_the_command(
    metalog: Metalog, data_set: DataSet, opened: Opened, tmp_path: Path
) -> None:
    log, file = imported(data_set, tmp_path), tmp_path / "report.html"
    assert metalog("report", log, file).code == 0
    check_outages(metalog, log, opened(file))


def click(page: Page, bit: int) -> dict[str, Any]:
    """Click on a bar of a state; return its place."""
    place: dict[str, Any] = page.evaluate(_COLOURED, [bit, None])
    page.mouse.click(place["x"], place["y"])
    wait_until_idle(page)
    return place


def terms(page: Page) -> dict[str, str]:
    """Return what the panel of an outage says."""
    names, values = texts(page, ".outage dt"), texts(page, ".outage dd")
    return dict(zip(names, values, strict=True))


@pytest.mark.parametrize(
    ("bit", "kind", "field"),
    [
        (1, "leaderless", "leader"),
        (2, "under_replicated", "isr"),
        (4, "fenced", "fenced"),
        (8, "shutting_down", "in_controlled_shutdown"),
    ],
)
def test_a_click_on_red_shows_that_outage(
    metalog: Metalog, stormy_log: Path, stormy_page: Page, bit: int, kind: str, field: str
) -> None:
    page = stormy_page
    name = click(page, bit)["name"]
    asked, at = page.evaluate("[report.answers.seen.name, report.answers.seen.at]")
    prefix = name.replace("topic:", "partition:") + ("/" if name.startswith("topic:") else "")
    assert asked.startswith(prefix)
    told = metalog("outages", stormy_log, "--object", asked, "--json").json["intervals"]
    (outage,) = (
        each
        for each in told
        if each["kind"] == kind and each["from_offset"] <= at < (each["to_offset"] or 1e9)
    )
    found = terms(page)
    assert outage["cause"]["text"] in found["cause"]
    assert f"record {outage['cause']['offset']}" in found["cause"]
    assert found["in whose name"] == "the record does not say who"
    first, last, object_ = selected(page)
    assert first <= outage["from_offset"]
    assert last >= outage["to_offset"]
    assert object_ == name.replace(":", "%3A")
    commands = texts(page, ".answer > .command code")
    assert f"#{field}" in commands[0]
    assert commands[1].startswith("metalog outages ")
    # The same field is what `w` asks for, at the moment that was clicked.
    page.keyboard.press("w")
    check_why(metalog, stormy_log, page, f"{asked}#{field}", at)


def check_why(metalog: Metalog, log: Path, page: Page, name: str, at: int) -> None:
    """Compare the open answer with that of the command."""
    told = metalog("why", log, name, "--at", at, "--json").json
    value = json.dumps(told["value"], separators=(",", ":"))
    assert texts(page, ".answer h3") == [f"{name} is {value} at {at}"]
    assert texts(page, ".answer .chain .text") == [link["text"] for link in told["chain"]]


def test_a_click_on_health_shows_the_time_of_the_summary(
    metalog: Metalog, stormy_log: Path, stormy_page: Page
) -> None:
    page = stormy_page
    x = page.evaluate("report.picture.axis.x(report.picture.times.at(-1) - 3600000)")
    box = page.locator(".plot canvas").bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + x, box["y"] + 30)
    (time,) = metalog("summary", stormy_log, "--json").json["leaderless"]
    assert texts(page, ".answer h3") == [f"{PARTITIONS} of {PARTITIONS} partitions had no leader"]
    found = terms(page)
    assert found["from"].endswith(f"record {time['from_offset']}")
    assert found["to"].endswith(f"record {time['to_offset']}")
    assert found["lasted"] == "4 h 20 min"
    assert found["topics"] == "orders"
    assert found["cause"] == (
        f"{time['cause']} record {time['cause_offset']} Broker 1 was the only replica in sync of "
        f"{PARTITIONS} partitions, since 2026-01-13T22:50:06.000Z: no other broker could lead "
        "without losing records."
    )
    down = "2 of 2 brokers were down: 1, 2."
    assert found["around that time"] == f"{down} node 1 became the controller 6 s before, record 0"
    assert "ISR [1, 2] -> [1]" in found["before"]
    assert (
        found["may be lost"] == f"Nothing of {PARTITIONS} partitions, as far as the metadata says: "
        "each leader afterwards was in sync."
    )
    assert found["ended by"] == f"broker 1 leads, record 30 to record {time['to_offset']}"
    page.locator(".each summary").click()
    expect(page.locator(".each li")).to_have_count(PARTITIONS)
    each = texts(page, ".each li")
    assert each[0] == f"partition:orders/0 4 h 20 min from {time['from_offset']} to 30"


def test_why_asks_of_what_is_red_and_of_no_other_field(
    metalog: Metalog, stormy_log: Path, stormy_page: Page
) -> None:
    fields = {
        "leaderless": "leader",
        "under_replicated": "isr",
        "fenced": "fenced",
        "shutting_down": "in_controlled_shutdown",
    }
    asked = set()
    for outage in metalog("outages", stormy_log, "--json").json["intervals"]:
        name, at = outage["object"], outage["from_offset"]
        field = fields[outage["kind"]]
        select(stormy_page, at, at, name)
        stormy_page.keyboard.press("w")
        check_why(metalog, stormy_log, stormy_page, f"{name}#{field}", at)
        asked.add(field)
    assert asked == set(fields.values())


def test_hover_names_what_is_there(stormy_page: Page) -> None:
    page = stormy_page
    place = page.evaluate(_COLOURED, [4, "broker:2"])
    page.mouse.move(place["x"], place["y"])
    first, times, cause = texts(page, ".tip div")
    assert first == "broker:2 is fenced"
    assert times == "22:50:06.000 to 2026-01-14 03:10:11.000 (4 h 20 min)"
    assert cause == ("broker 2 was fenced (missed heartbeats; it did not restart) (19)")
    box = page.locator(".plot canvas").bounding_box()
    assert box is not None
    page.mouse.move(place["x"], box["y"] + 55)
    assert texts(page, ".tip div") == [
        "no controller 22:50:07 to 2026-01-14 03:10:08 (4 h 20 min): nothing was written"
    ]
    page.mouse.move(place["x"], box["y"] + 10)
    assert texts(page, ".tip div")[1] == "6 leaderless and 6 under-replicated of 6 partitions"
    page.mouse.move(0, 0)
    assert not page.locator(".tip").is_visible()


def test_the_page_opens_with_the_outage(stormy_report: Path, opened: Opened) -> None:
    page = opened(stormy_report)
    page.locator(".outage").wait_for()
    assert texts(page, ".answer h3") == [f"{PARTITIONS} of {PARTITIONS} partitions had no leader"]
    assert page.evaluate("document.activeElement === document.body")
    opens = page.evaluate("report.data.header.opens")
    assert page.evaluate("[report.selection.from, report.selection.to]") == opens


_FIRST_FENCED = """() => {
  const { data, outages } = report, fenced = 4;
  const touch = data.outages.findIndex((bits, i) => bits & fenced && data.fateOf(i) === 1);
  outages.open([data.object[touch]], fenced, data.rowOf[touch], null, true);
}"""


def test_an_outage_says_who_asked_for_its_cause(
    metalog: Metalog, demo_log: Path, page: Page
) -> None:
    page.evaluate(_FIRST_FENCED)
    found = terms(page)
    cause = found["cause"].rpartition("record ")[2]
    (row,) = metalog("dump", demo_log, "--from", cause, "--to", cause, "--json").lines
    assert found["in whose name"].startswith(
        f"{row['origin']['principal']} ({row['origin']['command']}"
    )
    name = row["data"]["broker_id"]
    assert f"What happened to broker {name} before the fencing: see" in found["not known"]
    end = found["ended by"].removeprefix("record ").partition(" ")[0]
    (row,) = metalog("dump", demo_log, "--from", end, "--to", end, "--json").lines
    by = f"by {row['origin']['principal']} ({row['origin']['command']}"
    assert found["ended by"].startswith(f"record {end} {by}")


def test_what_lasts_to_the_end_waits_for_the_last_in_sync(
    metalog: Metalog, stormy_log: Path, opened: Opened, tmp_path: Path
) -> None:
    metalog("report", stormy_log, tmp_path / "r.html", "--from", 22, "--to", 26)
    page = opened(tmp_path / "r.html")
    page.locator(".outage").wait_for()
    found = terms(page)
    assert found["from"] == "before offset 22"
    assert found["to"].endswith("Z, where the records end: it is not over by then")
    assert "the last brokers in sync (1)" in found["may be lost"]
    assert "before the records of this page, from offset 22 on" in found["not known"]


async def _fail_after_silence(directory: Path) -> None:
    """Write a log whose second controller finds the only broker gone."""
    create_log(directory, "silent")
    clock = StepClock(EVENING_MS)
    log = await MetadataLog.open(directory, clock=clock, node_id=1)
    orders = partition("orders", 0, replicas=(1,), isr=(1,))
    await log.append(NewBatch(records=(broker(1, fenced=False), topic("orders"), orders)))
    await log.close()
    clock.time_ms += NIGHT_S * 1_000
    log = await MetadataLog.open(directory, clock=clock, node_id=2)
    down = (FenceBrokerRecord(id=1, epoch=10), change("orders", 0, leader=-1))
    await log.append(NewBatch(records=down))
    await log.close()


def test_an_outage_after_silence_says_that_it_may_be_older(
    metalog: Metalog, opened: Opened, tmp_path: Path
) -> None:
    apart(asyncio.run, _fail_after_silence(tmp_path / "log"))
    metalog("report", tmp_path / "log", tmp_path / "r.html")
    page = opened(tmp_path / "r.html")
    page.locator(".outage").wait_for()
    around = terms(page)["around that time"]
    assert "node 2 became the controller" in around
    assert "after 4 h 20 min without a record: what failed meanwhile shows only from" in around


def test_an_outage_among_restarts_says_so(metalog: Metalog, opened: Opened, tmp_path: Path) -> None:
    node = Node(tmp_path / "node", voters=1)
    node.append(topic("orders"), partition("orders", 0, replicas=(1,), isr=(1,)))
    for run in range(5):
        node.append(broker(1, incarnation_id=uid(f"run {run}"), fenced=False))
        node.append(change("orders", 0, leader=1))
        node.append(FenceBrokerRecord(id=1, epoch=10), change("orders", 0, leader=-1))
    metalog("import", "kraft", node.directory, tmp_path / "log")
    metalog("report", tmp_path / "log", tmp_path / "r.html")
    page = opened(tmp_path / "r.html")
    page.locator(".outage").wait_for()
    around = terms(page)["around that time"]
    assert around.startswith("the only broker restarted 4 times, ")
    assert ": not known if by controlled shutdown. node 0 became the controller" in around


def test_a_service_knows_what_began_before_the_page(stormy_log: Path, pages: Pages) -> None:
    with viewed(stormy_log) as url, Visitor(pages).visit(f"{url}/#first=22") as page:
        page.locator(".outage").wait_for()
        wait_until_idle(page)
        found = terms(page)
        assert found["from"].endswith("record 21")
        # The page has the state before of five; only the service knows that of the first.
        assert found["cause"] == (
            "broker 1 began a controlled shutdown record 20 Broker 1 was the only replica in sync "
            "of 5 partitions: no other broker could lead without losing records."
        )
        assert found["lasted"] == "4 h 20 min"
