"""HEAD, the header Date, and record types that do not exist, over all paths."""

import asyncio
import email.utils
import time

import pytest

from api.http import events, growth, metrics, openapi, operations
from api.http.commands import ROUTES as COMMANDS
from api.http.page_files import FILES
from api.http.questions import ROUTES, path_of
from tests.api.http.conftest import Web
from tests.api.questions.asked import QUERIES

PLAIN = ["/health", "/ready", metrics.PATH, openapi.PATH, operations.PATH, *FILES]
CHANGING = {metrics.PATH}
"""Their content is another one each time."""


def _is_now(date: str) -> bool:
    return abs(email.utils.parsedate_to_datetime(date).timestamp() - time.time()) < 60


@pytest.mark.parametrize("path", PLAIN)
async def test_head_has_the_headers_of_get_and_no_body(web: Web, path: str) -> None:
    head, get = await web.http.head(path), await web.http.get(path)
    assert (head.status_code, head.content) == (get.status_code, b"") == (200, b"")
    assert head.headers["content-type"] == get.headers["content-type"]
    if path not in CHANGING:
        assert head.headers["content-length"] == str(get.num_bytes_downloaded)
    assert _is_now(head.headers["date"])
    assert _is_now(get.headers["date"])


@pytest.mark.parametrize("name", QUERIES)
async def test_head_of_questions_is_answered_on_a_connection_that_goes_on(
    web: Web, name: str
) -> None:
    (query, *_) = [each for each in QUERIES[name] if each is not None]
    head = await web.http.head(path_of(name), params=query)
    get = await web.http.get(path_of(name), params=query)
    assert (head.status_code, head.content) == (get.status_code, b"")
    assert head.headers["content-type"] == get.headers["content-type"]
    assert _is_now(head.headers["date"])


async def test_head_of_what_takes_no_get_is_refused(web: Web) -> None:
    for path in (*COMMANDS, events.PATH, growth.PATH):
        async with asyncio.timeout(30):
            assert (await web.http.head(path)).status_code == 405, path


async def test_refusals_have_a_date(web: Web) -> None:
    host, _, port = web.at.http_url.removeprefix("http://").rpartition(":")
    for sent in (b"nonsense\r\n\r\n", b"GET /v1/never HTTP/1.0\r\n\r\n"):
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(sent)
        answer = (await reader.read()).lower()
        date = answer.partition(b"\r\ndate: ")[2].partition(b"\r\n")[0].decode()
        assert _is_now(date), answer
        assert answer.count(b"\r\ndate: ") == 1
        writer.close()


async def test_a_record_type_that_does_not_exist_is_refused_everywhere(web: Web) -> None:
    taking = [path for path, of in ROUTES.items() if any(p.name == "types" for p in of.parameters)]
    assert {path_of("dump"), path_of("tail")} <= set(taking)
    for path in (*taking, events.PATH):
        for more in ({}, {"from": "0"}):
            async with asyncio.timeout(30):
                refused = await web.http.get(path, params={"types": "Nope", **more})
            assert refused.status_code == 400, (path, refused.text)
            assert "'Nope' is not a record type" in refused.json()["detail"], path
