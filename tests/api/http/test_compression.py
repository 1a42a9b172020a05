"""Answers to questions are compressed for clients that accept it."""

import gzip
import json
import threading
from typing import Any

import httpx
import pytest

from api.http import openapi, operations
from api.http.compression import accepts_gzip
from api.http.limits import COMPRESSED_BYTES_MIN, COMPRESSED_ON_LOOP_BYTES_MAX
from api.http.questions import ROUTES, path_of
from tests.api.http.conftest import Web
from tests.api.questions.asked import QUERIES

PLAIN, GZIP = {"Accept-Encoding": "identity"}, {"Accept-Encoding": "gzip"}


async def _raw(web: Web, path: str, headers: dict[str, str], **query: Any) -> httpx.Response:
    """Return the answer with its body as it was sent."""
    async with web.http.stream("GET", path, params=query or None, headers=headers) as answer:
        answer._content = b"".join([part async for part in answer.aiter_raw()])
        return answer


@pytest.mark.parametrize("path", [openapi.PATH, operations.PATH, "/metrics", "/v1/image"])
async def test_large_answers_are_compressed_on_request(web: Web, path: str) -> None:
    plain, packed = await _raw(web, path, PLAIN), await _raw(web, path, GZIP)
    assert "content-encoding" not in plain.headers
    assert packed.headers["content-encoding"] == "gzip"
    assert packed.headers["content-length"] == str(len(packed.content))
    assert packed.headers["vary"] == plain.headers["vary"] == "accept-encoding"
    assert len(packed.content) < len(plain.content) / 2
    content = gzip.decompress(packed.content)
    if path in (openapi.PATH, operations.PATH):
        assert content == plain.content
    elif path != "/metrics":
        assert json.loads(content).keys() == json.loads(plain.content).keys()


@pytest.mark.parametrize("name", QUERIES)
async def test_every_question_has_the_same_content_compressed(web: Web, name: str) -> None:
    (query, *_) = [each for each in QUERIES[name] if each is not None]
    plain = await web.http.get(path_of(name), params=query, headers=PLAIN)
    packed = await web.http.get(path_of(name), params=query, headers=GZIP)
    assert packed.status_code == plain.status_code
    is_whole = not ROUTES[path_of(name)].is_stream and "etag" not in plain.headers
    is_large = len(plain.content) >= COMPRESSED_BYTES_MIN
    is_secret = any("secret" in str(each) for each in query)
    is_packed = packed.headers.get("content-encoding") == "gzip"
    if not (plain.headers["content-type"].startswith("text/") or plain.status_code != 200):
        assert is_packed == (is_whole and is_large and not is_secret), len(plain.content)
    if plain.headers["content-type"] == "application/json" and name not in ("info",):
        assert packed.json().keys() == plain.json().keys()


async def test_answers_that_may_show_secrets_are_sent_as_they_are(web: Web) -> None:
    taking = [path for path, of in ROUTES.items() if any("secret" in p.name for p in of.parameters)]
    assert path_of("image") in taking
    given = ("show_secrets", "show%5Fsecrets", "show_%73ecrets")
    for path in taking:
        for name in given:
            answer = await web.http.get(f"{path}?{name}=true", headers=GZIP)
            assert "content-encoding" not in answer.headers, (path, name)


async def test_commands_are_answered_as_they_are(web: Web) -> None:
    names = [{"name": f"topic{n}", "partitions": 1} for n in range(100)]
    answer = await web.http.post("/v1/topics/create", json={"topics": names}, headers=GZIP)
    assert answer.status_code == 200
    assert len(answer.content) > COMPRESSED_BYTES_MIN
    assert "content-encoding" not in answer.headers


async def test_an_answer_with_an_etag_is_sent_as_it_is(web: Web) -> None:
    topic = {"name": "orders", "partitions": 100}
    assert (await web.http.post("/v1/topics/create", json={"topics": [topic]})).is_success
    answer = await _raw(web, "/v1/topics/describe", GZIP, topics="orders")
    assert len(answer.content) > COMPRESSED_BYTES_MIN
    assert "etag" in answer.headers
    assert "content-encoding" not in answer.headers


async def test_large_answers_are_compressed_in_a_thread(
    web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[int, bool]] = []
    compress = gzip.compress

    def noting(content: bytes, level: int, *, mtime: float) -> bytes:
        seen.append((len(content), threading.current_thread() is threading.main_thread()))
        return compress(content, level, mtime=mtime)

    monkeypatch.setattr(gzip, "compress", noting)
    for path in ("/v1/image", openapi.PATH):
        await web.http.get(path, headers=GZIP)
    assert [size > COMPRESSED_ON_LOOP_BYTES_MAX for size, _ in seen] == [False, True]
    assert [on_loop for _, on_loop in seen] == [True, False]


@pytest.mark.parametrize(
    ("accepted", "is_accepted"),
    [
        ("gzip", True),
        ("deflate, GZIP;q=0.5", True),
        ("*", True),
        ("br;q=1.0, gzip ; q=0.8", True),
        ("", False),
        ("identity", False),
        ("gzip;q=0", False),
        ("gzip;q=0.000, *", False),
        ("*;q=0", False),
        ("br, gzipped", False),
    ],
)
def test_what_accept_encoding_accepts(accepted: str, *, is_accepted: bool) -> None:
    assert accepts_gzip(accepted) is is_accepted
