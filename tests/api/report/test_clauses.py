"""A click on a clause of the summary shows what the clause is about, as real logs have it."""

import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page

from tests.api.conftest import Metalog
from tests.api.report.conftest import Opened
from tests.api.report.page_actions import texts, wait_until_idle
from tests.real_logs import DataSet, each_data_set_where
from tests.replay.incidents.real import imported


def _of(name: str, node: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    return each_data_set_where(
        lambda each: (each.name, each.node) == (name, node), is_heavy=lambda _: False
    )


_one_address = _of("ogs59-3node-history", "data_kafka-1")
_crash_loop = _of("otus-histories", "HW02_kafka_data")
_unclean = _of("indus-rig-removetopic-snapshots", "kafka-data")
_healthy = _of("kafka-raft-3node-33", "data_kafka3")


def _opened(metalog: Metalog, data_set: DataSet, opened: Opened, tmp_path: Path) -> Page:
    log, file = imported(data_set, tmp_path), tmp_path / "report.html"
    assert metalog("report", log, file).code == 0
    return opened(file)


def _click(page: Page, text: str) -> list[int]:
    """Click on a clause; return the selection."""
    page.locator(".summary button", has_text=text).first.click()
    wait_until_idle(page)
    assert page.evaluate("scrollY") == 0
    found: list[int] = page.evaluate("[report.selection.from, report.selection.to]")
    return found


@_one_address
def test_what_is_wrong_at_the_end_is_selected_up_to_it(
    metalog: Metalog, data_set: DataSet, opened: Opened, tmp_path: Path
) -> None:
    page = _opened(metalog, data_set, opened, tmp_path)
    page.set_viewport_size({"width": 1280, "height": 900})
    end = page.evaluate("report.data.last")
    assert _click(page, "ends with 56 of 56")[1] == end
    assert texts(page, ".answer h3") == ["56 of 56 partitions are under-replicated"]
    info = metalog("info", tmp_path / "log", "--json").json
    said = texts(page, ".said")[0].removeprefix(f"At offset {end}, ").split("Z: ")[0]
    assert page.evaluate("text => Date.parse(`${text}Z`)", said) == info["latest_timestamp"]
    # The band reaches the end, too.
    assert page.evaluate(
        "report.picture.axis.x(report.picture.timeAt(report.data.last)) >= "
        "report.picture.axis.x(report.data.header.times[1])"
    )
    steps = texts(page, ".steps > li")
    assert len(steps) == 1
    assert steps[0].startswith(
        "Give each broker its own advertised address: brokers 1, 2, 3 advertise "
        "192.168.1.125:9092, since 2025-09-22T10:45:41.747Z, so followers and clients"
    )


@_crash_loop
def test_restarts_are_selected_from_the_first_stop(
    metalog: Metalog, data_set: DataSet, opened: Opened, tmp_path: Path
) -> None:
    page = _opened(metalog, data_set, opened, tmp_path)
    assert _click(page, "the process of broker 1 started 16 more times")[0] == 1272
    events = texts(page, ".events > li .text")
    assert sum("became active" in each for each in events) == 16
    first, _ = _click(page, "restarted 6 times")
    assert first == 163
    stopped = metalog("timeline", tmp_path / "log", "--from", first, "--to", first).out
    assert "broker 1 was fenced" in stopped


@_unclean
def test_an_unclean_election_opens_the_outage_that_it_ended(
    metalog: Metalog, data_set: DataSet, opened: Opened, tmp_path: Path
) -> None:
    page = _opened(metalog, data_set, opened, tmp_path)
    page.evaluate("report.answers.close()")
    assert _click(page, "1 unclean election")[1] == 3602
    assert texts(page, ".answer h3") == ["partition:test-topic/0 had no leader"]
    ended, *_ = [dd for dd in texts(page, ".outage dd") if "elected uncleanly" in dd]
    assert "broker 1 leads, elected uncleanly" in ended
    step = texts(page, ".steps > li")[0]
    assert step.startswith(
        "Compare what producers had acknowledged with the end of 1 partition, and see what broker "
        "1 found in its log as it started: no other replica exists"
    )


@pytest.mark.parametrize(
    "clause", ["ends with all 60 partitions healthy", "50 of 60 partitions have one replica"]
)
@_healthy
def test_a_healthy_end_opens_the_replicas_of_its_partitions(
    metalog: Metalog, data_set: DataSet, opened: Opened, tmp_path: Path, clause: str
) -> None:
    page = _opened(metalog, data_set, opened, tmp_path)
    assert _click(page, clause)[1] == page.evaluate("report.data.last")
    assert texts(page, ".answer h3") == [
        "60 partitions at the end, each with a leader and all replicas in sync"
    ]
    assert "A partition with one replica is down" in texts(page, ".answer .remark")[0]
    alone, replicated = texts(page, ".at-end > li")
    assert alone == "50 partitions have one replica: __consumer_offsets (50)"
    assert replicated.startswith("10 partitions have 3 replicas: ")
    assert texts(page, ".events .nothing") == []
    assert texts(page, ".events > li")


@each_data_set_where(
    lambda each: str(each).startswith(("indus-rig", "azercell3")), is_heavy=lambda _: False
)
def test_an_outage_is_as_long_as_the_summary_says(
    metalog: Metalog, data_set: DataSet, opened: Opened, tmp_path: Path
) -> None:
    page = _opened(metalog, data_set, opened, tmp_path)
    answer = metalog("summary", tmp_path / "log", "--json").json
    (clause,) = [each["text"] for each in answer["clauses"] if each["about"] == "leaderless"]
    _click(page, clause[:20])
    terms = dict(zip(texts(page, ".outage dt"), texts(page, ".outage dd"), strict=True))
    time = max(answer["leaderless"], key=lambda each: each["least_ms"])
    bounds = [float(each) * 1_000 for each in re.findall(r"([\d.]+) s", terms["lasted"])]
    expected = [time["least_ms"], *([time["most_ms"]] if time["most_ms"] else [])]
    assert bounds == pytest.approx(expected, abs=50)
    assert terms["lasted"].startswith("at least ") == (time["most_ms"] is None)


@each_data_set_where(
    lambda each: str(each).startswith(("greenhouse", "azerc", "kafka-raft-3node-33/data_kafka3")),
    is_heavy=lambda _: False,
)
def test_the_legend_has_what_the_picture_has(
    metalog: Metalog, data_set: DataSet, opened: Opened, tmp_path: Path
) -> None:
    page = _opened(metalog, data_set, opened, tmp_path)
    intervals = metalog("outages", tmp_path / "log", "--json").json["intervals"]
    kinds = {each["kind"].replace("_", "-") for each in intervals} - {"leaderless"}
    answer = metalog("summary", tmp_path / "log", "--json").json
    times, about = answer["leaderless"], [each["about"] for each in answer["clauses"]]
    expected = [
        *["leaderless"] * (not all(each["is_planned"] for each in times)),
        *["planned stop"] * any(each["is_planned"] for each in times),
        *["under-replicated"] * ("under-replicated" in kinds),
        *["fenced"] * ("fenced" in kinds),
        *["shutting down"] * ("shutting-down" in kinds),
        *["not confirmed"] * ("tail" in about),
    ]
    assert texts(page, ".legend li[data-outage]") == expected
    signs = texts(page, ".legend .sign")
    assert any("created" in each for each in signs)
    assert not any("note" in each for each in signs)


@_healthy
def test_what_may_be_replaced_is_explained(
    metalog: Metalog, data_set: DataSet, opened: Opened, tmp_path: Path
) -> None:
    page = _opened(metalog, data_set, opened, tmp_path)
    _click(page, "not known to be committed")
    assert texts(page, ".answer h3") == ["Records from offset 0 on are not known to be committed"]
    command = texts(page, ".answer > .command code")[0]
    assert metalog(*shlex.split(command)[1:]).code == 0
