"""For random ranges of real logs, the page of `metalog view` shows what the commands print."""

import contextlib
import random
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.api.conftest import Metalog
from tests.api.report.page_actions import lines, select, show_all, texts, wait_until_idle
from tests.api.report.served import Visitor, viewed
from tests.api.report.test_health import plainly, said_by_page
from tests.browser import Pages
from tests.real_logs import REAL_LOGS, DataSet, data_sets
from tests.replay.incidents.real import imported
from tests.samples import IS_WHOLE, cases, sampled

_SMALL = ("azercell3-3node-legacy/data_kafka1", "gritlab-history/kafka-data")
"""The logs of `make test`; all with `make heavy`."""

_LOGS = [each for each in data_sets() if not each.is_copy and (IS_WHOLE or str(each) in _SMALL)]

_COMMAND = ".command code"
_DIFFERENCE = "section[aria-labelledby=difference]"

_EVENTS = """async ([from, to]) => {
  const { eventParts } = await import("report/words.js");
  return [...report.data.events.told(from, to)].map((told) => {
    const { time, offsets, text, by } = eventParts(told);
    return `${time} ${offsets} ${text} ${by}`.trim();
  });
}"""


_VALUES = """() => [...document.querySelectorAll(".changes .object")].flatMap((object) =>
  [...object.querySelectorAll(".line")].filter((line) => line.querySelector("button.value"))
    .map((line) => [object.querySelector(".name-of").innerText,
      line.querySelector(".field").innerText.replace(/[:=]\\s*$/, "")]))"""

_NAMES = """() => {
  const { data, selection } = report, row = data.rowAt(selection.to);
  const all = Array.from({ length: data.objects }, (_, object) => object);
  return all.filter((each) => data.isThere(each, row)).map((each) => data.nameAt(each, row));
}"""

_OUTAGES = "([from, to]) => report.answers.questions.outages(from, to, null)"


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A mirror of each real log, by the last part of its path."""
    if not _LOGS:
        pytest.skip(f"no real Kafka logs at {REAL_LOGS}")
    return {_name(each): _mirror(each, tmp_path_factory.mktemp("real")) for each in _LOGS}


def _name(data_set: DataSet) -> str:
    return str(data_set).replace("/", "-")


def _mirror(data_set: DataSet, folder: Path) -> Path:
    return imported(data_set, folder).rename(folder / _name(data_set))


@pytest.fixture(scope="module")
def url(logs: dict[str, Path]) -> Iterator[str]:
    """The URL of one view of all of them."""
    with viewed(*logs.values()) as found:
        yield found


def _ranges(chosen: random.Random, last: int, count: int) -> Iterator[tuple[int, int]]:
    """Yield random ranges within offsets 0 to `last`, of all lengths."""
    for _ in range(count):
        length = int(last ** chosen.random())
        first = chosen.randint(0, last - length)
        yield first, first + length


def _told(metalog: Metalog, page: Page, selector: str) -> str:
    """Run the command that the page shows; return what it printed."""
    _, *arguments = shlex.split(page.locator(f"{selector} {_COMMAND}").first.inner_text())
    answer = metalog(*arguments)
    assert answer.code == 0, answer.err
    return answer.out


@contextlib.contextmanager
def _named(what: str) -> Iterator[None]:
    """Say in a failure what it is about."""
    try:
        yield
    except AssertionError as error:
        error.add_note(what)
        raise


def _timeline(metalog: Metalog, log: Path) -> list[str]:
    """Return a line of each event; what is said about the log itself is left out."""
    told = lines(metalog("timeline", log).out)
    return [line for line in told if line[:1].isdigit()]


def _check_events(told: list[str], page: Page, first: int, last: int) -> None:
    """The events that begin in a range are those of `timeline` that do."""
    begins = [int(line.split(" ", 2)[1].split("-")[0]) for line in told]
    wanted = [line for line, begin in zip(told, begins, strict=True) if first <= begin <= last]
    assert lines("\n".join(page.evaluate(_EVENTS, [first, last]))) == wanted


def _check_difference(metalog: Metalog, page: Page) -> list[tuple[str, str | None]]:
    """Return the changed values that are shown, by object and field."""
    head, *wanted = lines(_told(metalog, page, _DIFFERENCE))
    page.locator(f"{_DIFFERENCE} h2 small", has_text=head).wait_for()
    show_all(page, ".changes")
    assert texts(page, ".changes .name-of, .changes .line") == wanted
    return [tuple(each) for each in page.evaluate(_VALUES)]


def _objects(page: Page) -> list[tuple[str, str | None]]:
    """Return the objects at the end of the selection."""
    found: list[str] = page.evaluate(_NAMES)
    return [(name, None) for name in found]


def _check_why(metalog: Metalog, page: Page, name: str, field: str | None) -> None:
    page.evaluate("([name, field]) => report.answers.why(name, field)", [name, field])
    expect(page.locator(".answer h3")).to_be_visible()
    show_all(page, ".chain")
    head, *rest = [line for line in lines(_told(metalog, page, ".answer")) if line]
    assert texts(page, ".answer h3") == [head]
    assert " ".join(texts(page, ".answer .remark, .answer li")) == " ".join(rest), head


def _check_outages(metalog: Metalog, page: Page, log: Path, first: int, last: int) -> int:
    """Return the number of outages in a range."""
    found: list[dict[str, Any]] = page.evaluate(_OUTAGES, [first, last])
    told = metalog("outages", log, "--from", first, "--to", last, "--json").json["intervals"]
    assert [_of_page(each) for each in found] == [_of_command(each) for each in told]
    return len(told)


def _of_page(outage: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(outage[name] for name in ("object", "kind", "from", "to", "duration", "record"))


def _of_command(outage: dict[str, Any]) -> tuple[Any, ...]:
    names = ("object", "kind", "from_offset", "to_offset", "duration_ms", "cause")
    return tuple(outage[name] for name in names)


@pytest.mark.real_logs
@sampled
def test_any_range_of_a_real_log_is_shown_as_the_commands_say(
    metalog: Metalog, url: str, logs: dict[str, Path], pages_of_package: Pages
) -> None:
    count = cases(500, 6)
    asked = outages = whys = 0
    for number, (name, log) in enumerate(logs.items()):
        chosen = random.Random(number)
        told = _timeline(metalog, log)
        with Visitor(pages_of_package).visit(f"{url}/logs/{name}/#first=0") as page:
            last: int = page.evaluate("report.data.last")
            for first, end in _ranges(chosen, last, len(range(number, count, len(logs)))):
                with _named(f"{name} from {first} to {end}"):
                    select(page, first, end)
                    wait_until_idle(page)
                    _check_events(told, page, first, end)
                    values = _check_difference(metalog, page) or _objects(page)
                    assert said_by_page(page) == plainly(log, end)
                    outages += _check_outages(metalog, page, log, first, end)
                    if values:
                        _check_why(metalog, page, *chosen.choice(values))
                    asked, whys = asked + 1, whys + bool(values)
    assert asked == count
    assert outages
    assert whys > count // 2
