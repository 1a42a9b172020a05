"""What a node's registration says once the node has stopped."""

import asyncio
from itertools import count

import pytest

from api.nodes.membership import MemberContent, Membership, content_of
from metadata_log.writer.clock import SystemClocks
from records.errors import Outcome, UnavailableError
from tests.shared_log.memory import MemorySharedLog, MemoryStore


class LateLog(MemorySharedLog):
    """The store takes heartbeats; once `answer` is set, this is what comes of its answers."""

    answer: str | None = None

    def __init__(self, store: MemoryStore) -> None:
        super().__init__(store)
        self.has_taken = asyncio.Event()

    async def register(self, node_id: int, content: bytes, instead_of: bytes | None = None) -> int:
        store_ms = await super().register(node_id, content, instead_of)
        if self.answer is not None:
            self.has_taken.set()
            if self.answer == "none":
                await asyncio.Event().wait()
            raise UnavailableError("the answer was lost", outcome=Outcome.UNKNOWN)
        return store_ms


@pytest.fixture
def log() -> LateLog:
    return LateLog(MemoryStore())


def _membership(log: LateLog) -> Membership:
    ends = count()
    return Membership(
        log,
        1,
        SystemClocks(),
        lambda off_ms: MemberContent(
            role="standby", version="1", log_end=next(ends), clock_off_ms=off_ms
        ),
    )


async def _role(log: LateLog) -> str:
    (member,) = await log.members()
    return content_of(member).role


@pytest.mark.parametrize("answer", ["none", "lost"])
async def test_a_node_has_stopped_although_its_last_heartbeat_was_not_answered(
    log: LateLog, answer: str
) -> None:
    membership = _membership(log)
    async with membership.kept(asyncio.Event()):
        log.answer = answer
        membership.changed()
        await asyncio.wait_for(log.has_taken.wait(), 5)
    log.answer = None
    assert await _role(log) == "standby"
    await membership.stopped()
    assert await _role(log) == "stopped"


async def test_a_node_that_stops_leaves_the_heartbeat_of_another_process(log: LateLog) -> None:
    first, second = _membership(log), _membership(log)
    async with first.kept(asyncio.Event()), second.kept(asyncio.Event()):
        pass
    await first.stopped()
    assert await _role(log) == "standby"
