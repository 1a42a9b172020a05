"""Event streams: from an offset, resumed, and to clients that read too slowly."""

from collections.abc import AsyncIterator
from typing import Any

import httpx
import msgspec
import pytest

from api.http import heartbeats
from api.service.feed import Feed
from controller.decisions.notes import AddNote
from tests.api.http.conftest import Web

Event = tuple[str, int | None, Any]


async def _events(response: httpx.Response) -> AsyncIterator[Event]:
    """Yield the name, id and data of each event."""
    fields: dict[str, str] = {}
    async for line in response.aiter_lines():
        if line and not line.startswith(":"):
            name, _, value = line.partition(": ")
            fields[name] = value
        elif not line and fields:
            offset = fields.get("id")
            data = msgspec.json.decode(fields["data"])
            yield fields["event"], None if offset is None else int(offset), data
            fields = {}


async def _note(web: Web, text: str) -> None:
    await web.at.client.run(AddNote(at_offset=0, text=text))


async def test_records_come_from_an_offset_on_and_as_they_commit(web: Web) -> None:
    end = web.at.service.image.provenance.next_offset
    dumped = (await web.http.get("/v1/dump")).text.splitlines()
    async with web.http.stream("GET", "/v1/events", params={"from": 0}) as response:
        assert response.headers["content-type"].startswith("text/event-stream")
        found = _events(response)
        for offset in range(end):
            event = await anext(found)
            assert event == ("record", offset, msgspec.json.decode(dumped[offset]))
        await _note(web, "now")
        name, at, row = await anext(found)
        assert (name, at, row["type"]) == ("record", end, "NoteRecord")
        assert row["data"]["text"] == "now"


async def test_a_client_that_comes_back_goes_on_after_its_last_event(web: Web) -> None:
    end = web.at.service.image.provenance.next_offset
    for text in "abc":
        await _note(web, text)
    headers = {"Last-Event-ID": str(end)}
    async with web.http.stream("GET", "/v1/events", headers=headers) as response:
        found = _events(response)
        assert [(await anext(found))[1] for _ in range(2)] == [end + 1, end + 2]


async def test_only_the_wanted_types_come_and_without_a_point_only_what_is_new(web: Web) -> None:
    params = {"types": "NoteRecord"}
    async with web.http.stream("GET", "/v1/events", params=params) as response:
        await web.at.register(2)
        await _note(web, "mine")
        name, _, row = await anext(_events(response))
        assert (name, row["data"]["text"]) == ("record", "mine")


@pytest.mark.parametrize(
    ("params", "status"),
    [
        ({"from": "10000"}, 404),
        ({"from": "never"}, 400),
        ({"from": "²"}, 400),
        ({"from": "9" * 5_000}, 400),
        ({"types": "x", "to": "3"}, 400),
        ({"from": "0", "from ": "1"}, 400),
    ],
)
async def test_what_cannot_be_followed_is_refused(
    web: Web, params: dict[str, str], status: int
) -> None:
    response = await web.http.get("/v1/events", params=params)
    assert response.status_code == status
    assert response.headers["content-type"] == "application/problem+json"


async def test_a_stream_that_falls_behind_is_told_and_misses_nothing(
    web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    room = web.at.http_state
    small = Feed(web.at.service.image.provenance.next_offset, rows_max=2)
    monkeypatch.setattr(room, "_feed", small)
    monkeypatch.setattr(web.at.service, "feed", small)
    web.at.service.on_commit[:] = [small.committed]
    end = small.end_offset
    # Each chunk waits until more is committed than is kept.
    kept = small.since

    def since(offset: int, count_max: int) -> Any:
        return kept(offset, count_max) if offset == end else None

    async with web.http.stream("GET", "/v1/events") as response:
        found = _events(response)
        await _note(web, "first")
        assert (await anext(found))[1] == end
        monkeypatch.setattr(small, "since", since)
        for text in "abcd":
            await _note(web, text)
        name, _, told = await anext(found)
        assert (name, told["next_offset"]) == ("behind", end + 1)
        assert [(await anext(found))[1] for _ in range(4)] == list(range(end + 1, end + 5))


async def test_silence_is_broken_by_comments(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heartbeats, "BEAT_S", 0.01)
    async with web.http.stream("GET", "/v1/events") as response:
        lines = response.aiter_lines()
        found = [await anext(lines) for _ in range(5)]
    assert [line for line in found if line][1:] == [": nothing new"] * 2


async def test_streams_end_with_the_service(web: Web) -> None:
    async with web.http.stream("GET", "/v1/events") as response:
        lines = response.aiter_lines()
        await anext(lines)
        web.at.http_state.close()
        assert ": the service ends" in [line async for line in lines]
