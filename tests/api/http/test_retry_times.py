"""What is refused for a while says when to retry: over HTTP and on the command line."""

import math

import msgspec

from api.http.problems import Problem
from tests.api.http.conftest import Web

_RATE = "controller_mutation_rate"


def _created(*names: str) -> dict[str, object]:
    return {"topics": [{"name": name, "partitions": 50} for name in names]}


async def _limited(web: Web) -> None:
    """Allow one partition a second, and use up what was saved."""
    quota = {"entity": [["user", None]], "changes": [{"key": _RATE, "value": 1}]}
    response = await web.http.post("/v1/quotas/alter", json={"entities": [quota]})
    assert response.status_code == 200, response.text
    await web.http.post("/v1/topics/create", json=_created("first"))


async def test_a_used_up_quota_says_when_to_retry(web: Web) -> None:
    await _limited(web)
    refused = await web.http.post("/v1/topics/create", json=_created("second"))
    problem = msgspec.json.decode(refused.content, type=Problem)
    assert (refused.status_code, problem.code) == (429, "THROTTLING_QUOTA_EXCEEDED")
    assert isinstance(problem.retry_ms, int)
    assert 1_000 < problem.retry_ms < 60_000
    assert refused.headers["retry-after"] == str(math.ceil(problem.retry_ms / 1_000))
    (item,) = problem.results
    assert 1_000 < item["error"]["retry_ms"] < 60_000


async def test_what_waiting_does_not_help_has_no_time(web: Web) -> None:
    refused = await web.http.post("/v1/topics/delete", json={"topics": ["no"]})
    assert "retry_ms" not in refused.json()
    assert "retry_ms" not in refused.json()["results"][0]["error"]
    assert "retry-after" not in refused.headers
