"""The twenty questions of docs/view.md, asked from the page as an operator would, in one browser.

The answers are those of the commands about the same logs.
"""

import asyncio
import json
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from playwright.sync_api import Page, expect

from metadata_log.format.batch import NewBatch
from metadata_log.kraft_format.names import META_PROPERTIES
from metadata_log.writer.log import MetadataLog
from tests.api.advise.clusters import voters_record
from tests.api.conftest import Metalog
from tests.api.report.conftest import SHOWN
from tests.api.report.page_actions import lines, show_all, texts
from tests.api.report.served import Visitor, viewed
from tests.api.report.stormy import EVENING_MS, write_stormy
from tests.api.report.test_other_questions import ask
from tests.browser import Pages, apart
from tests.metadata_log.conftest import StepClock
from tests.metadata_log.kraft.logs import LogFiles, batch, leader_change, topic

_ANSWER = "main > .answer, .asked .answer, .columns .answer:not([hidden])"


async def _write_night(directory: Path) -> None:
    """Write a night in which a broker flaps, leaders are lost, and a move never ends."""
    await write_stormy(directory)
    log = await MetadataLog.open(directory, clock=StepClock(EVENING_MS + 86_400_000), node_id=2)
    await log.append(NewBatch(records=(voters_record(1, 2, 3),)))
    await log.close()


class Logs(NamedTuple):
    """A log, and the directories of two of five voters, whose logs part."""

    night: Path
    nodes: tuple[Path, Path]


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Logs:
    directory = tmp_path_factory.mktemp("twenty")
    apart(asyncio.run, _write_night(directory / "night"))
    nodes = directory / "kafka1", directory / "kafka2"
    start = batch(0, 1, leader_change())
    for number, (node, end) in enumerate(
        zip(nodes, (batch(1, 1, topic("lost")), batch(1, 2, leader_change(2))), strict=True), 1
    ):
        LogFiles(node).segment(0, start, end)
        (node / META_PROPERTIES).write_text(f"cluster.id=c\nnode.id={number}\n")
    return Logs(directory / "night", nodes)


class Operator(NamedTuple):
    """Who asks, by the page and by the command line."""

    page: Page
    logs: Logs
    metalog: Metalog

    def go(self, *, to_list: bool) -> None:
        """Go to the list of logs, or to the page of the night, by their links."""
        is_at_list = "/logs/" not in self.page.url
        if is_at_list != to_list:
            self.page.get_by_role("link", name="all logs" if to_list else "night").first.click()
            self.page.wait_for_selector(".logs .summary" if to_list else SHOWN)
        folded = self.page.locator("details.other:not([open]) > summary")
        if folded.count():
            folded.click()
            self.page.locator(".other option").first.wait_for(state="attached")

    def of_log(self, command: str) -> Any:
        """Return what a command about the night says as JSON."""
        words = [str(self.logs.night) if word == "LOG" else word for word in shlex.split(command)]
        return self.metalog(*words, "--json").lines_or_json

    def same(self) -> list[str]:
        """Return the lines that the command below the open answer prints."""
        (command,) = texts(self.page, ".answer:not([hidden]) .command code")
        return lines(self.metalog(*shlex.split(command)[1:]).out)

    def check_events(self, *options: str, count: int) -> None:
        """Compare the list of events with what `timeline` prints."""
        told = lines(self.metalog("timeline", self.logs.night, *options).out)
        shown = texts(self.page, ".events > li .text")
        assert len(shown) == count
        for text, line in zip(shown, told, strict=False):
            assert text in line

    def asks(self, name: str, /, **fields: object) -> Any:
        """Ask one of *more questions*; return the answer, from the file that the page saves."""
        ask(self.page, name, **fields)
        assert texts(self.page, ".found .failed") in ([], [""])
        with self.page.expect_download() as download:
            self.page.locator(".found button.save").click()
        text = Path(download.value.path()).read_text()
        return text if name in ("report", "export commands") else json.loads(text)

    def shows(self, *told: object) -> None:
        """Check that the open answer of *more questions* says something."""
        (found,) = texts(self.page, ".found")
        for each in told:
            assert str(each) in found, (each, found)


def check_same(found: dict[str, Any], told: dict[str, Any], *fields: str) -> None:
    """Compare fields of the answers of page and command."""
    assert {name: found[name] for name in fields} == {name: told[name] for name in fields}


def _why_no_leader(of: Operator) -> None:
    # The page opens on the last time without a leader.
    of.page.keyboard.press("w")
    expect(of.page.locator(".answer h3")).to_contain_text("#leader is ")
    shown = texts(of.page, ".answer h3, .answer .remark, .answer li")
    assert " ".join(shown) == " ".join(line for line in of.same() if line)


def _lives(of: Operator) -> None:
    told = of.of_log("topics lives orders --log LOG")["lives"]
    assert len(told) == 2
    assert of.asks("topics lives", name="orders")["lives"] == told
    of.shows(*[life["topic_id"] for life in told])


def _flaps(of: Operator) -> None:
    told = of.of_log("outages LOG --broker 2 --from 0 --to 47")
    found = of.asks("outages", broker=2, **{"from": 0, "to": 47})
    check_same(found, told, "intervals")
    of.shows("broker:2", "4 h 20 min")


def _outages(of: Operator) -> None:
    of.page.keyboard.press("a")
    of.page.locator(".links button", has_text="outages").click()
    shown = of.page.locator(".answer h3")
    told = of.of_log("outages LOG --from 0 --to 47")["intervals"]
    expect(shown).to_contain_text(f"{len(told)} outages")
    show_all(of.page, ".answer ol")
    assert len(texts(of.page, ".answer li")) == len(told)
    (command,) = texts(of.page, ".answer .command code")
    assert command.startswith("metalog outages ")


def _what_happened(of: Operator) -> None:
    page = of.page
    for field, text in (("from", "2026-01-14T03:10:09"), ("to", "2026-01-14T03:10:12")):
        page.locator(f"#{field}").fill(text)
    page.get_by_role("button", name="load").click()
    expect(page.locator("#from")).to_have_value("28")
    page.keyboard.press("a")
    of.check_events("--from", "2026-01-14T03:10:09", "--to", "2026-01-14T03:10:12", count=4)
    page.locator("#from").fill("start")
    page.locator("#to").fill("end")
    page.get_by_role("button", name="load").click()
    expect(page.locator("#from")).to_have_value("0")


def _was_it_healthy(of: Operator) -> None:
    at = "2026-01-14T03:00"
    found = of.asks("image overview", at=at)
    told = of.metalog("image", of.logs.night, "--at", at).out
    counts = [found[name] for name in ("partition_count", "leaderless", "under_replicated")]
    assert counts == [6, 6, 6]
    assert "6 partitions: {} without a leader, {} under-replicated".format(*counts[1:]) in told
    assert [each["is_fenced"] for each in found["brokers"]] == [False, True]
    of.shows("leaderless 6", "under replicated 6", f"as of offset {found['as_of']}")
    assert told.startswith(f"as of offset {found['as_of']},")


def _controllers(of: Operator) -> None:
    of.page.keyboard.press("a")
    of.page.get_by_role("button", name="controllers").click()
    of.check_events("--type", "controllers", count=3)
    of.page.get_by_role("button", name="controllers").click()


def _config(of: Operator) -> None:
    of.page.keyboard.press("/")
    of.page.keyboard.type("config:topic/orders")
    of.page.keyboard.press("Enter")
    of.page.keyboard.press("a")
    of.page.keyboard.press("h")
    expect(of.page.locator(".answer:not([hidden]) li")).to_have_count(1)
    assert " ".join(texts(of.page, ".answer:not([hidden]) li")) in " ".join(of.same())
    # The picked object is that of the next question.
    found = of.asks("blame")
    assert found["fields"] == of.of_log("blame LOG config:topic/orders")["fields"]
    of.shows("User:alice", "longer tails")


def _clash(of: Operator) -> None:
    found = of.asks("compare", logs="kafka1, kafka2")
    assert found == of.metalog("compare", *of.logs.nodes, "--json").json
    assert found["divergence"]["offset"] == 1
    of.shows("topic lost created", *of.logs.nodes)


def _lost_quorum(of: Operator) -> None:
    found = of.asks("advise", voters="1,2, 3,4,5")
    assert found == of.metalog("advise", *of.logs.nodes, "--voters", "1,2,3,4,5", "--json").json
    assert found["seed"] == str(of.logs.nodes[1])
    of.shows(found["reason"], *found["steps"], "topic lost created")


def _voters(of: Operator) -> None:
    found = of.asks("image", parts="voters")
    assert found["parts"] == of.of_log("image LOG --part voters")["parts"]
    of.shows("old3.example")
    found = of.asks("history", object="voters")
    of.shows("VotersRecord", 47)
    assert found["offset"] == of.of_log("history LOG voters")[0]["offset"] == 47


def _upgrade(of: Operator) -> None:
    found = of.asks("upgrade-check", to="4.4")
    told = of.of_log("upgrade-check LOG --to 4.4")
    check_same(found, told, "findings")
    of.shows(*[each["text"] for each in told["findings"]])


def _reassignment(of: Operator) -> None:
    found = of.asks("reassignments list", at="end")
    told = of.of_log("reassignments list --log LOG")["reassignments"]
    assert found["reassignments"] == told
    assert len(told) == 1
    of.shows("orders", "not registered")


def _which_disks(of: Operator) -> None:
    found = of.asks("compare")
    assert found == of.metalog("compare", of.logs.night, *of.logs.nodes, "--json").json
    of.shows("do not belong together")


def _size(of: Operator) -> None:
    found = of.asks("du", at="end")
    assert found["rows"] == of.of_log("du LOG")["rows"]
    of.shows("PartitionChangeRecord", "KiB")


def _yesterday(of: Operator) -> None:
    command = ("export", "commands", of.logs.night, "--at", 10, "--only", "topic:orders")
    script = of.metalog(*command).out
    assert "--create --topic orders" in script
    assert of.asks("export commands", at=10, only="topic:orders") == script
    assert of.page.locator("pre.script").text_content() == script
    # What the page does not write itself: the command can be copied as it is.
    *_, line = texts(of.page, ".elsewhere .command code")
    to = of.page.evaluate("report.selection.to")
    new = of.logs.night.with_name("NEW")
    assert line == f"metalog export kraft {of.logs.night} NEW --as checkpoint --at {to}"
    words = [str(new) if word == "NEW" else word for word in shlex.split(line)[1:]]
    assert of.metalog(*words, "--lossy").code == 0


def _what_if(of: Operator) -> None:
    of.page.keyboard.press("a")
    of.page.locator("input.without").fill("broker:2#fenced=true")
    of.page.get_by_role("button", name="what would have happened?").click()
    answer = of.page.get_by_role("region", name="what if not")
    expect(answer).to_contain_text("would have been different")
    told = of.of_log("what-if LOG --at 0 --to 47 --without broker:2#fenced=true")
    count = len({each["object"] for each in told["partings"]})
    assert count
    expect(answer).to_contain_text(f"{count} object")
    answer.get_by_role("button", name="close").click()


def _support(of: Operator) -> None:
    file = of.logs.night.with_name("written.html")
    assert of.metalog("report", of.logs.night, file, "--mask-hosts").code == 0
    found = of.asks("report", mask_hosts=True, **{"from": "start", "to": "end"})
    assert found == file.read_text()


def _drift(of: Operator) -> None:
    found = of.asks("diff", object="config:topic/orders", **{"from": 40, "to": "end"})
    told = of.of_log("diff LOG 40 end --object config:topic/orders")["changes"]
    assert found["changes"] == told
    assert len(told) == 1
    of.shows("retention.ms", "86400000")


def _since_when(of: Operator) -> None:
    of.page.get_by_role("button", name="check invariants").click()
    checked = of.page.get_by_role("region", name="check", exact=True)
    told = of.of_log("check LOG")["violations"]
    expect(checked).to_contain_text(f"{len(told)} violation")
    expect(checked).to_contain_text(told[0]["text"])
    of.page.keyboard.press("e")
    of.page.keyboard.type("partitions.exists(p, p.leader == -1)")
    of.page.keyboard.press("Enter")
    found = of.page.get_by_role("region", name="where it is true")
    flips = of.of_log("bisect LOG 'partitions.exists(p, p.leader == -1)'")["flips"]
    expect(found.locator("li")).to_have_count(len(flips))
    assert [text.split(" ")[0] for text in texts(of.page, ".asked ol li")][-len(flips) :] == [
        str(each["offset"]) for each in flips
    ]


Question = Callable[[Operator], None]

OF_ALL: dict[int, Question] = {9: _clash, 10: _lost_quorum, 14: _which_disks}
"""Asked of several logs, on the page that lists them; by the number in docs/view.md."""

OF_ONE: dict[int, Question] = {
    1: _why_no_leader,
    2: _lives,
    3: _flaps,
    4: _outages,
    5: _what_happened,
    6: _was_it_healthy,
    7: _controllers,
    8: _config,
    11: _voters,
    12: _upgrade,
    13: _reassignment,
    15: _size,
    16: _yesterday,
    17: _what_if,
    18: _support,
    19: _drift,
    20: _since_when,
}
"""Asked on a log's page."""


@pytest.fixture(scope="module")
def visited(logs: Logs, pages_of_package: Pages) -> Iterator[Page]:
    """The list of the logs; the page that all questions are asked from."""
    with (
        viewed(logs.night, *logs.nodes) as url,
        Visitor(pages_of_package).visit(url, until=".logs .summary") as page,
    ):
        yield page


def test_all_twenty_are_asked() -> None:
    assert {*OF_ALL, *OF_ONE} == set(range(1, 21))


@pytest.mark.parametrize("number", [*OF_ALL, *OF_ONE])
def test_a_question_is_answered_by_the_page_as_by_the_command(
    visited: Page, logs: Logs, metalog: Metalog, number: int
) -> None:
    operator = Operator(visited, logs, metalog)
    operator.go(to_list=number in OF_ALL)
    (OF_ALL | OF_ONE)[number](operator)
