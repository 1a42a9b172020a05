"""Questions in flight when the service ends."""

import asyncio
from pathlib import Path

from api.cli.main import run
from api.client import MetadataClient
from api.connecting import connect
from api.packed_requests import AnswerPage
from api.questions.rows import FollowRows
from api.socket.client import SocketClient
from controller.descriptions.queries import ListTopics
from records.errors import Outcome, UnavailableError
from tests.api.services import serving


async def _waiting_tail(client: MetadataClient | SocketClient) -> "asyncio.Task[AnswerPage]":
    """Ask for records that do not come."""
    waiting = FollowRows(first="1000000", wait_ms=30_000)
    asked = asyncio.create_task(client.page("tail", waiting))
    await asyncio.sleep(0)  # it is sent
    return asked


async def test_service_that_ends_does_not_wait_for_records(tmp_path: Path) -> None:
    assert run(["init", str(tmp_path / "log")]) == 0
    with serving(tmp_path / "log") as service:
        async with await connect(service.socket) as client:
            await client.page("tail", FollowRows())  # starts the process that answers
            asked = await _waiting_tail(client)
            await client.page("topics list", ListTopics())  # read after it
            service.process.terminate()
            # If the service waited, it would drop the connection at last.
            assert (await asked).response.rows == ()
        assert await asyncio.to_thread(service.ended) == 0


async def test_question_of_a_killed_service_can_be_asked_again(tmp_path: Path) -> None:
    assert run(["init", str(tmp_path / "log")]) == 0
    with serving(tmp_path / "log") as service:
        clients = [await connect(url) for url in (service.kafka, service.socket)]
        asked = [await _waiting_tail(client) for client in clients]
        service.process.kill()
        for error in await asyncio.gather(*asked, return_exceptions=True):
            assert isinstance(error, UnavailableError)
            assert error.outcome is Outcome.NOTHING
            assert "unknown" not in str(error)
            assert str(error).endswith("; ask again")
        for client in clients:
            await client.close()
