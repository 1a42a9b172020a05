"""A broker logs once that its service does not answer, and once that it answers again."""

import asyncio
import itertools
import logging
import os
import signal
from pathlib import Path

import msgspec
import pytest

from api.broker.options import BrokerOptions
from api.broker.process import Ready, run_broker_until_stopped
from api.security.listeners import LOCAL
from tests.api.kafka.servers import server
from tests.api.kafka.test_sasl import until

WAITING = "waiting for the service: "
AWAY = "the service is away: "
BACK = "the service is back"

SOURCES = ("api.broker.process", "api.broker.controller_link")


def said(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [
        record.getMessage()
        for record in caplog.records
        if record.name in SOURCES and record.levelno >= logging.WARNING
    ]


async def test_broker_says_that_it_waits_for_the_service(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with server(tmp_path) as service:
        port = service.port
    address = msgspec.structs.replace(LOCAL, port=port)
    options = BrokerOptions(
        server=f"kafka://127.0.0.1:{port}", broker_id=1, log_dirs=(tmp_path / "broker",)
    )
    ready: asyncio.Queue[Ready] = asyncio.Queue()
    broker = asyncio.create_task(run_broker_until_stopped(options, ready.put_nowait))
    async with asyncio.timeout(60):
        await until(lambda: bool(said(caplog)))
        async with server(tmp_path, kafka=(address,)):
            await ready.get()
        await until(lambda: any(line.startswith(AWAY) for line in said(caplog)))
        async with server(tmp_path, kafka=(address,)):
            await until(lambda: BACK in said(caplog))
            os.kill(os.getpid(), signal.SIGTERM)
            await broker
    # A busy machine may show other reasons meanwhile, each once until the service is back.
    lines = said(caplog)
    assert lines[0] == (
        f"{WAITING}127.0.0.1:{port} does not answer (Connection refused); is the service running?"
    )
    waiting = list(itertools.takewhile(lambda line: line.startswith(WAITING), lines))
    assert len(waiting) == len(set(waiting))
    away: set[str] = set()
    for line in lines[len(waiting) :]:
        if line == BACK:
            assert away
            away.clear()
        else:
            assert line.startswith(AWAY)
            assert line not in away
            away.add(line)
