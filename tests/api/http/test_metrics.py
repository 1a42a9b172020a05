"""Metrics in the Prometheus text format."""

import asyncio
from pathlib import Path

import httpx
import pytest
from prometheus_client import CONTENT_TYPE_LATEST
from prometheus_client.parser import text_string_to_metric_families

from api.http.options import HttpOptions
from api.transport import limits
from controller.authorization.authorizer import CLUSTER, Operation
from records.errors import RequestError
from tests.api.guarded import guarded
from tests.api.http.conftest import Web
from tests.api.kafka.test_sasl import as_user, connected, raw_to, secured


async def _metrics(web: Web) -> dict[tuple[str, str], float]:
    response = await web.http.get("/metrics")
    assert (response.status_code, response.headers["content-type"]) == (200, CONTENT_TYPE_LATEST)
    return {
        (sample.name, next(iter(sample.labels.values()), "")): sample.value
        for family in text_string_to_metric_families(response.text)
        for sample in family.samples
    }


async def test_they_tell_of_the_log_its_batches_brokers_and_connections(web: Web) -> None:
    before = await _metrics(web)
    end = web.at.service.image.provenance.next_offset
    topic = {"topics": [{"name": "a", "partitions": 3}]}
    assert (await web.http.post("/v1/topics/create", json=topic)).status_code == 200
    after = await _metrics(web)
    added = web.at.service.image.provenance.next_offset - end
    assert added >= 4
    assert after["metalog_log_end_offset", ""] - before["metalog_log_end_offset", ""] == added
    grown = {key: after[key] - before.get(key, 0) for key in after}
    assert grown["metalog_batch_records_count", ""] == 1
    assert grown["metalog_batch_records_sum", ""] == added
    assert grown["metalog_sync_seconds_count", ""] >= 1
    assert after["metalog_broker_lag_records", "1"] >= added
    assert after["metalog_broker_fenced", "1"] == 0
    assert after["metalog_connections", "HTTP"] == 1
    assert after["metalog_active", ""] == 1
    assert ("metalog_lease_left_seconds", "") not in after  # there is one node
    assert after["metalog_snapshot_end_offset", ""] == 0
    assert after["metalog_snapshot_lag_records", ""] == after["metalog_log_end_offset", ""]


async def test_logins_are_counted_by_listener_and_outcome(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with secured(
        tmp_path,
        "in=sasl_plaintext://127.0.0.1:0",
        http=HttpOptions.parse("127.0.0.1:0"),
        super_users="User:ANONYMOUS",
    ) as running:
        async with await connected(running, "sasl_plaintext", as_user("ann", "PLAIN")):
            pass
        for password in ("wrong", "other"):
            login = as_user("ann", "SCRAM-SHA-256", password)
            with pytest.raises(RequestError):
                await connected(running, "sasl_plaintext", login)
        monkeypatch.setattr(limits, "AUTHENTICATION_TIMEOUT_S", 0.05)
        async with raw_to(running) as silent:
            assert await silent.reader.read() == b""
        assert running.http is not None
        async with httpx.AsyncClient(base_url=f"http://{running.http.address}") as client:
            text = (await client.get("/metrics")).text
    assert 'metalog_logins_total{listener="IN",outcome="succeeded"} 1.0' in text
    assert 'metalog_logins_total{listener="IN",outcome="failed"} 3.0' in text


async def test_they_are_for_those_who_may_describe_the_cluster(tmp_path: Path) -> None:
    async with guarded(tmp_path) as (at, rights):
        rights.but = {(Operation.DESCRIBE, CLUSTER)}
        async with httpx.AsyncClient(base_url=at.http_url) as client:
            assert (await client.get("/metrics")).status_code == 403


async def _samples(web: Web) -> dict[tuple[str, ...], float]:
    text = (await web.http.get("/metrics")).text
    return {
        (sample.name, *[sample.labels[key] for key in sorted(sample.labels)]): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


async def test_requests_are_counted_by_route_method_and_status(web: Web) -> None:
    count, route = "metalog_http_request_seconds_count", "/v1/topics/list"
    for _ in range(3):
        await web.http.get(route)
    await web.http.get(route, params={"never": 1})
    await web.http.head(route)
    await web.http.post("/v1/notes/add", json={"at_offset": 0, "text": "x"})
    await web.http.post("/v1/notes/add", content=b"{}")
    for number in range(5):
        await web.http.get(f"/v1/never/{number}")
    for method in ("PATCH", "DELETE", "PUT"):
        await web.http.request(method, route)
    found = {key[1:]: value for key, value in (await _samples(web)).items() if key[0] == count}
    assert found == {
        ("GET", route, "200"): 3,
        ("GET", route, "400"): 1,
        ("HEAD", route, "200"): 1,
        ("POST", "/v1/notes/add", "200"): 1,
        ("POST", "/v1/notes/add", "415"): 1,
        ("GET", "other", "404"): 5,
        ("other", route, "405"): 3,
    }


async def test_duration_of_a_request_includes_its_waiting(web: Web) -> None:
    end = web.at.service.image.provenance.next_offset
    waiting = asyncio.create_task(web.http.get("/v1/topics/list", params={"min_offset": end}))
    await asyncio.sleep(0.5)
    await web.http.post("/v1/notes/add", json={"at_offset": 0, "text": "x"})
    assert (await waiting).status_code == 200
    found = await _samples(web)
    of = ("GET", "/v1/topics/list", "200")
    assert found["metalog_http_request_seconds_sum", *of] > 0.4
    assert found["metalog_http_request_seconds_bucket", "0.25", *of] == 0


async def test_partitions_process_and_build_are_told(web: Web) -> None:
    await web.at.register(2)
    both = [{"partition_id": number, "broker_ids": [1, 2]} for number in range(2)]
    alone = [{"partition_id": number, "broker_ids": [1]} for number in range(3)]
    topics = [{"name": "a", "assignments": alone}, {"name": "b", "assignments": both}]
    created = await web.http.post("/v1/topics/create", json={"topics": topics})
    assert created.status_code == 200

    async def counts() -> tuple[float, float, float]:
        found = await _samples(web)
        names = ("partitions", "partitions_offline", "partitions_under_replicated")
        whole, offline, short = (found[f"metalog_{name}",] for name in names)
        return whole, offline, short

    assert await counts() == (5, 0, 0)
    for broker_id, expected in ((2, (5, 0, 2)), (1, (5, 5, 2))):
        fence = {"broker_id": broker_id, "fenced": True}
        assert (await web.http.post("/v1/brokers/fence", json=fence)).status_code == 200
        assert await counts() == expected
    found = await _samples(web)
    assert found["process_resident_memory_bytes",] > 0
    assert any(name[0] == "metalog_build_info" for name in found)
