"""Traces of requests: from HTTP to the log, for callers that sent the parent."""

import importlib.util
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from api.http.options import HttpOptions
from records.errors import RequestError
from tests.api.http.collector import Collector, attributes, collecting
from tests.api.http.conftest import Web
from tests.api.kafka.servers import server

TRACE_ID, CALLER = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
PARENT = {"traceparent": f"00-{TRACE_ID}-{CALLER}-01"}

TOPIC = {"topics": [{"name": "orders", "partitions": 1, "replication_factor": 1}]}


@pytest.fixture
def collector() -> Iterator[Collector]:
    with collecting() as found:
        yield found


@asynccontextmanager
async def traced(tmp_path: Path, url: str) -> AsyncIterator[Web]:
    """A service of a new log, with a broker, that sends traces to this URL."""
    options = HttpOptions(host="127.0.0.1", port=0, traces=url)
    async with server(tmp_path, http=options) as at:
        await at.register(1)
        async with httpx.AsyncClient(base_url=at.http_url, timeout=30) as http:
            yield Web(at, http)


async def test_a_request_is_followed_to_the_log(tmp_path: Path, collector: Collector) -> None:
    begun_ns = time.time_ns()
    async with traced(tmp_path, collector.url) as web:
        answer = await web.http.post("/v1/topics/create", json=TOPIC, headers=PARENT)
        assert answer.status_code == 200, answer.text
    # Sent when the service ends, at the latest.
    spans = collector.wait_for(3)
    request, decision, commit = [
        spans.pop(name) for name in ("POST /v1/topics/create", "decision", "commit")
    ]
    assert {each.trace_id.hex() for each in (request, decision, commit)} == {TRACE_ID}
    assert request.parent_span_id.hex() == CALLER
    assert {each.parent_span_id for each in (decision, commit)} == {request.span_id}
    times = [
        *(begun_ns, request.start_time_unix_nano, decision.start_time_unix_nano),
        *(decision.end_time_unix_nano, commit.end_time_unix_nano, request.end_time_unix_nano),
    ]
    assert times == sorted(times)
    assert commit.start_time_unix_nano == decision.end_time_unix_nano
    assert attributes(request)["http.response.status_code"] == 200
    assert attributes(decision) == {"metalog.command": "topics create"}
    assert attributes(commit) == {"metalog.last_offset": answer.json()["committed_at"]}
    assert collector.resources[0]["service.name"] == "metalog"


async def test_only_requests_whose_callers_record_the_trace_are_traced(
    tmp_path: Path, collector: Collector
) -> None:
    async with traced(tmp_path, collector.url) as web:
        for given in ({}, {"traceparent": PARENT["traceparent"][:-1] + "0"}, {"traceparent": "x"}):
            assert (await web.http.get("/v1/topics/list", headers=given)).status_code == 200
        await web.http.get("/v1/topics/list", headers=PARENT)
        await web.http.get("/nowhere/7", headers=PARENT)
    spans = collector.wait_for(2)
    assert spans.keys() == {"GET /v1/topics/list", "GET other"}


async def test_a_refusal_is_an_error_of_the_decision_without_text_of_the_log(
    tmp_path: Path, collector: Collector
) -> None:
    async with traced(tmp_path, collector.url) as web:
        await web.http.post("/v1/topics/create", json=TOPIC)
        stale = PARENT | {"If-Match": '"topic:orders=999"'}
        answer = await web.http.post(
            "/v1/topics/delete", json={"topics": ["orders"]}, headers=stale
        )
        assert answer.status_code == 412, answer.text
    spans = collector.wait_for(2)
    assert spans["decision"].status.message == answer.json()["code"]
    assert spans["decision"].status.code == 2  # STATUS_CODE_ERROR


async def test_an_append_has_its_commit(tmp_path: Path, collector: Collector) -> None:
    line = '{"type": "NoteRecord", "data": {"at_offset": 0, "author": "User:a", "text": "t"}}'
    headers = PARENT | {"Content-Type": "application/x-ndjson"}
    async with traced(tmp_path, collector.url) as web:
        answer = await web.http.post("/v1/records/append", content=line, headers=headers)
        assert answer.status_code == 200, answer.text
    spans = collector.wait_for(2)
    assert attributes(spans["commit"]) == {"metalog.last_offset": answer.json()["last_offset"]}


async def test_requests_are_answered_while_the_collector_is_away(tmp_path: Path) -> None:
    with collecting() as gone:
        pass
    async with traced(tmp_path, gone.url) as web:
        for number in range(3):
            topic: dict[str, Any] = {"topics": [TOPIC["topics"][0] | {"name": f"t{number}"}]}
            answer = await web.http.post("/v1/topics/create", json=topic, headers=PARENT)
            assert answer.status_code == 200


def test_what_cannot_be_used_is_refused_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    for url in ("collector:4318", "grpc://collector:4317", "http:///v1/traces"):
        with pytest.raises(RequestError, match="is not a URL such as http://localhost:4318/v1"):
            HttpOptions.parse("127.0.0.1:0", traces=url)
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util,
        "find_spec",
        lambda name, *more: None if name.startswith("opentelemetry") else find(name, *more),
    )
    with pytest.raises(RequestError, match=r"pip install 'metadata-log\[otel\]'"):
        HttpOptions.parse("127.0.0.1:0", traces="http://localhost:4318/v1/traces")


def test_the_library_is_not_loaded_without_the_option() -> None:
    code = "import api.http.server, sys; print([m for m in sys.modules if 'opentelemetry' in m])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
