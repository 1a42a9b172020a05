"""`02:00`, `yesterday 14:00`, `last night` and `-3h`, wherever a point is accepted."""

import json
import shutil
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest

from api.http.questions import ROUTES
from api.questions.table import EXAMPLES, QUESTIONS
from metadata_log.files.fs import OsFs
from metadata_log.files.lock import lock_directory
from tests.api.conftest import Metalog
from tests.api.services import http_url
from tests.api.terminal import on_terminal
from tests.api.test_malformed_points import LOG_FIRST
from tests.stories.processes import Process

# The demo log begins at 2026-01-01T00:00 and ends before 14:00 of that day.
READ_AS = {
    "02:00": "2026-01-01T02:00:00+00:00",
    "today 03:30": "2026-01-01T03:30:00+00:00",
}

SAID = ("read_as", "time_zone", "clock_difference_ms")


def without_said(found: Any) -> Any:
    """Return an answer without what says as what a point was read, or depends on the time."""
    if isinstance(found, list):
        return [without_said(each) for each in found]
    if isinstance(found, dict):
        return {key: without_said(of) for key, of in found.items() if key not in SAID}
    return found


@pytest.mark.parametrize("verb", [verb for verb in LOG_FIRST if verb != "retain"])
@pytest.mark.parametrize("point", READ_AS)
def test_commands_answer_as_of_the_time(
    metalog: Metalog, demo_log: Path, verb: str, point: str
) -> None:
    answers = [
        metalog(verb, demo_log, *LOG_FIRST[verb](of), "--json") for of in (point, READ_AS[point])
    ]
    assert answers[0].code == answers[1].code == 0, answers[0].err
    spoken, absolute = (without_said(each.lines_or_json) for each in answers)
    assert spoken == absolute


def test_retain_takes_them(metalog: Metalog, demo_log: Path, tmp_path: Path) -> None:
    answers = []
    for number, point in enumerate(("01:00", "2026-01-01T01:00:00Z")):
        log = tmp_path / str(number)
        shutil.copytree(demo_log, log)
        found = metalog("retain", log, "--before", point, "--without-archive", "--json")
        assert found.code == 0
        answers.append(without_said(found.json))
    assert answers[0] == answers[1]


@pytest.mark.parametrize(
    ("zone", "read"),
    [
        ("UTC", "2026-01-01T02:00:00+00:00"),
        ("+02:00", "2026-01-01T02:00:00+02:00"),
        ("America/New_York", "2026-01-01T02:00:00-05:00"),
    ],
)
def test_the_answer_says_as_what_it_was_read(
    metalog: Metalog, demo_log: Path, zone: str, read: str
) -> None:
    found = metalog("image", demo_log, "--at", "02:00", "--time-zone", zone, "--json").json
    assert found["read_as"] == {"02:00": read}
    assert found["time_zone"] == zone
    plain = metalog("image", demo_log, "--at", "end", "--json").json
    assert "read_as" not in plain


def test_a_terminal_is_told_on_standard_error(demo_log: Path) -> None:
    shown = on_terminal("diff", demo_log, "-3h", "end", "--stat", with_errors=True)
    assert "-3h was read as 2026-01-01T" in shown
    assert "counted from the log's end in UTC; see --time-zone" in " ".join(shown.split())


def test_a_range_of_the_night(metalog: Metalog, demo_log: Path) -> None:
    night = ("--from", "last night", "--to", "last night", "--json")
    absolute = ("--from", "2025-12-31T22:00Z", "--to", "2026-01-01T06:00Z", "--json")
    assert without_said(metalog("outages", demo_log, *night).json) == without_said(
        metalog("outages", demo_log, *absolute).json
    )


def test_of_a_log_that_is_written_they_are_counted_from_now(
    metalog: Metalog, demo_log: Path, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    shutil.copytree(demo_log, log)
    counted_from_end = metalog("image", log, "--at", "02:00", "--json").json
    lock = lock_directory(OsFs(), log)
    try:
        counted_from_now = metalog("image", log, "--at", "02:00", "--json").json
    finally:
        lock.release()
    assert counted_from_end["as_of"] < counted_from_now["as_of"] == counted_from_now["log_end"] - 1
    assert counted_from_now["read_as"]["02:00"] > counted_from_end["read_as"]["02:00"]


def test_a_pair_of_logs_has_a_point_each(metalog: Metalog, demo_log: Path) -> None:
    found = metalog("diff", f"{demo_log}@01:00", f"{demo_log}@02:00", "--json")
    assert found.code == 0
    absolute = [f"{demo_log}@2026-01-01T0{hour}:00:00Z" for hour in (1, 2)]
    assert found.json["changes"] == metalog("diff", *absolute, "--json").json["changes"]


OWN = {
    "topics lives": {"name": "__consumer_offsets"},
    "configs describe": {"resource_name": "__consumer_offsets"},
    "configs explain": {"resource_name": "__consumer_offsets"},
    "history": {"object": "broker:1"},
    "blame": {"object": "broker:1"},
    "why": {"object": "broker:1"},
    "what-if": {"without": "topic:__consumer_offsets"},
}
"""Parameters of questions whose examples are not in the demo log."""


async def test_every_question_over_http_takes_them(
    started: list[Process], demo_log: Path, tmp_path: Path
) -> None:
    started.append(await Process.start(tmp_path / "view.txt", "view", demo_log))
    await started[-1].is_ready()
    url = http_url(started[-1].ready["http"])
    async with httpx.AsyncClient(base_url=url, timeout=60) as http:
        while (await http.get("/ready")).status_code != 200:
            pass
        for path, route in ROUTES.items():
            name = route.question.name
            if route.document is None or name == "tail":
                continue
            names = {parameter.name for parameter in route.parameters}
            points = sorted(names & {"from", "since", "at", "to"} - _no_points(name))
            needed = {
                each.name: EXAMPLES[each.name]
                for each in route.parameters
                if each.default is msgspec.NODEFAULT and each.name in EXAMPLES
            }
            given = {**needed, **QUESTIONS[name].example, **OWN.get(name, {})}
            spoken = {**given, **dict.fromkeys(points, "02:00")}
            absolute = {**given, **dict.fromkeys(points, READ_AS["02:00"])}
            answers = [await http.get(path, params=each) for each in (spoken, absolute)]
            assert answers[0].status_code == 200, (name, answers[0].text)
            found = [_told(each.text) for each in answers]
            assert without_said(found[0]) == without_said(found[1]), name
            if route.document.has_place and not route.is_stream:
                assert found[0]["read_as"] == {"02:00": READ_AS["02:00"]}, name
        refused = await http.get("/v1/image/overview", params={"at": "2:00"})
        assert refused.status_code == 400
        assert "'2:00' may mean 02:00 or 14:00" in refused.json()["detail"]


def _no_points(name: str) -> set[str]:
    """Return the names of parameters that look like points; `to` of an upgrade is a version."""
    return {"to"} if name == "upgrade-check" else set()


def _told(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return [json.loads(line) for line in text.splitlines()]
