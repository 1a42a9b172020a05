"""Commands as processes: errors, exit codes, interrupts and standard streams."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from typer import core

from api.printable import plain
from metadata_log.format.batch import NewBatch
from metadata_log.writer.creation import create_log
from metadata_log.writer.log import MetadataLog
from records.control import NoteRecord
from tests.api.conftest import Metalog


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["image", "{log}", "--at", "99999999"], 3, "error: OFFSET_OUT_OF_RANGE: "),
        (["image", "{log}", "--at", "yesterday"], 2, "error: USAGE: "),
        (["blame", "{log}", "topic:absent"], 3, "error: RESOURCE_NOT_FOUND: "),
        (["history", "{log}", "nothing"], 3, "error: INVALID_REQUEST: "),
        (["image", "{log}", "--part", "nothing"], 2, "error: USAGE: "),
        (["digest", "{log}", "--by", "guessing"], 2, "error: USAGE: "),
        (["dump", "{log}", "--type", "NoSuchRecord"], 2, "error: USAGE: "),
        (["image"], 2, "error: USAGE: "),
        (["no-such-verb"], 2, "error: USAGE: "),
        (["image", "{log}/nowhere"], 3, "error: LOG_NOT_FOUND: "),
        (["init", "{log}"], 3, "error: LOG_EXISTS: "),
        (["demo", "{log}", "--topics", "0"], 3, "error: INVALID_REQUEST: "),
        (["snapshot", "show", "{log}", "7"], 3, "error: SNAPSHOT_NOT_FOUND: "),
        (["dump", "{log}", "--from", "99999999"], 3, "error: OFFSET_OUT_OF_RANGE: "),
        (["dump", "{log}", "--to", "99999999"], 3, "error: OFFSET_OUT_OF_RANGE: "),
        (["audit", "who", "{log}", "--until", "99999999"], 3, "error: OFFSET_OUT_OF_RANGE: "),
        (["image", "{log}", "--at", "²"], 2, "error: USAGE: "),
        (["blame", "{log}", "broker:²"], 3, "error: INVALID_REQUEST: "),
        (["blame", "{log}", "broker:1#"], 3, "error: INVALID_REQUEST: "),
        (["blame", "{log}", "broker:1#no-such-field"], 3, "error: RESOURCE_NOT_FOUND: "),
        (["diff", "{log}", "0", "9", "--object", ""], 3, "error: INVALID_REQUEST: "),
        (["demo", "{log}", "--topics", "9" * 20], 3, "error: INVALID_REQUEST: "),
        (["init", "{log}/metalog.json/below"], 3, "error: IO: "),
        (["diff", "{log}", "0", "--exit-cod"], 2, "error: USAGE: No such option: --exit-cod"),
        (["diff", "{log}", "0", "1", "--exit-cod"], 2, "error: USAGE: "),
        (["image", "{log}", "--time-zone", "Mars/Base"], 3, "error: INVALID_REQUEST: 'Mars/Base'"),
        (["image", "{log}", "--time-zone", "+24:00"], 3, "error: INVALID_REQUEST: '+24:00'"),
        (["info", ""], 2, "error: USAGE: "),
        (["snapshot", "show", "{log}", "9" * 30], 2, "error: USAGE: "),
        (["snapshot", "prune", "{log}", "--keep", "9" * 30], 2, "error: USAGE: "),
        (["blame", "{log}", "topic:\x1b[31mred\x07"], 3, "error: RESOURCE_NOT_FOUND: topic:\\x1b"),
    ],
)
def test_error_is_one_line_with_a_code(
    metalog: Metalog, demo_log: Path, arguments: list[str], code: int, message: str
) -> None:
    answer = metalog(*(argument.replace("{log}", str(demo_log)) for argument in arguments))
    assert answer.code == code
    assert answer.err.startswith(message)
    assert answer.err.count("\n") == 1
    assert answer.err[:-1].isprintable()
    assert answer.out == ""


def test_damage_has_its_exit_code_and_names_the_place(
    metalog: Metalog, demo_log: Path, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    shutil.copytree(demo_log, log)
    segment = log / "00000000000000000000.avro"
    data = bytearray(segment.read_bytes())
    data[20_000] ^= 1
    segment.write_bytes(data)
    answer = metalog("image", log)
    assert answer.code == 5
    assert re.match(r"error: CORRUPT: \S+\.avro byte \d+: ", answer.err)


def test_debug_shows_where_an_error_came_from(demo_log: Path) -> None:
    command = [sys.executable, "-m", "api.cli", "--debug", "image", str(demo_log), "--at", "999999"]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    assert answer.returncode == 3
    assert "Traceback" in answer.stderr


def test_reader_that_leaves_early_is_no_error(demo_log: Path) -> None:
    command = f"{sys.executable} -m api.cli dump {demo_log} --json | head -n 1"
    answer = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, check=False
    )
    assert answer.returncode == 0
    assert answer.stderr == ""
    assert json.loads(answer.stdout)["offset"] == 0


def test_password_of_a_database_is_never_printed(metalog: Metalog, demo_log: Path) -> None:
    url = "mysql://admin:hunter2@db.example/x"
    answer = metalog("snapshot", "create", demo_log, "--database", url)
    assert answer.code == 3
    assert "mysql://admin:***@db.example/x is not a database URL" in answer.err


@pytest.mark.parametrize(
    "url", ["postgresql//ada:pass/word@db.example/x", "postgresql://ada:pass@db.example:port/x"]
)
def test_password_of_what_is_no_database_url_is_not_printed_either(
    metalog: Metalog, demo_log: Path, url: str
) -> None:
    answer = metalog("snapshot", "list", demo_log, "--database", url)
    assert answer.code == 3
    assert answer.err.startswith("error: INVALID_REQUEST: postgresql")
    assert "ada:***@db.example" in answer.err
    assert "pass" not in answer.err


def test_control_characters_of_a_log_never_reach_a_terminal() -> None:
    assert plain("a\x1b]0;title\x07b\nc\u202ed") == "a\\x1b]0;title\\x07b\\nc\\u202ed"
    assert plain("plain, Ünïcode 漢字") == "plain, Ünïcode 漢字"


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_standard_streams_are_no_error_and_no_danger(demo_log: Path, closed: str) -> None:
    command = f"{sys.executable} -m api.cli image {demo_log} {closed}"
    answer = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert (answer.returncode, answer.stderr) == (0, "")
    if ">&-" not in closed.replace("2>&-", ""):
        assert "brokers" in answer.stdout


def test_interrupt_during_start_is_one_line(demo_log: Path) -> None:
    code = (
        "import os, signal, sys, importlib.abc\n"
        "class Interrupt(importlib.abc.MetaPathFinder):\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'msgspec': os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Interrupt())\n"
        f"sys.argv = ['metalog', 'image', {str(demo_log)!r}]\n"
        "from api.cli.entry import main\n"
        "main()\n"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert answer.returncode == 130
    assert answer.stderr.startswith("error: INTERRUPTED: ")
    assert answer.stderr.count("\n") == 1


def test_interrupt_while_the_arguments_are_read_is_one_line(
    metalog: Metalog, demo_log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(core.TyperGroup, "parse_args", interrupted)
    # What is not understood at once is read by typer.
    answer = metalog("verify", demo_log, "--no-such-option")
    assert answer.code == 130
    assert answer.err == "error: INTERRUPTED: stopped before anything was done\n"


def test_interrupt_of_a_command_that_reads_leaves_nothing_open(
    metalog: Metalog, demo_log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("replay.timeline.Timeline.image", interrupted)
    monkeypatch.setenv("METALOG_LOG", str(demo_log))
    for command in (["image", demo_log], ["image"], ["topics", "list"]):
        answer = metalog(*command, "--json")
        assert (answer.code, answer.error["outcome"]) == (130, "nothing")


@pytest.mark.parametrize("options", [[], ["--json"]], ids=["text", "json"])
async def test_output_is_utf8_whatever_the_locale(tmp_path: Path, options: list[str]) -> None:
    note = NoteRecord(at_offset=0, author="Ünïcode", text="漢字 🙂")
    create_log(tmp_path / "log", "test-cluster")
    log = await MetadataLog.open(tmp_path / "log")
    await log.append(NewBatch(records=(note,)))
    await log.close()
    command = [sys.executable, "-m", "api.cli", "dump", str(tmp_path / "log"), *options]
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    answer = subprocess.run(command, env=environment, capture_output=True, check=True)
    assert "漢字 🙂" in answer.stdout.decode()


def test_end_of_file_inside_a_command_is_not_taken_for_an_interrupt(
    metalog: Metalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read(*_: object, **__: object) -> None:
        raise EOFError("marshal data too short")  # as importing a truncated .pyc does

    monkeypatch.setattr("api.cli.source.source.Source.ask", read)
    answer = metalog("digest", tmp_path)
    assert answer.code == 3
    assert "error: INTERNAL: EOFError: marshal data too short; " in answer.err
