"""The web page over HTTP: its files, and the data columns that it draws."""

import asyncio
import base64
import re
import socket
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest

from api.http import growth, heartbeats, questions, web_page
from api.http.options import HttpOptions
from api.http.page_files import FILES
from api.http.questions import Answers
from api.http.shared_state import reachable_url
from api.http.web_page import COLUMNS_PATH
from api.questions.report import ReportPiece
from controller.authorization.acls import AclAuthorizer
from controller.decisions.context.context import Settings
from controller.decisions.notes import AddNote
from metadata_log.limits import MIB
from tests.api.http.conftest import LOOPBACK, Web
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
        assert "content-length" not in again.headers


async def test_modules_that_draw_nothing_at_first_are_loaded_behind_the_others(web: Web) -> None:
    page = (await web.http.get("/")).text
    preloads = re.findall(r'rel="modulepreload" href="(/page/[^"]+)"(.*)>', page)
    at_once = [path for path, more in preloads if not more]
    later = [path for path, more in preloads if more == ' fetchpriority="low"']
    assert "/page/served/first_look.js" in at_once
    assert {"/page/report/page.js", "/page/report/data.js", "/page/served/sign_in.js"} < set(later)
    assert [*at_once, *later] == [path for path, _ in preloads]
    for path in at_once:
        needed = re.findall(
            r'^import .*from "(.*)";', (await web.http.get(path)).text, re.MULTILINE
        )
        assert {f"/page/{name}" for name in needed} <= set(at_once), path


async def test_a_file_of_the_page_takes_get_only(web: Web) -> None:
    refused = await web.http.post("/page/report.css", content=b"")
    assert (refused.status_code, refused.headers["allow"]) == (405, "GET")
    assert refused.json()["code"] == "METHOD_NOT_ALLOWED"


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


async def test_the_page_is_told_whether_its_reader_may_write_notes(tmp_path: Path) -> None:
    rights = AclAuthorizer(super_users=frozenset({"User:ANONYMOUS"}))
    async with (
        server(tmp_path, http=LOOPBACK, settings=Settings(authorizer=rights)) as at,
        httpx.AsyncClient(base_url=at.http_url, timeout=30) as http,
    ):
        sees = {"resource_type": "CLUSTER", "resource_name": "kafka-cluster", "host": "*"}
        sees |= {"pattern_type": "LITERAL", "operation": "DESCRIBE", "permission_type": "ALLOW"}
        body = {"acls": [sees | {"principal": "User:ann"}]}
        (await http.post("/v1/acls/create", json=body)).raise_for_status()
        own = await http.get(COLUMNS_PATH)
        anns = await http.get(COLUMNS_PATH, params={"as": "User:ann"})
    assert Unpacked(anns.content).header["last"] == Unpacked(own.content).header["last"]
    assert own.headers.get("metalog-notes") == "allowed"
    assert "metalog-notes" not in anns.headers


class Growth:
    """The stream of additions to the columns of a page."""

    def __init__(self, web: Web, client: httpx.AsyncClient | None = None) -> None:
        self.http = client or web.http
        self.known: dict[str, str] = {}
        self.last = -1
        self._fields: dict[str, str] = {}

    async def columns(self) -> bytes:
        """Get the complete columns."""
        whole = await self.http.get(COLUMNS_PATH)
        header = Unpacked(whole.content).header
        self.last = header["last"]
        self.known = {"from": str(header["first"]), "columns": whole.headers["Metalog-Columns"]}
        return whole.content

    def stream(self, **headers: str) -> AbstractAsyncContextManager[httpx.Response]:
        """Open the stream of additions that follow the columns."""
        params = self.known | {"known": str(self.last)}
        return self.http.stream("GET", growth.PATH, params=params, headers=headers)


async def _events(response: httpx.Response) -> AsyncIterator[dict[str, str]]:
    fields: dict[str, str] = {}
    async for line in response.aiter_lines():
        if line and not line.startswith(":"):
            name, _, value = line.partition(": ")
            fields[name] = value
        elif not line and fields:
            yield fields
            fields = {}


def _header(event: dict[str, str]) -> Any:
    assert event["event"] == "growth", event
    return Unpacked(base64.b64decode(event["data"])).header


async def _create(web: Web, name: str) -> int:
    body = {"topics": [{"name": name}]}
    end: int = (await web.http.post("/v1/topics/create", json=body)).json()["log_end"]
    return end - 1


async def test_a_client_with_columns_gets_what_is_new(web: Web) -> None:
    await _create(web, "orders")
    page = Growth(web)
    whole = await page.columns()
    async with page.stream() as response:
        assert response.headers["content-type"].startswith("text/event-stream")
        found, last = _events(response), page.last
        for name in ("payments", "refunds"):
            created = await _create(web, name)
            event = await anext(found)
            header = _header(event)
            assert (header["after"], header["last"], event["id"]) == (last, created, str(created))
            assert header["labels"] == [name]
            assert len(event["data"]) < len(whole)
            last = created


async def test_a_client_that_comes_back_gets_each_record_once(web: Web) -> None:
    page = Growth(web)
    await page.columns()
    first = await _create(web, "before")
    async with page.stream() as response:
        event = await anext(_events(response))
    assert event["id"] == str(first)
    last = await _create(web, "between")
    async with page.stream(**{"Last-Event-ID": event["id"]}) as response:
        header = _header(await anext(_events(response)))
    assert (header["after"], header["last"], header["labels"]) == (first, last, ["between"])


async def test_growths_that_come_too_fast_are_one(
    web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = Growth(web)
    await page.columns()
    is_over = asyncio.Event()
    resting = [is_over.wait]

    async def rest(seconds: float) -> None:
        assert seconds == 0.5
        await resting[0]()

    async with page.stream() as response:
        found = _events(response)
        monkeypatch.setattr(growth, "sleep", rest)
        first = await _create(web, "first")
        assert _header(await anext(found))["last"] == first
        for name in ("second", "third"):
            last = await _create(web, name)
        is_over.set()
        header = _header(await anext(found))
    assert (header["after"], header["last"]) == (first, last)
    assert header["labels"] == ["second", "third"]


async def test_nothing_is_computed_for_a_client_that_takes_nothing(
    web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(growth, "GROWTH_INTERVAL_S", 0.0)
    page = Growth(web)
    await page.columns()
    computed = []
    real = questions.report_pieces

    async def report_pieces(answers: Answers) -> list[ReportPiece]:
        pieces = await real(answers)
        computed.append(pieces[0].last)
        # Larger than what the buffers of a connection take.
        return [msgspec.structs.replace(pieces[0], content=bytes(16 * MIB))]

    monkeypatch.setattr(questions, "report_pieces", report_pieces)
    # Without a size of ours the system lets the buffer grow, to 32 MiB on some machines.
    small = httpx.AsyncHTTPTransport(
        socket_options=[(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 * 1_024)]
    )
    page.http = httpx.AsyncClient(base_url=web.at.http_url, transport=small, timeout=60)
    async with page.http, page.stream() as response:
        chunks = response.aiter_raw()
        await anext(chunks)
        first = await _create(web, "first")
        size = len(await anext(chunks))
        for name in ("second", "third"):
            last = await _create(web, name)
        # The service answers others meanwhile, as often as it would have computed more.
        for _ in range(20):
            await web.http.get("/health")
        assert computed == [first]
        async for chunk in chunks:
            size += len(chunk)
            if len(computed) == 2:
                break
    assert size > 16 * MIB
    assert computed == [first, last]


async def test_a_client_with_columns_of_other_topics_loads_them_anew(web: Web) -> None:
    page = Growth(web)
    await page.columns()
    page.known["columns"] = "others"
    async with page.stream() as response:
        events = [event async for event in _events(response)]
    assert events == [{"event": "anew", "data": "{}"}]


async def test_a_position_inside_a_batch_is_loaded_anew(web: Web) -> None:
    page = Growth(web)
    await page.columns()
    page.last = await _create(web, "orders") - 1
    async with page.stream() as response:
        events = [event async for event in _events(response)]
    assert events == [{"event": "anew", "data": "{}"}]


async def test_a_growth_is_not_sent_if_the_token_ends_while_it_is_computed(tmp_path: Path) -> None:
    async with _with_tokens(tmp_path) as (at, client):
        client.headers["Authorization"] = "Bearer new"
        web = Web(at, client)
        page = Growth(web)
        await page.columns()
        real = questions.report_pieces

        async def report_pieces(answers: Answers) -> list[ReportPiece]:
            pieces = await real(answers)
            at.http_state.listener = msgspec.structs.replace(
                at.http_state.listener, tokens={b"x": "y"}
            )
            return pieces

        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(questions, "report_pieces", report_pieces)
            async with page.stream() as response:
                await at.client.run(AddNote(at_offset=0, text="grows"))
                (event,) = [event async for event in _events(response)]
        assert event["event"] == "error"
        problem = msgspec.json.decode(event["data"])
        assert (problem["status"], problem["code"]) == (401, "AUTHENTICATION_FAILED")


async def test_a_silent_stream_of_growths_has_heartbeats_and_ends_with_the_service(
    web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(heartbeats, "BEAT_S", 0.01)
    page = Growth(web)
    await page.columns()
    async with page.stream() as response:
        lines = response.aiter_lines()
        found = [await anext(lines) for _ in range(5)]
        assert [line for line in found if line][1:] == [": nothing new"] * 2
        web.at.http_state.close()
        assert ": the service ends" in [line async for line in lines]


@pytest.mark.parametrize(
    ("params", "headers"),
    [
        ({"from": "0"}, {}),
        ({"known": "x"}, {}),
        ({"known": "1", "to": "3"}, {}),
        ({"known": "1"}, {"Last-Event-ID": "x"}),
    ],
)
async def test_growth_of_no_known_columns_is_refused(
    web: Web, params: dict[str, str], headers: dict[str, str]
) -> None:
    refused = await web.http.get(growth.PATH, params=params, headers=headers)
    assert (refused.status_code, refused.json()["code"]) == (400, "INVALID_REQUEST")


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
        room = at.http_state
        service, room.service = room.service, None
        assert (await client.get("/")).status_code == 200
        refused = await client.get(COLUMNS_PATH)
        assert (refused.status_code, refused.json()["code"]) == (503, "UNAVAILABLE")
        room.service = service
        assert msgspec.json.decode((await client.get("/ready")).content) == {"status": "ready"}
