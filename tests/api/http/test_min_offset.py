"""A question over HTTP waits for an offset, so that a client reads its own writes."""

import asyncio

import pytest

from api.http.limits import DOCUMENTS_AT_ONCE
from api.http.paging import MIN_OFFSET
from api.http.questions import ROUTES, path_of
from api.service import answers
from tests.api.http.conftest import Web
from tests.api.questions.asked import QUERIES


async def test_http_waits_for_the_offset(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    note = {"at_offset": 0, "text": "one"}
    last = (await web.http.post("/v1/notes/add", json=note)).json()["committed_at"]
    for path in ("/v1/topics/list", "/v1/info"):
        found = await web.http.get(path, params={"min_offset": last})
        assert (found.status_code, found.json()["log_end"]) > (200, last)
    waiting = asyncio.create_task(web.http.get("/v1/topics/list", params={"min_offset": last + 1}))
    await web.http.get("/v1/topics/list")
    assert not waiting.done()
    await web.http.post("/v1/notes/add", json=note | {"text": "another"})
    assert (await waiting).json()["as_of"] > last
    monkeypatch.setattr(answers, "MIN_OFFSET_WAIT_S", 0.01)
    late = await web.http.get("/v1/topics/list", params={"min_offset": last + 2})
    assert (late.status_code, late.json()["code"]) == (503, "OFFSET_NOT_AVAILABLE")
    for wrong in ("-1", "x", ["1", "2"]):
        refused = await web.http.get("/v1/topics/list", params={"min_offset": wrong})
        assert (refused.status_code, refused.json()["code"]) == (400, "INVALID_REQUEST")


@pytest.mark.parametrize("name", QUERIES)
async def test_questions_that_wait_hold_up_no_others(web: Web, name: str) -> None:
    assert {path_of(name) for name in QUERIES} == set(ROUTES)
    (query, *_) = [each for each in QUERIES[name] if each is not None]
    early = [*query, (MIN_OFFSET, 1_000_000)]
    asks = [web.http.get(path_of(name), params=early) for _ in range(DOCUMENTS_AT_ONCE + 1)]
    waiting = [asyncio.create_task(ask) for ask in asks]
    for path in ("/v1/topics/list", "/v1/info"):
        async with asyncio.timeout(answers.MIN_OFFSET_WAIT_S / 2):
            answer = await web.http.get(path)
            assert answer.status_code == 200, answer.text
    assert not [task.result().text for task in waiting if task.done()]
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)


async def test_tails_that_wait_hold_up_no_others(web: Web) -> None:
    late = {"from": 1_000_000, "wait_ms": 30_000}
    asks = [web.http.get(path_of("tail"), params=late) for _ in range(DOCUMENTS_AT_ONCE + 1)]
    waiting = [asyncio.create_task(ask) for ask in asks]
    async with asyncio.timeout(15):
        answer = await web.http.get("/v1/topics/list")
        assert answer.status_code == 200, answer.text
    assert not [task.result().text for task in waiting if task.done()]
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
