"""A question sees the changes that were sent before it on its connection, and delays nothing."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from api.questions.notes import NOTES, ListNotes
from api.questions.rows import TAIL, FollowRows
from api.requests.transactions import Step, Transact
from api.socket.client import SocketClient
from api.socket.in_flight import Changes
from controller.decisions.notes import AddNote
from tests.api.socket.test_served import _note, _served

PAIRS = 15

CHANGES: dict[str, Callable[[SocketClient, str], Awaitable[Any]]] = {
    "an append": lambda client, text: client.append(_note(text)),
    "an append with an id": lambda client, text: client.append(_note(text, request_id=text)),
    "a command": lambda client, text: client.run(AddNote(at_offset=0, text=text)),
    "a transaction": lambda client, text: client.run(
        Transact(steps=(Step.of("notes add", AddNote(at_offset=0, text=text)),))
    ),
}


async def _notes(client: SocketClient) -> list[str]:
    page = await client.page(NOTES.name, ListNotes())
    return [note.text for note in page.response]


@pytest.mark.parametrize("change", CHANGES)
async def test_question_behind_a_change_sees_it(directory: Path, change: str) -> None:
    async with _served(directory) as (_, client):
        for number in range(PAIRS):
            text = f"note {number}"
            _, notes = await asyncio.gather(CHANGES[change](client, text), _notes(client))
            assert text in notes


async def test_question_that_waits_for_records_delays_no_change(directory: Path) -> None:
    async with _served(directory) as (running, client):
        end = running.service.image.provenance.next_offset
        waiting = asyncio.ensure_future(
            client.page(TAIL.name, FollowRows(first=str(end), wait_ms=10_000))
        )
        result = await client.append(_note("behind it"))
        assert result.base_offset == end
        assert (await waiting).response.rows


async def test_a_question_waits_for_the_changes_that_began_before_it_and_no_other() -> None:
    chance = random.Random(7)
    changes, running, waiting = Changes(), list[tuple[int, int]](), list[tuple[set[int], Any]]()
    for number in range(3_000):
        if running and chance.random() < 0.5:
            ended, handle = running.pop(chance.randrange(len(running)))
            changes.end(handle)
            for before, _ in waiting:
                before.discard(ended)
        elif chance.random() < 0.7:
            running.append((number, changes.begin()))
        else:
            answered = changes.answered()
            assert (answered is None) == (not running)
            if answered is not None:
                waiting.append(({each for each, _ in running}, answered))
        assert all(answered.done() == (not before) for before, answered in waiting)


async def test_an_abandoned_question_disturbs_no_other() -> None:
    changes = Changes()
    first, second = changes.begin(), changes.begin()
    abandoned, waiting = changes.answered(), changes.answered()
    assert abandoned is not None
    assert waiting is not None
    abandoned.cancel()
    changes.end(first)
    assert not waiting.done()
    changes.end(second)
    assert waiting.done()
