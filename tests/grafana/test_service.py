"""Every query of the dashboard over Prometheus, in a real one that scrapes real services."""

import contextlib
import json
import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from api.cli.main import run
from benchmarks.generate_kraft import generate
from tests.api.quorum.quorums import batch_end
from tests.api.recorder.running import mirror, recording
from tests.api.services import serving
from tests.forked_commands import METALOG
from tests.grafana.documents import documents
from tests.grafana.panels import queries_of
from tests.grafana.prometheus import SCRAPE_S, answered, prometheus
from tests.stand_in_quorum import Quorum

QUERIES = queries_of(json.loads(documents()["service.json"]))

_VALUES = {"$__rate_interval": "2s", "$__range": "1m", "$job": "metalog", "$mirror": "prod"}

_EMPTY = {
    "metalog_logins_total": "no listener asks for logins",
    'outcome="failed"': "no job fails",
}
"""Parts of queries that find nothing here, each with the reason."""

_LABEL_VALUES = re.compile(r"label_values\((\w+), (\w+)\)")


@pytest.fixture(scope="module")
def scraped(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """Prometheus, which scrapes `serve` with a broker, and `record`."""
    place = tmp_path_factory.mktemp("scraped")
    log = place / "log"
    assert run(["demo", str(log), "--topics", "3", "--brokers", "3", "--changes", "30"]) == 0
    node = generate(place / "node", 400, seed=3)
    file = place / "record.toml"
    keeps = ("--sql-history", "default", "--archive", place / "archive", "--upkeep-every-s", 1)
    session = ("--session-timeout-ms", 600_000)  # brokers of the demo send no heartbeats
    with (
        serving(log, *keeps, *session, "--http", "127.0.0.1:0") as service,
        _broker(service.kafka, place / "broker"),
        Quorum(node, end_offset=batch_end(node, 200)) as quorum,
    ):
        (place / "checks.toml").write_text("[expect]\nsmall = 'size(topics) < 1'\n")
        file.write_text(mirror("prod", quorum, 'checks = "checks.toml"'))
        with recording(file) as recorder:
            recorder.wait_for(confirmed_end_offset__prod=quorum.leader.high_watermark)
            targets = {
                "metalog": service.http.removeprefix("http://"),
                "metalog-record": recorder.ready["metrics"],
            }
            with prometheus(place, targets) as client:
                yield client


@contextlib.contextmanager
def _broker(server: str, directory: Path) -> Iterator[None]:
    words = ["--server", server, "--id", "9", "--log-dir", str(directory)]
    words += ["--listen", "127.0.0.1:0", "--json"]
    with subprocess.Popen([*METALOG, "broker", *words], stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline()
            yield
        finally:
            process.terminate()
            process.communicate()


def _filled(query: str) -> str:
    """Return a query with values instead of its variables, as Grafana sends it."""
    for name, value in _VALUES.items():
        query = query.replace(name, value)
    assert "$" not in query
    return query


def test_every_query_has_an_answer(scraped: httpx.Client) -> None:
    queries = [text for _, text in QUERIES if not _LABEL_VALUES.fullmatch(text)]
    assert len(queries) > 30
    empty = [query for query in queries if any(part in query for part in _EMPTY)]
    assert len(empty) == len(_EMPTY)
    waiting = [query for query in queries if query not in empty]
    deadline = time.monotonic() + 60
    while waiting := [each for each in waiting if not answered(scraped, _filled(each))]:
        assert time.monotonic() < deadline, waiting  # a rate needs two scrapes
        time.sleep(SCRAPE_S)
    for query in empty:
        assert answered(scraped, _filled(query)) == []


def test_variables_have_values(scraped: httpx.Client) -> None:
    found = [_LABEL_VALUES.fullmatch(text) for _, text in QUERIES]
    values = {}
    for each in filter(None, found):
        metric, label = each.groups()
        answer = scraped.get(f"/api/v1/label/{label}/values", params={"match[]": metric})
        values[label] = answer.json()["data"]
    assert values == {"job": ["metalog"], "mirror": ["prod"]}


def test_numbers_are_those_of_the_log(scraped: httpx.Client) -> None:
    by_title = dict(QUERIES)
    for title, value in (("Fenced brokers", "0"), ("Deciding", "1"), ("Mistakes", "0")):
        (series,) = answered(scraped, _filled(by_title[title]))
        assert series["values"][-1][1] == value, title
    brokers = {each["metric"]["broker"] for each in answered(scraped, _filled(by_title["Brokers"]))}
    assert brokers == {"1", "2", "3", "9"}
