"""The next steps of an outage: each row of the table is met, and its command answers."""

import asyncio
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from api.cli.main import run
from tests.api.conftest import Metalog
from tests.api.report.conftest import SHOWN, picture
from tests.api.report.page_actions import texts
from tests.api.report.unfinished import OUTAGES, write_unfinished
from tests.browser import Pages, apart

_NAMES = """async () => (await import("report/next_steps.js")).ADVICE.map(({ name }) => name)"""

_OPEN = """async ([name, kind]) => {
  const { outagesOf, STATES } = await import("report/outages.js");
  const { data, outages } = report, row = data.rows - 1, [object] = data.named(name);
  const last = outagesOf(data, object).filter(({ bit }) => STATES.get(bit).kind === kind).at(-1);
  outages.open([object], last.bit, last.row, null, true);
}"""

SAID = {
    "one address for several brokers": (
        "Give each broker its own advertised address: brokers 6, 7 advertise host-6:9092, since "
        "2026-01-13T22:50:17.000Z, so followers and clients that ask for one of them may reach "
        "another.",
        "host-6:9092",
    ),
    "no controller elects": (
        "Broker 1 is up and could lead 1 partition: look whether a controller is active.",
        "controller 1 became active",
    ),
    "nobody in sync": (
        "Nobody is in sync with 1 partition: see who was last, before you allow an unclean "
        "election.",
        "leader 1 -> none",
    ),
    "start the brokers that are waited for": (
        "Start broker 2: 1 partition waits for it.",
        "broker:2",
    ),
    "reassignment goes on": (
        "1 partition is being reassigned: see which replica has not joined.",
        "moves",
    ),
    "up, but not in sync": (
        "Broker 3 is up, but not in the ISR of 1 partition: see since when, and look at its "
        "disks, its network and its fetchers.",
        "isr: [1,2,3] -> [1,2]",
    ),
    "start or unregister the broker": (
        "Start broker 2, or unregister what will not come back: see which partitions wait.",
        "partition:waits/0",
    ),
    "elected uncleanly": (
        "Compare the log of broker 3, elected uncleanly, with that of broker 1, in sync before: "
        "1 partition.",
        "the last election was unclean",
    ),
    "left under-replicated": (
        "The ISR of 1 partition still lacks broker 3, which is up: see since when.",
        "partition:left/0",
    ),
    "stalled": (
        "See what held broker 8 up: the host (processor, memory, a paused virtual machine), its "
        "garbage collection, its disks. It was fenced, and came back without a restart.",
        "8       fenced",
    ),
    "one replica": (
        "Give topic single more replicas: with one, a partition is down whenever its broker is.",
        "single",
    ),
    "one in sync before": (
        "Only one replica of 1 partition was in sync before: see what took the others out.",
        "under_replicated  partition:alone/0",
    ),
    "deleted": (
        "If topic deleted was not to be deleted: this prints the commands that make it anew as it "
        "was, without its records.",
        "kafka-topics.sh",
    ),
    "down repeatedly": (
        "Broker 4 was down 2 times: compare when, and how long each time.",
        "fenced  broker:4",
    ),
}
"""What is advised, and a part of what its command says, by the name of the advice."""


@pytest.fixture(scope="module")
def unfinished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The log of `write_unfinished`."""
    log = tmp_path_factory.mktemp("unfinished") / "log"
    apart(asyncio.run, write_unfinished(log))
    return log


@pytest.fixture(scope="module")
def page_of_it(unfinished: Path, pages_of_package: Pages) -> Iterator[Page]:
    """The report of the log."""
    file = unfinished.parent / "report.html"
    assert run(["report", str(unfinished), str(file)]) == 0
    with pages_of_package.page() as page:
        page.goto(file.as_uri())
        page.wait_for_selector(SHOWN)
        yield page


def test_each_advice_has_an_outage(page_of_it: Page) -> None:
    assert page_of_it.evaluate(_NAMES) == list(SAID) == list(OUTAGES)


@pytest.mark.parametrize("name", SAID)
def test_advice_is_given_and_its_command_answers(
    metalog: Metalog, page_of_it: Page, name: str
) -> None:
    page_of_it.evaluate(_OPEN, OUTAGES[name])
    said, evidence = SAID[name]
    step = page_of_it.locator(".steps > li", has_text=said)
    expect(step).to_have_count(1)
    command = shlex.split(step.locator("code").inner_text())
    assert command[0] == "metalog"
    found = metalog(*command[1:])
    assert found.code == 0
    assert evidence in found.out + found.err
    picture(page_of_it, f"next {name}")


def test_who_shares_an_address_is_not_looked_at_alone(page_of_it: Page) -> None:
    page_of_it.evaluate(_OPEN, OUTAGES["one address for several brokers"])
    assert len(texts(page_of_it, ".steps > li")) == 1


def test_what_is_over_and_whole_needs_no_step(page_of_it: Page) -> None:
    page_of_it.evaluate(_OPEN, ["partition:alone/0", "under_replicated"])
    assert texts(page_of_it, ".steps li") == []
    # Nor does a broker that was down once, besides its first registration.
    page_of_it.evaluate(_OPEN, ["broker:5", "fenced"])
    assert texts(page_of_it, ".steps li") == []
    # A topic that was deleted later is not what to bring back.
    page_of_it.evaluate(_OPEN, ["partition:later/0", "leaderless"])
    assert texts(page_of_it, ".steps li") == []
