"""A question over HTTP waits for an offset, so that a client reads its own writes."""

import asyncio

import pytest

from api.service import answers
from tests.api.http.conftest import Web


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
