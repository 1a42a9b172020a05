"""A program in this process that passes a request of a wrong type is told so, as a client is."""

from pathlib import Path
from typing import Any

import pytest

from api import BlockingClient, ReconnectingClient, Session
from api.requests.commands import COMMANDS
from controller import AddNote, Caller, CreateTopics, NewTopic
from records.errors import RequestError
from tests.api.kafka.servers import server

CALLER = Caller(principal="User:ann")
WRONG: list[Any] = [
    {},
    None,
    1.5,
    object(),
    CreateTopics,
    CreateTopics(topics=("orders",)),  # type: ignore[arg-type]
    CreateTopics(topics=(NewTopic(name=5),)),  # type: ignore[arg-type]
    AddNote(at_offset="x", text=3),  # type: ignore[arg-type]
]


async def test_every_command_refuses_requests_of_wrong_types(tmp_path: Path) -> None:
    async with server(tmp_path) as at:
        end = at.service.image.provenance.next_offset
        for name in COMMANDS:
            for request in WRONG:
                with pytest.raises(RequestError) as refused:
                    await at.service.run(name, request, caller=CALLER)
                assert refused.value.code == "INVALID_REQUEST", (name, request)
        assert at.service.image.provenance.next_offset == end


async def test_the_wrong_field_is_named(tmp_path: Path) -> None:
    async with server(tmp_path) as at:
        wrong = CreateTopics(topics=(NewTopic(name=5),))  # type: ignore[arg-type]
        for run in (
            at.service.run("topics create", wrong, caller=CALLER),
            Session(at.service, CALLER).run(wrong),
            at.client.run(wrong),
        ):
            with pytest.raises(RequestError, match=r"value\.topics\[0\]\.name: int, not str"):
                await run


async def test_request_of_no_command_is_refused_by_every_client(tmp_path: Path) -> None:
    async with server(tmp_path) as at:
        for client in (Session(at.service, CALLER), at.client):
            for request in WRONG[:5]:
                with pytest.raises(RequestError, match="no command has a request of the type"):
                    await client.run(request)


@pytest.mark.parametrize("client", [BlockingClient, ReconnectingClient])
@pytest.mark.parametrize("url", ["", "http://127.0.0.1", "socket+x://a", "socket://", "a:b"])
def test_malformed_url_is_refused_before_the_first_request(client: Any, url: str) -> None:
    with pytest.raises(RequestError, match=r"is not a server|is a service's address for HTTP"):
        client(url)
