"""The event loop of long commands: uvloop where it is installed, or the one that is named."""

import asyncio
import contextlib
import importlib.util
import inspect
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from api.cli.terminal.event_loop import ASYNCIO, EVENT_LOOP, LOOPS, UVLOOP, run, run_long
from metadata_log.writer.creation import create_log
from records.errors import RequestError
from tests.api.services import serving
from tests.forked_commands import METALOG


async def _library() -> str:
    return type(asyncio.get_running_loop()).__module__.partition(".")[0]


@pytest.fixture
def without_uvloop(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide uvloop, as if it were not installed."""
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == UVLOOP else find(name)
    )


@pytest.mark.parametrize("loop", LOOPS)
def test_the_named_loop_runs(loop: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(EVENT_LOOP, loop)
    assert run_long(_library()) == loop


def test_without_a_name_uvloop_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(EVENT_LOOP, "")
    assert run_long(_library()) == UVLOOP
    monkeypatch.delenv(EVENT_LOOP)
    assert run_long(_library()) == UVLOOP
    assert run(_library()) == ASYNCIO


def test_without_uvloop_everything_runs_as_before(
    without_uvloop: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(EVENT_LOOP)
    assert run_long(_library()) == ASYNCIO
    monkeypatch.setenv(EVENT_LOOP, ASYNCIO)
    assert run_long(_library()) == ASYNCIO


def test_a_loop_that_is_named_and_missing_is_refused(
    without_uvloop: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(EVENT_LOOP, UVLOOP)
    with pytest.raises(RequestError, match=r"pip install 'metadata-log\[uvloop\]'"):
        run_long(_library())


@pytest.fixture
def broken_uvloop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put a uvloop first on the path that is installed and cannot be imported."""
    (tmp_path / "uvloop.py").write_text("raise ImportError('wrong machine')")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, UVLOOP, raising=False)


def test_a_loop_that_cannot_be_loaded_is_passed_over_with_a_warning(
    broken_uvloop: None, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.delenv(EVENT_LOOP, raising=False)
    assert run_long(_library()) == ASYNCIO
    assert caplog.messages == ["uvloop cannot be loaded, asyncio runs instead: wrong machine"]


def test_a_named_loop_that_cannot_be_loaded_is_refused(
    broken_uvloop: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(EVENT_LOOP, UVLOOP)
    with pytest.raises(RequestError, match="is uvloop, which cannot be loaded: wrong machine"):
        run_long(_library())


@pytest.mark.filterwarnings("error")
def test_work_is_closed_whatever_keeps_it_from_running(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "uvloop.py").write_text("raise OSError('cannot be read')")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, UVLOOP, raising=False)
    monkeypatch.setenv(EVENT_LOOP, UVLOOP)
    work = _library()
    with pytest.raises(OSError, match="cannot be read"):
        run_long(work)
    assert inspect.getcoroutinestate(work) == inspect.CORO_CLOSED


def test_an_unknown_loop_is_refused_in_one_line(tmp_path: Path) -> None:
    create_log(tmp_path / "log", "loops")
    words = [*METALOG, "serve", str(tmp_path / "log"), "--kafka", ":0"]
    done = subprocess.run(
        words, env={**os.environ, EVENT_LOOP: "trio"}, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout, done.stderr) == (
        3,
        "",
        "error: INVALID_REQUEST: METALOG_EVENT_LOOP is 'trio'; set it to asyncio or uvloop\n",
    )


@contextlib.contextmanager
def _running(*arguments: object) -> Iterator[int]:
    """Run a long command until its first line; yield its process id."""
    words = [*METALOG, *map(str, arguments)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline()
            yield process.pid
        finally:
            process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) in (0, 130)


def _has_loaded(process_id: int) -> bool:
    return UVLOOP in Path(f"/proc/{process_id}/maps").read_text()


@pytest.mark.parametrize("loop", LOOPS)
def test_each_long_command_runs_in_the_named_loop(
    loop: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(EVENT_LOOP, loop)
    log = tmp_path / "log"
    create_log(log, "loops")
    with serving(log) as served:
        brokers = ("broker", "--server", served.kafka, "--id", 1, "--log-dir", tmp_path / "data")
        with (
            _running(*brokers) as broker,
            _running("view", log) as view,
            _running("tail", log, "--from", "start") as tail,
        ):
            pids = served.process.pid, broker, view, tail
            assert [_has_loaded(pid) for pid in pids] == [loop == UVLOOP] * 4
