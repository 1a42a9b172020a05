"""The web page over HTTP: its files, and the columns it draws."""

import asyncio
import re
from pathlib import Path

import httpx
import msgspec
import pytest

from api.http import web_page
from api.http.options import HttpOptions
from api.http.room import reachable_url
from api.http.web_page import COLUMNS_PATH, FILES
from tests.api.http.conftest import Web
from tests.api.http.test_authentication import _with_tokens
from tests.api.kafka.servers import server
from tests.replay.report.unpacked import Unpacked

LINK = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
TOPIC = {"topics": [{"name": "orders"}]}


async def test_every_file_is_known_by_its_etag(web: Web) -> None:
    assert {"/", "/page/report/main.js", "/page/served/main.js", "/page/report.css"} < set(FILES)
    for path in FILES:
        whole = await web.http.get(path)
        assert (whole.status_code, bool(whole.content)) == (200, True)
        again = await web.http.get(path, headers={"If-None-Match": whole.headers["ETag"]})
        assert (again.status_code, again.content) == (304, b"")


async def test_the_page_may_reach_only_its_service(web: Web) -> None:
    page = await web.http.get("/")
    policy = page.headers["content-security-policy"]
    for part in ("default-src 'none'", "connect-src 'self'", "form-action 'none'"):
        assert part in policy
    assert "unsafe" not in policy
    assert not re.findall(r"https?://|style=|onclick", page.text)


async def test_files_tell_nothing_and_need_no_token(tmp_path: Path) -> None:
    async with _with_tokens(tmp_path) as (at, client):
        for path in ("/", "/page/served/main.js"):
            assert (await client.get(path)).status_code == 200
        assert (await client.get(COLUMNS_PATH)).status_code == 401
        known = {"Authorization": "Bearer new"}
        assert (await client.get(COLUMNS_PATH, headers=known)).status_code == 200
        assert at.service.settings.cluster_id not in (await client.get("/")).text


async def test_a_link_from_elsewhere_opens_the_page_and_nothing_else(web: Web) -> None:
    assert (await web.http.get("/", headers=LINK)).status_code == 200
    for changed in ({"Sec-Fetch-Mode": "cors"}, {"Sec-Fetch-Dest": "iframe"}):
        assert (await web.http.get("/", headers=LINK | changed)).status_code == 403
    for path in ("/v1/info", COLUMNS_PATH, "/page/served/main.js"):
        assert (await web.http.get(path, headers=LINK)).status_code == 403


async def test_columns_are_those_of_the_report(web: Web) -> None:
    created = (await web.http.post("/v1/topics/create", json=TOPIC)).json()
    columns = await web.http.get(COLUMNS_PATH)
    header = Unpacked(columns.content).header
    assert (header["first"], header["last"]) == (0, created["log_end"] - 1)
    assert columns.headers["metalog-server"].startswith("kafka://127.0.0.1:")
    part = await web.http.get(COLUMNS_PATH, params={"from": 2, "to": 3})
    header = Unpacked(part.content).header
    assert (header["first"], header["last"], header["asked"]) == (2, 3, [2, 3])


@pytest.mark.parametrize(
    ("listening", "host", "named"),
    [
        ("kafka://0.0.0.0:9092", "node-1.example:8080", "kafka://node-1.example:9092"),
        ("kafka+ssl://[::]:9092", "[2001:db8::1]:8080", "kafka+ssl://[2001:db8::1]:9092"),
        ("kafka://10.0.0.5:9092", "node-1.example:8080", "kafka://10.0.0.5:9092"),
        ("kafka://0.0.0.0:9092", "", "kafka://0.0.0.0:9092"),
        ("kafka://0.0.0.0:9092", "[", "kafka://0.0.0.0:9092"),
    ],
)
def test_a_listener_on_all_addresses_is_named_as_the_reader_did(
    listening: str, host: str, named: str
) -> None:
    assert reachable_url(listening, host) == named


async def test_columns_are_computed_anew_only_once_the_log_has_grown(web: Web) -> None:
    first = await web.http.get(COLUMNS_PATH)
    known = {"If-None-Match": first.headers["ETag"]}
    assert (await web.http.get(COLUMNS_PATH, headers=known)).status_code == 304
    other = await web.http.get(COLUMNS_PATH, params={"from": 1}, headers=known)
    assert other.status_code == 200
    await web.http.post("/v1/topics/create", json=TOPIC)
    assert (await web.http.get(COLUMNS_PATH, headers=known)).status_code == 200


async def test_a_client_with_columns_gets_what_is_new(web: Web) -> None:
    await web.http.post("/v1/topics/create", json=TOPIC)
    whole = await web.http.get(COLUMNS_PATH)
    last = Unpacked(whole.content).header["last"]
    known: dict[str, str | int] = {"known": last, "from": 0}
    known |= {"columns": whole.headers["Metalog-Columns"]}
    assert (await web.http.get(COLUMNS_PATH, params=known)).status_code == 304
    async with asyncio.TaskGroup() as tasks:
        waiting = tasks.create_task(web.http.get(COLUMNS_PATH, params=known | {"wait_ms": 60_000}))
        topic = {"topics": [{"name": "payments"}]}
        created = (await web.http.post("/v1/topics/create", json=topic)).json()
    grown = Unpacked(waiting.result().content).header
    assert (grown["after"], grown["last"]) == (last, created["log_end"] - 1)
    assert grown["labels"] == ["payments"]
    assert len(waiting.result().content) < len(whole.content)


async def test_a_client_with_columns_of_other_topics_gets_all(web: Web) -> None:
    created = (await web.http.post("/v1/topics/create", json=TOPIC)).json()
    known = {"known": created["log_end"] - 1, "columns": "others", "from": 0}
    header = Unpacked((await web.http.get(COLUMNS_PATH, params=known)).content).header
    assert "after" not in header
    assert header["last"] == created["log_end"] - 1


_LIMITED: list[tuple[str, dict[str, int]]] = [
    ("PAGE_RECORDS", {}),
    ("PAGE_RECORDS_MAX", {"from": 1}),
]


async def test_of_a_long_log_only_the_newest_records_are_read(
    web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    await web.http.post("/v1/topics/create", json=TOPIC)
    end = web.at.service.image.provenance.next_offset
    for limit, given in _LIMITED:
        monkeypatch.setattr(web_page, limit, 3)
        header = Unpacked((await web.http.get(COLUMNS_PATH, params=given)).content).header
        assert (header["first"], header["last"]) == (end - 3, end - 1)
        assert header["asked"] == [given.get("from", 0), end - 1]
    wrong = await web.http.get(COLUMNS_PATH, params={"records_max": 0})
    assert (wrong.status_code, wrong.json()["code"]) == (400, "INVALID_REQUEST")


async def test_while_the_log_is_loaded_the_page_is_there(tmp_path: Path) -> None:
    async with (
        server(tmp_path, http=HttpOptions.parse("127.0.0.1:0")) as at,
        httpx.AsyncClient(base_url=at.http_url) as client,
    ):
        room = at.http_room
        service, room.service = room.service, None
        assert (await client.get("/")).status_code == 200
        refused = await client.get(COLUMNS_PATH)
        assert (refused.status_code, refused.json()["code"]) == (503, "UNAVAILABLE")
        room.service = service
        assert msgspec.json.decode((await client.get("/ready")).content) == {"status": "ready"}
