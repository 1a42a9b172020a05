"""Two clusters, one with another tenant and one without, that receive the same requests."""

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from api.questions.table import find_question
from api.requests.commands import find_command, named
from api.requests.wire_requests import WireRequest
from api.service.service import Service
from api.service.session import Session
from controller.authorization.caller import Caller
from controller.wire import from_wire, to_wire
from records.errors import MetadataLogError, RequestError
from records.text import uuid_text
from tests.api.isolation.worlds import Tenant, world
from tests.replay.builders import uid


async def whole_answer(service: Service, caller: Caller, request: WireRequest) -> Any:
    """Return the complete answer (all pages), or the error."""
    session = Session(service, caller)
    pages = []
    while True:
        try:
            answer = await session.run_wire(request)
        except MetadataLogError as error:
            code = error.code if isinstance(error, RequestError) else type(error).__name__
            return code, str(error), error.outcome.value
        pages.append(
            (
                msgspec.msgpack.decode(answer.response),
                answer.end_offset,
                answer.wrote,
                answer.about,
                answer.cursor,
            )
        )
        if not answer.cursor:
            return pages
        request = msgspec.structs.replace(request, cursor=answer.cursor)


class Pair:
    """The requests of a tenant to both clusters; the answers must be equal and must not contain
    anything of the other tenant.

    Attributes:
        commands: Names of the commands that succeeded.
        questions: Names of the questions that were answered.
    """

    def __init__(self, both: Service, alone: Service, asking: Tenant, other: Tenant) -> None:
        self.services = (both, alone)
        self.asking, self.other = asking, other
        self.commands: set[str] = set()
        self.questions: set[str] = set()
        self._marks = tuple(_marks(other))

    async def run(self, request: Any) -> Any:
        """Run a command in both clusters, and return the response.

        The command and each of its items must succeed.
        """
        name, argument = named(request)
        found = await self._asked(WireRequest(command=name, request=to_wire(argument)))
        assert isinstance(found, list), found
        response = from_wire(
            msgspec.msgpack.encode(found[0][0]), find_command(name).response, lenient=True
        )
        for item in response if isinstance(response, tuple) else (response,):
            assert getattr(item, "refusal", None) is None, item
        self.commands.add(name)
        return response

    async def ask(self, name: str, request: Any, point: str = "end") -> list[Any]:
        """Ask a question in both clusters, and return the pages of the answer."""
        assert find_question(name)
        found = await self._asked(WireRequest(command=name, request=to_wire(request), point=point))
        assert isinstance(found, list), found
        self.questions.add(name)
        return found

    async def refused(self, request: WireRequest) -> str:
        """Send a request that both clusters must refuse; return the error code."""
        here, there = await self._told(request)
        assert here == there, request  # which may name the other tenant
        assert isinstance(here, tuple), (request, here)
        return str(here[0])

    def check(self, here: Any, there: Any) -> None:
        """Check that two answers are equal and contain nothing of the other tenant."""
        assert here == there
        told = repr(here)
        assert [mark for mark in self._marks if mark in told] == []

    async def _asked(self, request: WireRequest) -> Any:
        here, there = await self._told(request)
        self.check(here, there)
        return here

    async def _told(self, request: WireRequest) -> list[Any]:
        caller = self.asking.caller
        return await asyncio.gather(
            *[whole_answer(service, caller, request) for service in self.services]
        )


@contextlib.asynccontextmanager
async def pair(
    directory: Path, monkeypatch: pytest.MonkeyPatch, asking: Tenant, other: Tenant
) -> AsyncIterator[Pair]:
    """Yield both clusters, which use the same random numbers."""
    monkeypatch.setattr(random, "SystemRandom", lambda: random.Random(1))
    async with (
        world(directory / "both", asking, other) as both,
        world(directory / "alone", asking, None) as alone,
    ):
        yield Pair(both, alone, asking, other)


def _marks(tenant: Tenant) -> list[str]:
    """Return the names and ids (in both forms) of a tenant, to search for in answers."""
    topics = ("orders", "plans", "t0", "t7", "t119", "wide")
    ids = [tenant.topic_id(name) for name in topics]
    ids += [uid(name) for name in (tenant.name, f"{tenant.name}:inner")]
    return [tenant.name, tenant.user, *map(uuid_text, ids), *(repr(bytes(i))[2:-1] for i in ids)]
