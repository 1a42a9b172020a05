"""A broker logs once that its service does not answer, and once that it answers again."""

import asyncio
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
        await until(lambda: len(said(caplog)) > 1)
        async with server(tmp_path, kafka=(address,)):
            await until(lambda: "the service is back" in said(caplog))
            os.kill(os.getpid(), signal.SIGTERM)
            await broker
    first, *away, back = said(caplog)
    assert first == (
        f"waiting for the service: 127.0.0.1:{port} does not answer (Connection refused); "
        "is the service running?"
    )
    assert back == "the service is back"
    assert all(line.startswith("the service is away: ") for line in away)
