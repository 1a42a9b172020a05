"""A forked command is like a started process, for its parent and for itself."""

import asyncio
import json
import os
import signal
import subprocess
from pathlib import Path

import psutil
import pytest

from api.questions.rows import ShowRows
from api.questions.workers import Workers
from controller.wire import to_wire
from metadata_log.writer.creation import create_log
from tests.api.services import serving
from tests.forked_commands import METALOG
from tests.processes import descriptor_limit


def words_of(process_id: int) -> list[str]:
    """Return the command line by which a process was started."""
    return Path(f"/proc/{process_id}/cmdline").read_text().split("\0")


def test_service_is_a_child_of_its_own_that_can_be_killed(tmp_path: Path) -> None:
    create_log(tmp_path / "log", "forked")
    with serving(tmp_path / "log") as served:
        process = served.process
        assert "tests.forked_commands" in words_of(process.pid)
        parent = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[1]
        assert int(parent) == os.getpid()
        process.kill()
        assert process.wait(timeout=60) == -signal.SIGKILL
    with serving(tmp_path / "log") as again:
        again.process.terminate()
        assert again.process.wait(timeout=60) == 0


def test_command_has_its_directory_environment_streams_and_exit_code(tmp_path: Path) -> None:
    create_log(tmp_path / "log", "forked")
    environment = {"PATH": os.environ["PATH"], "METALOG_LOG": "log"}
    info = [*METALOG, "info", "--json"]
    done = subprocess.run(info, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["cluster_id"] == "forked"
    done = subprocess.run([*METALOG, "info", "none"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (3, "")
    assert "none is not a log" in done.stderr


def test_workers_of_xdist_are_forked() -> None:
    is_worker = "PYTEST_XDIST_WORKER" in os.environ
    assert ("tests.forked_workers" in words_of(os.getpid())) == is_worker


async def test_asyncio_starts_the_same(tmp_path: Path) -> None:
    create_log(tmp_path / "log", "forked")
    process = await asyncio.create_subprocess_exec(
        *(*METALOG, "append", "--log", str(tmp_path / "log"), "-"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert "tests.forked_commands" in words_of(process.pid)
    out, _ = await process.communicate(
        b'{"type": "NoteRecord", "data": {"at_offset": 0, "author": "ada", "text": "hi"}}\n'
    )
    assert (process.returncode, out != b"") == (0, True)


def test_command_can_have_a_session_of_its_own(tmp_path: Path) -> None:
    create_log(tmp_path / "log", "forked")
    command = [*METALOG, "append", "--log", str(tmp_path / "log"), "-"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True) as process:
        assert "tests.forked_commands" in words_of(process.pid)
        assert os.getsid(process.pid) == process.pid
        os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL


async def test_what_answers_questions_is_forked(tmp_path: Path) -> None:
    create_log(tmp_path / "log", "forked")
    workers = Workers(tmp_path / "log")
    try:
        await workers.page("dump", to_wire(ShowRows()), "end", None)
        forked = [
            each
            for each in psutil.Process().children()
            if os.getsid(each.pid) == each.pid and "tests.forked_commands" in each.cmdline()
        ]
        assert len(forked) == 1
    finally:
        await workers.close()


@pytest.mark.parametrize("limit", [64, None])
def test_command_with_a_limit_of_its_own_is_started(tmp_path: Path, limit: int | None) -> None:
    create_log(tmp_path / "log", "forked")
    command = [*METALOG, "append", "--log", str(tmp_path / "log"), "-"]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        preexec_fn=descriptor_limit(limit),
    ) as process:
        assert ("tests.forked_commands" in words_of(process.pid)) == (limit is None)
        process.kill()
