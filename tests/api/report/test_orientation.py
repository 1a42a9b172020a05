"""What helps to find one's way on the page: summary, groups, filters, marks, terms, time zone."""

import asyncio
import itertools
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from metadata_log.format.batch import NewBatch
from metadata_log.writer.creation import create_log
from metadata_log.writer.log import MetadataLog
from records.brokers import FenceBrokerRecord
from records.envelope import Origin
from tests.api.conftest import Metalog
from tests.api.report.conftest import SHOWN, Opened
from tests.api.report.page_actions import lines, select, selected, texts, wait_until_idle
from tests.api.report.served import Visitor, viewed
from tests.api.report.stormy import PARTITIONS
from tests.browser import Pages, apart
from tests.replay.builders import broker, change, partition, topic
from tests.replay.report.unpacked import Unpacked, packed_of


def _clause(page: Page, text: str) -> None:
    page.locator(".summary button", has_text=text).click()
    wait_until_idle(page)


def test_a_report_has_the_summary_of_its_range(
    metalog: Metalog, stormy_log: Path, opened: Opened, tmp_path: Path
) -> None:
    for range_ in ([], ["--from", 22], ["--to", 30]):
        assert metalog("report", stormy_log, tmp_path / "r.html", *range_).code == 0
        page = opened(tmp_path / "r.html")
        clauses = metalog("summary", stormy_log, *range_, "--json").json["clauses"]
        assert texts(page, ".summary li") == [each["text"] for each in clauses]
        assert page.locator(".summary .bad").count() == sum(each["is_bad"] for each in clauses)


async def write_silent(directory: Path) -> None:
    """Write a log in which a partition lost its leader for a reason that names an address."""
    create_log(directory, "silent")
    log = await MetadataLog.open(directory)
    await log.append(NewBatch(records=(broker(1, fenced=False), topic("t"), partition("t", 0))))
    lost = change("t", 0, leader=-1)
    silent = Origin(principal="User:controller", reason="192.0.2.9 is silent")
    fence = FenceBrokerRecord(id=1, epoch=10)
    await log.append(NewBatch(records=(lost, fence), origin=silent))
    await log.close()


def test_hosts_are_masked_in_the_summary_and_in_causes(metalog: Metalog, tmp_path: Path) -> None:
    log, file = tmp_path / "log", tmp_path / "r.html"
    apart(asyncio.run, write_silent(log))
    for options, is_masked in (([], False), (["--mask-hosts"], True)):
        assert metalog("report", log, file, *options).code == 0
        header = Unpacked(packed_of(file)).header
        for shown in (header["summary"], header["outage_texts"], header):
            assert ("192.0.2.9 is silent" in str(shown)) != is_masked
            assert ("host-1 is silent" in str(shown)) == is_masked


def test_a_clause_leads_to_its_records(stormy_page: Page) -> None:
    page = stormy_page
    end = page.evaluate("report.data.last")
    _clause(page, "without a leader")
    assert selected(page) == (20, 35, None)
    assert texts(page, ".answer h3") == [f"{PARTITIONS} of {PARTITIONS} partitions had no leader"]
    _clause(page, "the controller changed")
    assert selected(page) == (0, end, None)
    assert [text.split(" ", 3)[2:] for text in texts(page, ".events > li")] == [
        [
            "controller",
            "1 became active in epoch 1, for at least 6 s; the next controller 4 h 20 min later",
        ],
        ["controller", "2 became active in epoch 2, for 7 s"],
    ]
    _clause(page, "topics, configs and rights")
    assert all(" deleted" in t or " created" in t or "retention" in t for t in _events(page))
    _clause(page, "ends with all")
    assert page.evaluate("report.selection.link()") == f"#from={end}&to=end"


def _events(page: Page) -> list[str]:
    return texts(page, ".events > li .text")


def test_the_service_has_the_same_summary(metalog: Metalog, stormy_log: Path, pages: Pages) -> None:
    with viewed(stormy_log) as url, Visitor(pages).visit(url) as page:
        page.wait_for_selector(".summary:not([aria-busy])")
        clauses = metalog("summary", stormy_log, "--json").json["clauses"]
        assert texts(page, ".summary li") == [each["text"] for each in clauses]
        _clause(page, "without a leader")
        assert page.evaluate("[report.selection.from, report.selection.to]") == [20, 35]


def test_an_event_opens_to_groups_of_what_changed_alike(stormy_page: Page) -> None:
    page = stormy_page
    select(page, 13, 26)
    shrank, lost = page.locator(".events .event").all()
    shrank.click()
    assert texts(page, ".events .groups summary") == [
        f"{PARTITIONS} partitions: ISR [1,2] to [1] PartitionChangeRecord 13-18",
        "broker:2: fenced false to true FenceBrokerRecord 19",
    ]
    shrank.click()
    lost.click()
    assert texts(page, ".events .groups summary") == [
        "broker:1: in_controlled_shutdown false to true BrokerRegistrationChangeRecord 20",
        f"{PARTITIONS} partitions: leader 1 to -1 PartitionChangeRecord 21-26",
    ]
    page.locator(".events .groups summary").nth(1).click()
    # It is filled once it is open.
    expect(page.locator(".events .groups .chip")).to_have_count(PARTITIONS)
    assert texts(page, ".events .groups .chip") == [
        f"partition:orders/{n}" for n in range(PARTITIONS)
    ]
    page.locator(".events .groups .chip").nth(2).click()
    assert selected(page) == (13, 26, "partition%3Aorders%2F2")


def test_the_difference_says_in_short_what_changed_alike(
    metalog: Metalog, stormy_log: Path, stormy_page: Page
) -> None:
    page = stormy_page
    select(page, 13, 26)
    alike = page.locator(".alike summary")
    expect(alike).to_have_text([f"{PARTITIONS} partitions: ISR [1,2] to [1], leader 1 to -1 "])
    alike.click()
    diff = metalog("diff", stormy_log, 12, 26).out
    expect(page.locator(".alike .chip")).to_have_count(PARTITIONS)
    names = texts(page, ".alike .chip")
    assert all(name in diff for name in names)
    select(page, 43, 43)
    expect(page.locator(".alike")).to_have_count(0)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("broker:2", ["--object", "broker:2"]),
        ("partition:orders/3", ["--object", "partition:orders/3"]),
        (
            "topic:orders",
            [
                *("--object", "topic:orders", "--object", "partition:orders/*"),
                *("--object", "config:topic/orders"),
            ],
        ),
    ],
)
def test_the_list_is_filtered_by_object_and_kind(
    metalog: Metalog, stormy_log: Path, stormy_page: Page, name: str, options: list[Any]
) -> None:
    page, end = stormy_page, stormy_page.evaluate("report.data.last")
    select(page, 0, end, name)
    told = _told(metalog, stormy_log, *options)
    assert _shown(page) == told
    command = texts(page, "section[aria-labelledby=happened] code")[0]
    quoted = command.replace("'", "")
    assert quoted == f"metalog timeline {stormy_log} --from 0 --to {end} {' '.join(options)}"
    page.locator(".filter .brokers").click()
    assert _shown(page) == _told(metalog, stormy_log, *options, "--type", "brokers")
    page.locator(".filter button", has_text="only ").click()
    assert _shown(page) == _told(metalog, stormy_log, "--type", "brokers")


def _told(metalog: Metalog, log: Path, *options: Any) -> list[str]:
    """Return the lines of `timeline` without their times."""
    told = lines(metalog("timeline", log, *options).out)
    return [line.split(" ", 1)[1] for line in told if line.startswith("2026-")]


def _shown(page: Page) -> list[str]:
    return [text.split(" ", 1)[1] for text in texts(page, ".events > li")]


def test_the_list_is_filtered_by_principal(stormy_page: Page) -> None:
    page = stormy_page
    page.keyboard.press("a")
    options = texts(page, ".filter option")
    assert options == ["by anyone", "User:alice", "User:bob"]
    page.locator(".filter select").select_option("User:alice")
    assert len(_shown(page)) == 2
    assert all("by User:alice (longer tails)" in text for text in _shown(page))
    assert (
        "no filter for the principal" in texts(page, "section[aria-labelledby=happened] .remark")[0]
    )
    assert " 2 of " in texts(page, "#happened small")[0]


def test_a_list_that_passes_midnight_has_the_date(stormy_page: Page) -> None:
    stormy_page.keyboard.press("a")
    days = stormy_page.evaluate(
        "[...document.querySelectorAll('.events > li')].map((li) => li.dataset.day ?? '')"
    )
    assert [day for day in days if day] == ["14 Jan 2026"]


def test_no_controller_is_a_gap_with_times(stormy_page: Page) -> None:
    gaps = stormy_page.evaluate(
        """async () => {
          const { gapText } = await import("report/terms.js");
          return report.picture.terms.map((t) => [t.node, t.epoch, t.next && gapText(t)]);
        }"""
    )
    assert gaps == [[1, 1, "no controller 22:50:07 to 2026-01-14 03:10:08"], [2, 2, None]]


def test_a_term_that_writes_seldom_has_no_gap_after_it(
    stormy_page: Page,
) -> None:
    """A pause no longer than three times the longest pause of a term is not worth telling."""
    found = stormy_page.evaluate(
        """async () => {
          const { termsOf } = await import("report/terms.js");
          const of = ([quiet, next]) =>
            termsOf([[0, 0, 1, 1, 1000, quiet], [9, next, 2, 2, next, 0]])[0].next;
          return [[0, 5999], [0, 6001], [4000, 12999], [4000, 13001]].map(of);
        }"""
    )
    assert found == [None, 6001, None, 13001]


def test_a_name_is_one_row_with_its_lives(stormy_page: Page) -> None:
    rows = stormy_page.evaluate("report.picture.topics.map((row) => [row.label, row.lives.length])")
    assert rows == [["orders", 2]]
    title = stormy_page.locator(".names .name", has_text="orders").get_attribute("title")
    assert title is not None
    assert title.endswith(", 2 lives of the name")
    stormy_page.locator(".names .open").click()
    assert texts(stormy_page, ".pick.partition") == [str(n) for n in range(PARTITIONS)]


def test_rows_are_marked(stormy_page: Page) -> None:
    marks = stormy_page.evaluate(
        """() => Object.fromEntries(report.picture.current.map((row) => {
          const found = report.picture.marks.of(row);
          return [row.label, found.map(({ row, kind }) => `${report.data.offset[row]} ${kind}`)];
        }))"""
    )
    # At 30 to 35 there are leaders again: the colours show it.
    assert marks["orders"] == [
        *("3 created", "5 deleted", "6 created"),
        *("43 configured", "43 noted", "45 reassigned", "45 elected"),
    ]
    assert marks["broker 1"] == ["1 created"]


def test_signs_that_would_touch_are_one_and_the_pointer_reads_all(
    metalog: Metalog, stormy_log: Path, stormy_page: Page
) -> None:
    page = stormy_page
    signs, said = page.evaluate(
        """async () => {
          const { signsOf } = await import("report/marks.js");
          const { nearMarks } = await import("report/under.js");
          const { picture, data } = report, row = picture.topics[0], { axis } = picture;
          const marks = picture.marks.of(row), found = signsOf(marks, axis);
          const config = marks.find(({ kind }) => kind === "configured");
          const near = nearMarks(picture, row, axis.x(config.time));
          return [found.map(({ x, kind }) => [kind, x]), near];
        }"""
    )
    places = [x for _, x in signs]
    assert all(abs(a - b) >= 11 for a, b in itertools.combinations(places, 2))
    # In order of importance; the rest had no room.
    assert [kind for kind, _ in signs] == ["deleted", "reassigned"]
    config, moved = (
        metalog("dump", stormy_log, "--from", at, "--to", at).out.split("T")[1].split("Z")[0]
        for at in (43, 45)
    )
    assert said == [
        f"reassignment at {moved} by User:alice",
        f"note at {config}",
        f"config at {config} by User:alice",
        f"leader moved at {moved} by User:alice",
    ]


@pytest.mark.parametrize(
    ("zone", "offset", "clock"),
    [("Asia/Tokyo", "+09:00", "07:50:07"), ("America/New_York", "-05:00", "17:50:07")],
)
def test_times_can_be_local(
    browser: Browser, stormy_report: Path, zone: str, offset: str, clock: str
) -> None:
    with browser.new_context(timezone_id=zone) as context:
        page = context.new_page()
        page.goto(stormy_report.as_uri())
        page.wait_for_selector(SHOWN)
        page.locator(".outage").wait_for()
        before = texts(page, ".said")[0]
        assert "2026-01-14T03:10:10.000Z" in before
        page.keyboard.press("u")
        assert texts(page, ".zone") == [zone]
        assert zone in texts(page, ".range")[0]
        select(page, 20, 26)
        assert texts(page, ".events time") == [f"{clock}.000"]
        stamp = page.locator(".events time").get_attribute("datetime")
        assert stamp is not None
        assert stamp.endswith(f"T{clock}.000{offset}")
        assert page.evaluate("stamp => Date.parse(stamp)", stamp) == 1_768_344_607_000
        page.locator(".zone").click()
        assert texts(page, ".events time") == ["22:50:07.000"]
