"""Every question has the same answer over HTTP as the JSON of the command line."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest

from api.cli.main import run
from api.http.questions import HTML, LINES, path_of
from tests.api.conftest import Metalog
from tests.api.questions.asked import QUERIES, VERBS, Query
from tests.api.questions.test_both_ways import common
from tests.api.services import serving


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, httpx.Client]]:
    """A log, and the service that writes it, with no changes during the tests."""
    log = tmp_path_factory.mktemp("http") / "log"
    assert run(["demo", str(log), "--topics", "6", "--brokers", "3", "--changes", "200"]) == 0
    options = ("--session-timeout-ms", 600_000, "--http", "127.0.0.1:0")
    with (
        serving(log, *options) as service,
        httpx.Client(base_url=service.http, timeout=60) as client,
    ):
        yield log, client


def test_every_question_is_asked() -> None:
    assert {name: len(of) for name, of in QUERIES.items()} == {
        name: len(of) for name, of in VERBS.items()
    }


_OF_PAGES = ("report", "image overview")
"""Questions that the command line answers with a page or a text."""

_ALIKE = [
    pytest.param(name, query, VERBS[name][number], id=f"{name} {number}")
    for name, queries in QUERIES.items()
    for number, query in enumerate(queries)
    if query is not None and name not in _OF_PAGES
]


@pytest.mark.parametrize(("name", "query", "arguments"), _ALIKE)
def test_http_and_command_line_answer_alike(
    metalog: Metalog,
    served: tuple[Path, httpx.Client],
    name: str,
    query: Query,
    arguments: list[object],
) -> None:
    log, client = served
    of_log = [log if a == "LOG" else a for a in arguments]
    if "LOG" not in arguments:
        of_log += ["--log", log]
    read = metalog(*of_log, "--json")
    response = client.get(path_of(name), params=query)
    assert response.status_code == 200, response.text
    printed, told = read.lines_or_json, _told(response)
    if name == "tail":  # the command prints its rows, up to a count, and a last line
        printed, told = printed[:-1], told["rows"][: len(printed) - 1]
    if isinstance(printed, dict):  # the command line was given a time without a zone
        printed.pop("time_zone", None)
    assert common(told) == common(printed)


def _told(response: httpx.Response) -> Any:
    if response.headers["content-type"] == LINES:
        return [msgspec.json.decode(line) for line in response.text.splitlines()]
    return response.json()


def test_a_report_is_a_page(served: tuple[Path, httpx.Client]) -> None:
    _, client = served
    for query in QUERIES["report"]:
        response = client.get(path_of("report"), params=query)
        assert response.headers["content-type"].startswith(HTML)
        assert response.text.startswith("<!doctype html>")
