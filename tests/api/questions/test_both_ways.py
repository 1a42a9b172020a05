"""Every question has the same answer from a log directory and from the service of that log."""

import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from api.cli.main import run
from api.questions.table import QUESTIONS, find_question
from tests.api.conftest import Answer, Metalog
from tests.api.questions.asked import VERBS
from tests.api.services import serving

FILE = "FILE.html"
"""Stands for a file to be written."""

OF_THE_MOMENT = frozenset({"applied_offset", "controller_id", "lags", "clock_difference_ms"})
"""Fields that a service knows from heartbeats and settings, and a log directory does not hold; and
what depends on the time of the question.
"""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    """A log, and the service that writes it, with no changes during the tests."""
    log = tmp_path_factory.mktemp("both") / "log"
    assert run(["demo", str(log), "--topics", "6", "--brokers", "3", "--changes", "200"]) == 0
    with serving(log, "--session-timeout-ms", 600_000) as service:
        yield log, service.kafka


def test_every_question_is_asked() -> None:
    assert set(VERBS) == set(QUESTIONS)


@pytest.mark.parametrize(
    "arguments",
    [pytest.param(a, id=f"{name} {i}") for name, of in VERBS.items() for i, a in enumerate(of)],
)
def test_log_and_service_answer_alike(
    metalog: Metalog, served: tuple[Path, str], arguments: list[object], tmp_path: Path
) -> None:
    log, server = served
    arguments = [tmp_path / "file.html" if a == FILE else a for a in arguments]
    if "LOG" in arguments:
        of_log = [log if a == "LOG" else a for a in arguments]
        of_server = [a for a in arguments if a != "LOG"] + ["--server", server]
    else:
        of_log, of_server = [[*arguments, *w] for w in (("--log", log), ("--server", server))]
    read, asked = metalog(*of_log, "--json"), metalog(*of_server, "--json")
    assert (read.code, asked.code, asked.err) == (0, 0, read.err)
    assert common(asked.lines_or_json) == common(read.lines_or_json)
    # Both texts are made of that answer.
    assert _live(metalog(*of_server).out) == _live(metalog(*of_log).out)


def common(value: Any) -> Any:
    """Return JSON without the values that depend on the time of the question."""
    if isinstance(value, dict):
        return {k: common(v) for k, v in value.items() if k not in OF_THE_MOMENT}
    return [common(item) for item in value] if isinstance(value, list) else value


def _live(text: str) -> str:
    """Return a text without the lags, which only a service knows, and the age of the log."""
    return re.sub(r"(\[[0-9?,]+\]|, \d+ s behind this machine's clock)$", "", text, flags=re.M)


@pytest.mark.parametrize(
    "name", [n for n in QUESTIONS if find_question(n).item is None and n != "tail"]
)
def test_every_document_says_where_it_stands(
    metalog: Metalog, served: tuple[Path, str], name: str
) -> None:
    arguments = VERBS[name][0]
    where = () if "LOG" in arguments else ("--log", served[0])
    document = metalog(*[served[0] if a == "LOG" else a for a in arguments], *where, "--json").json
    assert {"as_of", "history_start", "log_end", "not_understood"} <= document.keys()


@pytest.mark.parametrize(
    "arguments",
    [
        ["topics", "describe", "never"],
        ["topics", "describe", "__consumer_offsets", "--at", 3],
        ["partitions", "describe", "__consumer_offsets/99"],
        ["brokers", "describe", 77],
        ["configs", "describe", "topic/never"],
    ],
    ids=lambda arguments: " ".join(map(str, arguments)),
)
def test_log_and_service_say_alike_why_an_object_is_absent(
    metalog: Metalog, served: tuple[Path, str], arguments: list[object], tmp_path: Path
) -> None:
    log, server = served
    arguments = [tmp_path / "file.html" if a == FILE else a for a in arguments]
    read, asked = metalog(*arguments, "--log", log), metalog(*arguments, "--server", server)
    assert ": the log holds offsets 0 to " in read.err or "does not exist yet" in read.err
    assert (asked.code, asked.out, asked.err) == (read.code, read.out, read.err)


def test_service_counts_what_lasts_up_to_now(metalog: Metalog, served: tuple[Path, str]) -> None:
    log, server = served
    recorded = _lasting(metalog("outages", log, "--json"))
    assert recorded
    assert _lasting(metalog("outages", log, "--to", "now", "--json")) == recorded
    assert _lasting(metalog("outages", "--to", "end", "--server", server, "--json")) == recorded
    for options in ([], ["--to", "now"], ["--to", "2100-01-01T00:00:00Z"]):
        before_ms = time.time_ns() // 1_000_000
        live = _lasting(metalog("outages", *options, "--server", server, "--json"))
        after_ms = time.time_ns() // 1_000_000
        assert live.keys() == recorded.keys()
        for (_, _, from_ms), duration_ms in live.items():
            assert before_ms <= from_ms + duration_ms <= after_ms


def _lasting(told: Answer) -> dict[tuple[str, str, int], int]:
    """Return the durations of the ongoing outages, by object, kind and start."""
    return {
        (each["object"], each["kind"], each["from_time"]): each["duration_ms"]
        for each in told.json["intervals"]
        if each["to_offset"] is None
    }
