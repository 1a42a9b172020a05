"""A node whose store does not take what it writes, and operators who disagree."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from api.nodes import membership, operations, retries
from api.nodes.options import content_of
from metadata_log.reader.log_reader import LogReader
from metadata_log.shared.refusal import StoreRefusesError
from metadata_log.shared.shared_log import Lease, SharedLog
from metadata_log.writer.request_window import RequestWindow
from records.errors import UnavailableError
from tests.api.nodes.group import WAIT_S, Group


@pytest.mark.parametrize("error", [UnavailableError, StoreRefusesError])
async def test_a_store_that_only_reads_is_said_once(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    error: type[UnavailableError],
) -> None:
    """It was not promoted yet, or took rights away; the folder's requests are read once, too."""
    group = Group(tmp_path, count=1)
    (member,) = group.members
    monkeypatch.setattr(retries, "_PAUSE_S", 0.01)
    read: list[Path] = []
    of_tail = RequestWindow.of_tail

    def count(reader: LogReader) -> RequestWindow:
        read.append(tmp_path)
        return of_tail(reader)

    monkeypatch.setattr(RequestWindow, "of_tail", count)
    renew = member.log.renew
    refused: list[Lease] = []

    async def refuse(lease: Lease, *, instead_of: Lease | None) -> bool:
        refused.append(lease)
        raise error("the server only reads")

    async def refuse_heartbeat(*_: object, **__: object) -> int:
        raise error("the server only reads")

    register = member.log.register
    monkeypatch.setattr(membership, "REGISTER_EVERY_S", 0.05)
    monkeypatch.setattr(member.log, "register", refuse_heartbeat)
    monkeypatch.setattr(member.log, "renew", refuse)
    member.start()
    async with asyncio.timeout(WAIT_S):
        while len(refused) < 4:
            await asyncio.sleep(0.01)
    assert member.roles == ["standby"]
    assert [each.message for each in caplog.records] == [
        "the server only reads; this node stands by"
    ]
    assert len(read) == 1
    monkeypatch.setattr(member.log, "register", register)
    monkeypatch.setattr(member.log, "renew", renew)
    async with asyncio.timeout(WAIT_S):
        while not await member.log.members():
            await asyncio.sleep(0.01)
    assert await group.leader() is member
    await group.stop()
    assert member.roles == ["standby", "leader"]


async def test_an_operator_hears_that_another_one_chose(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    group = Group(tmp_path)
    group.start()
    first = await group.leader()
    wanted, chosen = (each for each in group.members if each is not first)
    await wanted.serves()
    await chosen.serves()

    @contextlib.asynccontextmanager
    async def opened(url: str) -> AsyncIterator[SharedLog]:
        yield first.log

    monkeypatch.setattr(operations, "opened", opened)
    waiting = asyncio.create_task(operations.change_leader("memory", wanted.number))
    async with asyncio.timeout(WAIT_S):
        while (lease := await first.log.lease()) is None or content_of(lease).next_leader is None:
            await asyncio.sleep(0)
    await operations.ask_to_hand_over(first.log, chosen.number)
    text = f"node {chosen.number} leads now, not node {wanted.number}: .* an operator chose it"
    with pytest.raises(UnavailableError, match=text):
        await waiting
    await group.stop()
