"""The controller's own pauses do not count against the brokers' sessions."""

import asyncio
import contextlib
import time
from pathlib import Path

from tests.api.kafka.servers import Server, server

SESSION_MS = 1_500


async def _beating(at: Server, epoch: int) -> None:
    while True:
        await at.beat(1, epoch)
        await asyncio.sleep(0.1)


def _is_fenced(at: Server) -> bool:
    (broker,) = at.service.image.brokers()
    return broker.fenced


async def test_a_blocked_loop_fences_no_broker(tmp_path: Path) -> None:
    async with server(tmp_path, session_timeout_ms=SESSION_MS) as at:
        epoch = await at.register(1)
        beating = asyncio.create_task(_beating(at, epoch))
        await asyncio.sleep(0.3)
        end = at.service.image.provenance.next_offset
        time.sleep(2 * SESSION_MS / 1_000)
        await asyncio.sleep(1)
        # A broker that was fenced and unfenced again would have written two records.
        assert at.service.image.provenance.next_offset == end
        beating.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await beating
        # A broker that is silent while the controller runs is fenced as before.
        async with asyncio.timeout(60):
            while not _is_fenced(at):
                await asyncio.sleep(0.05)
