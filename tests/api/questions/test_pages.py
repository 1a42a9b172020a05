"""Long answers are split into pages of bounded size; together they are one answer."""

import asyncio
import os
import signal
from pathlib import Path
from typing import Any

import msgspec
import pytest

from api.questions import pages
from api.questions.objects import ShowImage
from api.questions.pages import Cursor, PagedLog
from api.questions.rows import FollowRows, ShowRows
from controller.decisions.topics.topics import CreateTopics, NewTopic
from controller.wire import to_wire
from metadata_log.reader.log_reader import LogReader
from records.errors import UnavailableError
from tests.api.kafka.servers import server

ROWS = to_wire(ShowRows())


def _items(payload: bytes) -> list[Any]:
    found: list[Any] = msgspec.msgpack.decode(payload)
    return found


def _all_pages(log: PagedLog, name: str, payload: bytes) -> list[list[Any]]:
    found, cursor = [], None
    while True:
        page = log.page(name, payload, "end", cursor)
        found.append(_items(page.payload))
        assert (page.about is None) == (page.cursor is not None)
        cursor = page.cursor
        if cursor is None:
            return found


@pytest.mark.parametrize(("name", "request_"), [("dump", ShowRows()), ("image", ShowImage())])
def test_pages_are_bounded_and_together_the_whole_answer(
    demo_log: Path, monkeypatch: pytest.MonkeyPatch, name: str, request_: Any
) -> None:
    payload = to_wire(request_)
    (whole,) = _all_pages(PagedLog(demo_log), name, payload)
    monkeypatch.setattr(pages, "PAGE_BYTES", 5_000)
    found = _all_pages(PagedLog(demo_log), name, payload)
    assert [item for page in found for item in page] == whole
    assert len(found) > 3
    for page in found:
        # Only the item that fills a page may reach beyond it.
        assert len(to_wire(page[:-1])) < 5_000


def test_page_of_an_answer_that_was_forgotten_is_computed_anew(
    demo_log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "PAGE_BYTES", 5_000)
    log = PagedLog(demo_log)
    cursor = log.page("dump", ROWS, "end").cursor
    assert cursor is not None
    known = log.page("dump", ROWS, "end", cursor)
    assert PagedLog(demo_log).page("dump", ROWS, "end", cursor) == known


def test_pages_are_those_of_one_answer_while_the_log_grows(
    demo_log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All pages use the points that were resolved for the first page.

    Here the log seems to have ended earlier when the first page was made.
    """
    monkeypatch.setattr(pages, "PAGE_BYTES", 5_000)
    cursor: Cursor | None = Cursor(0, {"end": 99, "start": -1})
    rows: list[Any] = []
    while cursor is not None:
        page = PagedLog(demo_log).page("dump", ROWS, "end", cursor)
        rows += _items(page.payload)
        cursor = page.cursor
    assert [row["offset"] for row in rows] == list(range(100))
    assert page.about is not None and page.about.as_of == 99
    with LogReader.open(demo_log) as reader:
        assert page.about.log_end == reader.end_offset


async def test_follower_is_answered_when_records_come(tmp_path: Path) -> None:
    async with server(tmp_path) as at:
        end = at.service.image.provenance.next_offset
        follow = FollowRows(first=str(end), types=("TopicRecord",), wait_ms=30_000)
        waiting = asyncio.create_task(at.client.page("tail", follow))
        none = await at.client.page("tail", FollowRows(first=str(end)))
        assert (none.response.rows, none.response.next_offset) == ((), end)
        await at.register(1)
        while True:
            found = (await waiting).response
            if found.rows:
                break
            assert found.next_offset > end, "records of other types came"
            follow = msgspec.structs.replace(follow, first=str(found.next_offset))
            waiting = asyncio.create_task(at.client.page("tail", follow))
            new = NewTopic(name="a", partitions=1, replication_factor=1)
            await at.client.run("topics create", CreateTopics(topics=(new,)))
        assert [row.data["name"] for row in found.rows] == ["a"]


async def test_service_answers_again_after_its_worker_was_killed(tmp_path: Path) -> None:
    async with server(tmp_path) as at:
        whole = await at.client.page("dump", ShowRows())
        workers = at.service.answers._workers._workers
        children = [worker._child for worker in workers if worker._child is not None]
        assert children, "questions about the past are answered by a child"
        for child in children:
            os.kill(child.pid, signal.SIGKILL)
        try:
            again = await at.client.page("dump", ShowRows())
        except UnavailableError:  # it was asked before its end was noticed
            again = await at.client.page("dump", ShowRows())
        assert again.response == whole.response
