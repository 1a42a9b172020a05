"""Every query of the dashboard over the SQL history, in a real PostgreSQL."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlalchemy import URL

from api.cli.main import run
from tests.api.conftest import Metalog, metalog
from tests.grafana.documents import documents
from tests.grafana.panels import queries_of
from tests.postgres import new_database, text_of

__all__ = ["metalog"]

QUERIES = queries_of(json.loads(documents()["history.json"]))

_FROM, _TO = "2026-01-01T02:00:00Z", "2026-01-01T08:00:00Z"
"""A range in which a broker is fenced; outages are in progress at its end."""

Rows = list[dict[str, Any]]
Ask = Callable[[str], Rows]


@pytest.fixture(scope="module")
def ask(postgres: URL, demo_log: Path) -> Iterator[Ask]:
    """Answers a query of the dashboard by its title, from the history of the demo's log."""
    by_title = dict(QUERIES)
    with new_database(postgres) as url:
        assert run(["sql", "sync", str(demo_log), "--database", text_of(url), "--json"]) == 0
        with psycopg.connect(text_of(url), row_factory=psycopg.rows.dict_row) as connection:
            yield lambda title: connection.execute(_filled(by_title[title])).fetchall()


def _filled(query: str) -> bytes:
    """Return a query as Grafana's data source sends it: see its macros."""
    for name, value in {
        "${topic:sqlstring}": "'__consumer_offsets','nope'",
        "$__interval": "10m",
        "$__timeFrom()": f"'{_FROM}'",
        "$__timeTo()": f"'{_TO}'",
    }.items():
        query = query.replace(name, value)
    query = re.sub(r"\$__timeFilter\(([\w.]+)\)", rf"\1 BETWEEN '{_FROM}' AND '{_TO}'", query)
    assert "$" not in query
    return query.encode()


def test_every_query_has_an_answer(ask: Ask) -> None:
    assert len(QUERIES) > 12
    for title, text in QUERIES:
        found = ask(title)
        assert found, title
        if "AS metric" in text:
            assert {"time", "metric", "value"} == found[0].keys(), title
            times = [each["time"] for each in found]
            assert times == sorted(times), title
            assert len({(each["time"], each["metric"]) for each in found}) == len(found), title


def test_no_table_with_secrets_is_read() -> None:
    """As docs/sql.md names them for readers without secrets."""
    text = " ".join([text for _, text in QUERIES])
    assert "config_states" in text
    for table in ("config_version", "scram_version", "delegation_token_version"):
        assert table not in text


def test_outages_are_those_of_the_command(ask: Ask, metalog: Metalog, demo_log: Path) -> None:
    told = metalog("outages", demo_log, "--from", _FROM, "--to", _TO, "--json").json["intervals"]
    of_partitions = {
        (each["kind"], each["object"], each["from_offset"])
        for each in told
        if each["kind"] in ("leaderless", "under_replicated")
    }
    shown = {
        (each["kind"], f"partition:{each['topic']}/{each['partition']}", each["offset"])
        for each in ask("Outages")
    }
    assert shown == of_partitions
    assert len(shown) > 50


def test_numbers_and_charts_agree_at_the_end_of_the_range(ask: Ask) -> None:
    (number,) = ask("Under-replicated")
    last = [each for each in ask("Partitions in trouble") if each["metric"] == "under_replicated"]
    assert last[-1]["value"] == number["value"] > 0
    fenced = {each["metric"]: each["value"] for each in ask("Brokers")}
    assert sum(fenced.values()) == ask("Fenced brokers")[0]["value"]
    assert sum(each["value"] for each in ask("Records by principal")) > 100
