"""A real Prometheus (Debian's), which scrapes services of a test."""

import contextlib
import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.ports import free_port

SCRAPE_S = 0.2

_SOON_S = 60


@contextlib.contextmanager
def prometheus(directory: Path, jobs: Mapping[str, str]) -> Iterator[httpx.Client]:
    """Run Prometheus while the body runs; yield a client of its API.

    Args:
        directory: An existing directory, for its data.
        jobs: The address to scrape, HOST:PORT, of each job.
    """
    if shutil.which("prometheus") is None:
        assert "METALOG_REQUIRE_CLIENTS" not in os.environ, "install Debian's prometheus"
        pytest.skip("prometheus is not installed")
    scraped = [
        {"job_name": name, "static_configs": [{"targets": [target]}]}
        for name, target in jobs.items()
    ]
    every = {"scrape_interval": f"{int(SCRAPE_S * 1000)}ms", "scrape_timeout": "150ms"}
    file = directory / "prometheus.yml"
    file.write_text(json.dumps({"global": every, "scrape_configs": scraped}))
    address = f"127.0.0.1:{free_port()}"
    words = [f"--config.file={file}", f"--storage.tsdb.path={directory / 'tsdb'}"]
    with (
        (directory / "prometheus.log").open("wb") as log,
        subprocess.Popen(
            ["prometheus", *words, f"--web.listen-address={address}"], stdout=log, stderr=log
        ) as process,
        httpx.Client(base_url=f"http://{address}") as client,
    ):
        try:
            _wait_until_ready(client)
            yield client
        finally:
            process.terminate()


def _wait_until_ready(client: httpx.Client) -> None:
    deadline = time.monotonic() + _SOON_S
    while True:
        with contextlib.suppress(httpx.TransportError):
            if client.get("/-/ready").status_code == 200:
                return
        assert time.monotonic() < deadline, "Prometheus does not start"
        time.sleep(0.02)


def answered(client: httpx.Client, expression: str) -> list[Any]:
    """Return the series of an expression over the last minute.

    Raises:
        AssertionError: Prometheus refuses the expression.
    """
    now = time.time()
    query: dict[str, str | float] = {
        "query": expression,
        "start": now - 60,
        "end": now,
        "step": "1s",
    }
    answer = client.get("/api/v1/query_range", params=query).json()
    assert answer["status"] == "success", (expression, answer)
    return list(answer["data"]["result"])
