"""A machine whose clock is wrong by centuries: the service serves, and goes on once it is right."""

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from metadata_log.reader.log_reader import LogReader
from tests.api.conftest import Metalog

YEARS_500_S = 500 * 31_557_600

_SHIFTED = """
import time
_real = time.time_ns
time.time_ns = lambda: _real() + {shift_s} * 1_000_000_000
time.time = lambda: time.time_ns() / 1e9
"""


@contextlib.contextmanager
def _serving(log: Path, clock: Path, shift_s: int) -> Iterator[str]:
    """Serve a log in a process whose wall clock is shifted; yield its URL."""
    clock.mkdir(exist_ok=True)
    (clock / "sitecustomize.py").write_text(_SHIFTED.format(shift_s=shift_s))
    paths = [str(clock), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    with subprocess.Popen(
        [sys.executable, "-m", "api.cli", "serve", str(log), "--kafka", "127.0.0.1:0", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    ) as service:
        assert service.stdout is not None
        yield f"kafka://{json.loads(service.stdout.readline())['kafka']}"
        service.terminate()
        _, errors = service.communicate(timeout=60)
        assert service.returncode == 0, errors
        assert "FENCED" not in errors


@pytest.mark.parametrize("shifts", [(YEARS_500_S, 0), (0, YEARS_500_S, -YEARS_500_S)], ids=str)
def test_a_clock_that_is_centuries_off_stops_nobody(
    metalog: Metalog, tmp_path: Path, shifts: tuple[int, ...]
) -> None:
    log = tmp_path / "log"
    assert metalog("init", log).code == 0
    for number, shift_s in enumerate(shifts):
        with _serving(log, tmp_path / f"clock {number}", shift_s) as url:
            made = metalog("namespaces", "create", f"ns{number}", "--server", url)
            assert made.code == 0, made
            listed = metalog("namespaces", "list", "--server", url, "--json").json
            assert [each["name"] for each in listed["namespaces"]][-1] == f"ns{number}"
    with LogReader.open(log) as reader:
        times = [batch.rows[0].timestamp for batch in reader.batches(0, reader.end_offset)]
    assert all(earlier <= later for earlier, later in pairwise(times))
    assert times[-1] > YEARS_500_S * 1_000
    assert metalog("verify", log).code == 0
