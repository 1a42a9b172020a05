"""The HTTP connection: order of responses, one write a response, malformed and too large input."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import cast

import pytest

from api.http import growth
from api.http.limits import HEAD_SIZE_BYTES_MAX, RECORDS_SIZE_BYTES_MAX
from api.http.options import HttpOptions
from api.http.web_page import COLUMNS_PATH
from tests.api.http.conftest import Web
from tests.api.kafka.servers import server

LINE = b'{"type":"NoteRecord","data":{"at_offset":0,"author":"ann","text":"%d"}}'
POST = (
    b"POST /v1/records/append HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r\n"
)
GET = b"GET /health HTTP/1.1\r\nHost: localhost\r\n"
TOO_MUCH = 4 * HEAD_SIZE_BYTES_MAX


class Client(asyncio.Protocol):
    """Collects the data received on a connection."""

    def __init__(self) -> None:
        self.pieces: asyncio.Queue[bytes] = asyncio.Queue()
        self.transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # That of uvloop is no asyncio.Transport.
        self.transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self.pieces.put_nowait(data)

    def connection_lost(self, exc: Exception | None) -> None:
        self.pieces.put_nowait(b"")

    async def rest(self) -> bytes:
        """Return all data received until the connection ends."""
        found = b""
        while piece := await self.pieces.get():
            found += piece
        return found


@pytest.fixture
async def client(web: Web) -> AsyncIterator[Client]:
    host, _, port = web.at.http_url.removeprefix("http://").rpartition(":")
    loop = asyncio.get_running_loop()
    transport, protocol = await loop.create_connection(Client, host, int(port))
    yield protocol
    transport.close()


def _end(web: Web) -> int:
    return web.at.service.image.provenance.next_offset


def _append(number: int) -> bytes:
    line = LINE % number
    return POST + b"Content-Length: %d\r\n\r\n%b" % (len(line), line)


async def test_an_answer_is_one_write(client: Client) -> None:
    for number in range(5):
        client.transport.write(_append(number))
        answer = await client.pieces.get()
        assert answer.startswith(b"HTTP/1.1 200 ")
        assert answer.endswith(b"}")
    assert client.pieces.empty()


async def test_requests_sent_without_waiting_are_answered_in_order(
    web: Web, client: Client
) -> None:
    count, first = 100, _end(web)
    last = GET + b"Connection: close\r\n\r\n"
    client.transport.write(b"".join(map(_append, range(count))) + last)
    answers = (await client.rest()).split(b"HTTP/1.1 200 OK\r\n")[1:]
    offsets = [answer.partition(b'"first_offset":')[2].partition(b",")[0] for answer in answers]
    assert offsets == [*[b"%d" % (first + number) for number in range(count)], b""]


async def test_a_request_in_pieces_is_one(web: Web, client: Client) -> None:
    for byte in _append(1):
        client.transport.write(bytes([byte]))
        await asyncio.sleep(0)
    assert b'"records":1' in await client.pieces.get()


@pytest.mark.parametrize("protocol", [b"h2c", b"websocket"])
@pytest.mark.parametrize("is_chunked", [False, True], ids=["length", "chunked"])
@pytest.mark.parametrize("is_late", [False, True], ids=["at once", "later"])
async def test_the_body_after_an_upgrade_that_is_ignored_is_no_request(
    web: Web, client: Client, *, protocol: bytes, is_chunked: bool, is_late: bool
) -> None:
    # As Java's own client sends each first request, and `curl --http2`.
    end, hidden = _end(web), _append(2)
    head = POST + b"Connection: Upgrade\r\nUpgrade: %b\r\n" % protocol
    if is_chunked:
        head += b"Transfer-Encoding: chunked\r\n\r\n"
        body = b"%x\r\n%b\r\n0\r\n\r\n" % (len(hidden), hidden)
    else:
        head += b"Content-Length: %d\r\n\r\n" % len(hidden)
        body = hidden
    last = _append(3).replace(b"Host", b"Connection: close\r\nHost")
    if is_late:
        client.transport.write(head)
        assert (await web.http.get("/ready")).status_code == 200
        client.transport.write(body + last)
    else:
        client.transport.write(head + body + last)
    answer = await client.rest()
    assert (answer.count(b"HTTP/1.1 400 "), answer.count(b"HTTP/1.1 200 ")) == (1, 1)
    assert b"line 1" in answer
    assert _end(web) == end + 1


async def test_a_request_with_an_upgrade_is_answered_as_one_without(
    web: Web, client: Client
) -> None:
    with_upgrade = _append(1).replace(b"Host", b"Connection: upgrade\r\nUpgrade: h2c\r\nHost")
    for _ in range(2):
        client.transport.write(with_upgrade)
        assert b'"records":1' in await client.pieces.get()


async def test_a_body_that_is_not_sent_is_not_taken_from_the_next_request(
    web: Web, client: Client
) -> None:
    nowhere = POST.replace(b"append", b"never")
    client.transport.write(nowhere + b"Expect: 100-continue\r\nContent-Length: 200\r\n\r\n")
    answer = await client.rest()
    assert answer.startswith(b"HTTP/1.1 404 ")
    assert b"connection: close" in answer


async def test_an_answer_comes_after_the_100_continue_that_was_asked_for(client: Client) -> None:
    # Refused at once, without a turn of the loop in which the 100 Continue would be sent.
    client.transport.write(POST + b"Expect: 100-continue\r\nContent-Length: 1\r\n\r\n{")
    answer = await client.rest()
    assert answer.startswith(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 ")
    assert answer.endswith(b"}")


async def test_a_client_of_http_1_0_gets_no_100_continue(client: Client) -> None:
    asking = _append(1).replace(b"Host", b"Expect: 100-continue\r\nHost")
    client.transport.write(asking.replace(b"HTTP/1.1", b"HTTP/1.0"))
    assert (await client.rest()).startswith(b"HTTP/1.1 200 OK")


async def test_a_stream_ends_with_its_connection_if_a_request_follows(
    web: Web, client: Client
) -> None:
    client.transport.write(GET.replace(b"/health", b"/v1/events") + b"\r\n" + GET + b"\r\n")
    assert b"200 OK" in await client.pieces.get()
    feed = web.at.service.feed
    assert feed.streams == 1
    client.transport.close()
    async with asyncio.timeout(60):
        while feed.streams:
            await asyncio.sleep(0.01)


async def test_a_stop_ends_what_does_not_come_without_a_mistake(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("api.http.server.CLOSE_TIMEOUT_S", 0.1)
    async with server(tmp_path, http=HttpOptions(host="127.0.0.1", port=0)) as at:
        host, _, port = at.http_url.removeprefix("http://").rpartition(":")
        loop = asyncio.get_running_loop()
        _, protocol = await loop.create_connection(Client, host, int(port))
        # Its handler waits for the rest of the body.
        half = _append(1)[:-1].replace(b"Host", b"Expect: 100-continue\r\nHost")
        protocol.transport.write(half)
        assert b"100 Continue" in await protocol.pieces.get()
    assert await protocol.rest() == b""
    assert not [each for each in caplog.records if each.levelname == "ERROR"]


async def test_half_a_body_appends_nothing(web: Web, client: Client) -> None:
    end = _end(web)
    client.transport.write(_append(1)[:-1])
    client.transport.close()
    assert await client.rest() == b""
    assert (await web.http.get("/ready")).status_code == 200
    assert _end(web) == end


@pytest.mark.parametrize(
    "request_",
    [
        POST + b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        POST + b"Content-Length: 3\r\nContent-Length: 4\r\n\r\nabc",
        POST + b"Content-Length: +3\r\n\r\nabc",
        POST + b"Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
        POST + b"Transfer-Encoding: chunked\r\n\r\n-1\r\n",
        GET + b"X: a\0b\r\n\r\n",
        GET + b" folded: 1\r\n\r\n",
        GET.replace(b"\r\n", b"\n") + b"\n",
        GET.replace(b"/health", b"/h\xff") + b"\r\n",
        GET.replace(b"GET /health", b"CONNECT a:1") + b"\r\n",
        GET.replace(b"Host: localhost\r\n", b"") + b"\r\n",
        GET + b"Host: localhost\r\n\r\n",
    ],
    ids=lambda request_: request_.split(b"HTTP/1.1")[1][-60:].decode("latin-1").strip(),
)
async def test_what_can_be_read_in_two_ways_is_refused(
    web: Web, client: Client, request_: bytes
) -> None:
    end = _end(web)
    client.transport.write(request_ + _append(1))
    answer = await client.rest()
    assert answer.count(b"HTTP/1.1 ") == 1
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert b'"code":"INVALID_REQUEST"' in answer
    assert _end(web) == end


@pytest.mark.parametrize(
    "endless",
    [
        b"GET /" + b"x" * TOO_MUCH,
        GET + b"X: " + b"x" * TOO_MUCH,
        GET + b"X: y\r\n" * TOO_MUCH,
        GET + b"X:\r\n" * (HEAD_SIZE_BYTES_MAX // 4) + b"\r\n",
        b"\r\n" * TOO_MUCH,
        POST + b"Transfer-Encoding: chunked\r\n\r\n1;" + b"x" * TOO_MUCH,
        POST + b"Transfer-Encoding: chunked\r\n\r\n0\r\nX: " + b"x" * TOO_MUCH,
        POST + b"Transfer-Encoding: chunked\r\n\r\n0\r\n" + b"X: y\r\n" * TOO_MUCH,
    ],
    ids=["path", "header", "headers", "empty headers", "nothing", "chunk", "trailer", "trailers"],
)
async def test_what_never_ends_is_not_kept(web: Web, client: Client, endless: bytes) -> None:
    client.transport.write(endless)
    assert b"400 Bad Request" in await client.rest()
    assert (await web.http.get("/ready")).status_code == 200


@pytest.mark.parametrize("header", [b"X: y", b"Connection: close", b"Host: other"])
async def test_a_refusal_before_the_body_is_not_lost_with_the_connection(
    web: Web, client: Client, header: bytes
) -> None:
    size, end = 4 << 20, _end(web)
    head = POST.replace(b"x-ndjson", b"other")
    client.transport.write(head + header + b"\r\nContent-Length: %d\r\n\r\n" % size)
    answer = await client.pieces.get()
    assert answer.startswith((b"HTTP/1.1 415 ", b"HTTP/1.1 400 "))
    assert not client.transport.is_closing()
    client.transport.write(b" " * size)
    client.transport.write(_append(1).replace(b"Host", b"Connection: close\r\nHost"))
    is_last = b"connection: close" in answer
    assert (b"200 OK" in await client.rest()) is not is_last
    assert _end(web) == end + (not is_last)


async def test_a_body_without_a_length_has_a_limit(client: Client) -> None:
    client.transport.write(POST + b"Transfer-Encoding: chunked\r\n\r\n")
    chunk = b"%x\r\n%b\r\n" % (1 << 20, b" " * (1 << 20))
    client.transport.write(chunk * (RECORDS_SIZE_BYTES_MAX // (1 << 20) + 1))
    assert b'"code":"MESSAGE_TOO_LARGE"' in await client.pieces.get()


async def test_only_what_is_posted_changes_anything(web: Web) -> None:
    for path in ("/v1/records/append", "/v1/topics/create"):
        for method in ("GET", "PUT", "DELETE", "OPTIONS"):
            refused = await web.http.request(method, path)
            assert (refused.status_code, refused.headers["allow"]) == (405, "POST"), refused.text
            assert refused.json()["code"] == "METHOD_NOT_ALLOWED"


async def test_a_client_that_sends_nothing_more_gets_all_its_answers(
    web: Web, client: Client
) -> None:
    end, count = _end(web), 5
    client.transport.write(b"".join(map(_append, range(count))))
    client.transport.write_eof()
    answers = await client.rest()
    assert answers.count(b"HTTP/1.1 200 ") == answers.count(b'"records":1') == count
    assert _end(web) == end + count


async def test_half_a_request_before_the_end_is_not_waited_for(web: Web, client: Client) -> None:
    end = _end(web)
    client.transport.write(_append(1) + _append(2)[:-1])
    client.transport.write_eof()
    assert (await client.rest()).count(b"HTTP/1.1 200 ") == 1
    assert _end(web) == end + 1


@pytest.mark.parametrize("path", ["/v1/events", growth.PATH])
async def test_a_follower_that_sends_nothing_more_is_gone(
    web: Web, client: Client, path: str
) -> None:
    columns = (await web.http.get(COLUMNS_PATH)).headers["Metalog-Columns"]
    query = f"?known={_end(web) - 1}&columns={columns}" if path == growth.PATH else ""
    client.transport.write(f"GET {path}{query} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    assert b"200 OK" in await client.pieces.get()
    client.transport.write_eof()
    await client.rest()
    async with asyncio.timeout(30):
        while web.at.service.feed.streams:
            await asyncio.sleep(0)


@pytest.mark.parametrize("path", [b"/v1/dump?from=0", b"/v1/events?from=0"])
async def test_http_1_0_has_no_chunks(web: Web, client: Client, path: bytes) -> None:
    client.transport.write(b"GET %b HTTP/1.0\r\nHost: localhost\r\n\r\n" % path)
    answer = b""
    while b"RegisterBrokerRecord" not in answer.rpartition(b"\n")[0]:
        piece = await client.pieces.get()
        assert piece, answer
        answer += piece
    head, _, body = answer.partition(b"\r\n\r\n")
    assert b"connection: close" in head
    assert b"transfer-encoding" not in head
    sent = [line.removeprefix(b"data: ") for line in body.splitlines() if b'"offset"' in line]
    assert sent
    whole = await web.http.get("/v1/dump?from=0")
    assert b"\n".join(sent) in whole.content, (sent, whole.content)


async def test_a_body_compressed_in_transfer_is_refused(web: Web, client: Client) -> None:
    end, hidden = _end(web), _append(1)
    client.transport.write(
        POST
        + b"Transfer-Encoding: gzip, chunked\r\n\r\n%x\r\n%b\r\n0\r\n\r\n" % (len(hidden), hidden)
    )
    answer = await client.rest()
    assert answer.startswith(b"HTTP/1.1 501 ")
    assert b"UNSUPPORTED_TRANSFER_CODING" in answer
    assert _end(web) == end
