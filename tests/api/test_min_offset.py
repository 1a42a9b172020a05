"""A question waits for an offset, so that a client reads its own writes over every connection."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from api.clients.service_url import connect
from api.questions.log_info import ShowInfo
from api.questions.workers import WORKERS_MAX
from api.requests.wire_requests import CommandClient
from api.security.listeners import LOCAL
from api.server import ServeOptions, serving
from api.service import answers
from api.service.answers import Answers
from api.service.session import Session
from controller.authorization.caller import Caller
from controller.decisions.notes import AddNote
from controller.descriptions.topics import ListTopics
from metadata_log.writer.creation import create_log
from records.errors import Outcome, RequestError

# One is answered by the controller, the other by a process that reads the log.
QUESTIONS: dict[str, Any] = {"topics list": ListTopics(), "info": ShowInfo()}


@pytest_asyncio.fixture(params=["process", "kafka", "socket"])
async def clients(
    request: pytest.FixtureRequest, tmp_path: Path
) -> AsyncIterator[tuple[CommandClient, CommandClient]]:
    """Two clients of a service; over Kafka's protocol each gets its answers in order."""
    create_log(tmp_path / "log", "min-offset")
    async with AsyncExitStack() as closing:
        options = ServeOptions(log=tmp_path / "log", socket=LOCAL)
        running = await closing.enter_async_context(serving(options))
        if request.param == "process":
            session = Session(running.service, Caller(principal="User:ann"))
            yield session, session
            return
        assert running.socket is not None
        port = running.kafka.port if request.param == "kafka" else running.socket.port
        url = f"{request.param}://127.0.0.1:{port}"
        one, other = [await closing.enter_async_context(await connect(url)) for _ in range(2)]
        yield one, other


@pytest.fixture
def client(clients: tuple[CommandClient, CommandClient]) -> CommandClient:
    return clients[0]


async def noted(client: CommandClient, text: str = "one") -> int:
    """Write a note; return its offset. The same note written twice is one request."""
    return (await client.run(AddNote(at_offset=0, text=text))).end_offset - 1


@pytest.mark.parametrize("question", QUESTIONS)
async def test_question_waits_for_the_offset(client: CommandClient, question: str) -> None:
    last = await noted(client)
    page = await client.page(question, QUESTIONS[question], min_offset=last)
    assert page.about is not None and page.about.as_of == last
    waiting = asyncio.create_task(client.page(question, QUESTIONS[question], min_offset=last + 1))
    await client.page(question, QUESTIONS[question])
    assert not waiting.done()
    await noted(client, "another")
    about = (await waiting).about
    assert about is not None and about.as_of == last + 1


async def test_offset_that_does_not_come_is_refused(
    client: CommandClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    last = await noted(client)
    monkeypatch.setattr(answers, "MIN_OFFSET_WAIT_S", 0.01)
    with pytest.raises(RequestError, match=f"the log ends at {last + 1}, .* {last + 1}") as refused:
        await client.page("topics list", ListTopics(), min_offset=last + 1)
    assert refused.value.code == "OFFSET_NOT_AVAILABLE"
    assert refused.value.outcome is Outcome.NOTHING


async def test_service_that_does_not_wait_is_not_believed(
    client: CommandClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def ignored(*_: object) -> None:
        """Return at once, like a service of an earlier release."""

    monkeypatch.setattr(Answers, "holds", ignored)
    with pytest.raises(RequestError) as refused:
        await client.page("topics list", ListTopics(), min_offset=await noted(client) + 1)
    assert refused.value.code == "OFFSET_NOT_AVAILABLE"


@pytest.mark.parametrize("question", QUESTIONS)
async def test_questions_that_wait_hold_up_no_others(
    clients: tuple[CommandClient, CommandClient], question: str
) -> None:
    client, another = clients
    last = await noted(client)
    waiting = [
        asyncio.create_task(client.page(question, QUESTIONS[question], min_offset=last + 1))
        for _ in range(3 * WORKERS_MAX)
    ]
    for other, request in QUESTIONS.items():
        await another.page(other, request)
    assert not any(task.done() for task in waiting)
    await noted(another, "another")
    pages = await asyncio.gather(*waiting)
    assert {page.about is not None and page.about.as_of for page in pages} == {last + 1}


async def test_questions_of_one_caller_that_wait_are_bounded(
    clients: tuple[CommandClient, CommandClient], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answers, "EARLY_A_CALLER_MAX", 2)
    client, another = clients
    last = await noted(client)
    asks = [client.page("topics list", ListTopics(), min_offset=last + 1) for _ in range(3)]
    waiting = [asyncio.create_task(ask) for ask in asks]
    await another.page("topics list", ListTopics())
    await asyncio.sleep(0.1)  # all are sent
    await noted(another, "another")
    *kept, refused = await asyncio.gather(*waiting, return_exceptions=True)
    assert len({type(page) for page in kept}) == 1, kept
    assert "2 questions are waiting for their min_offset" in str(refused)
