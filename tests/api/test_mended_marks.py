"""Commands that write mend a torn commit mark, and raise no alarm about what they have mended."""

import asyncio
import subprocess
from pathlib import Path

import pytest

from tests.forked_commands import METALOG
from tests.metadata_log.test_torn_mark import cut_off, tear

NOTE = '{"type": "NoteRecord", "data": {"at_offset": 0, "author": "ada", "text": "x"}}\n'
COMMANDS = {
    "append": ("append", "-", "--log"),
    "note": ("notes", "add", "0", "x", "--log"),
    "change": ("quotas", "set", "--user", "ann", "producer_byte_rate=1", "--log"),
    "serve": ("serve", "--kafka", "127.0.0.1:0"),
}


@pytest.fixture
def log(tmp_path: Path) -> Path:
    asyncio.run(cut_off(tmp_path / "log"))
    tear(tmp_path / "log")
    return tmp_path / "log"


@pytest.mark.parametrize("name", COMMANDS)
def test_writer_is_silent_about_what_it_mends(log: Path, name: str) -> None:
    with subprocess.Popen(
        [*METALOG, *COMMANDS[name], str(log)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None and process.stdin is not None
        if name == "append":
            process.stdin.write(NOTE)
        process.stdin.close()
        assert process.stdout.readline()
        process.terminate()
        assert process.stderr is not None
        assert process.stderr.read() == ""
    assert process.returncode in (0, -15)


def test_reader_warns_about_what_is_not_mended(log: Path) -> None:
    read = subprocess.run([*METALOG, "info", str(log)], capture_output=True, check=True, text=True)
    assert read.stderr.startswith("WARNING: ")
    assert "is not whole" in read.stderr
