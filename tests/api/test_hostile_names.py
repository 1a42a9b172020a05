"""Texts from a log do nothing to a terminal: no command prints a character that it would obey."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from api.cli.main import run
from api.printable import plain
from metadata_log.format.batch import NewBatch
from metadata_log.reader.log_reader import LogReader
from tests.api.conftest import Metalog
from tests.api.terminal import on_terminal
from tests.api.test_terminal import TABLES, TOPIC, USER
from tests.hostile_log import (
    HOSTILE,
    LAST_VALUE,
    OBEYED,
    write_batches,
    write_hostile_log,
    write_hostile_node,
)
from tests.metadata_log.kraft.node import Node
from tests.replay.builders import topic

_OTHERS = (
    *(("info", "{log}"), ("verify", "{log}"), ("digest", "{log}"), ("dump", "{log}", "--asked")),
    *(("diff", "{log}", "start", "end"), ("timeline", "{log}"), ("timeline", "{log}", "--verbose")),
    *(("why", "{log}", "broker:1"), ("why", "{log}", "partition:ns:t/0#leader")),
    *(("check", "{log}"), ("upgrade-check", "{log}", "--to", "4.1")),
    *(("history", "{log}", "broker:1", "--notes"), ("blame", "{log}", "config:topic/ns:t")),
    *[
        ("history", "{log}", f"{kind}:*")
        for kind in ("topic", "partition", "broker", "namespace", "quota", "acl", "scram")
    ],
    *[("history", "{log}", f"{kind}:*") for kind in ("token", "note", "feature")],
    ("configs", "explain", "topic/ns:t", "--log", "{log}"),
    ("acls", "explain", f"User:{HOSTILE}", "read", f"topic:{HOSTILE}", "--log", "{log}"),
    ("topics", "describe", HOSTILE, "--log", "{log}"),
    ("topics", "describe", f"{HOSTILE}?", "--log", "{log}"),
    ("history", "{log}", f"topic:{HOSTILE}?"),
    ("history", "{log}", HOSTILE),
    ("image", "{log}", "--at", HOSTILE),
    ("image", "{log}", HOSTILE),
    ("info", HOSTILE),
    ("partitions", "states", "--log", "{log}"),
)
"""Commands beside those that print tables; the last of them fail."""


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    log = tmp_path_factory.mktemp("hostile") / "log"
    write_hostile_log(log)
    return log


def _command(arguments: tuple[str, ...], log: Path) -> list[str]:
    known = {"{log}": str(log), TOPIC: "ns:t", USER: HOSTILE}
    found = []
    for argument in arguments:
        for name, value in known.items():
            argument = argument.replace(name, value)
        found.append(argument)
    return found


@pytest.mark.parametrize("arguments", [*TABLES, *_OTHERS], ids=lambda each: " ".join(each)[:40])
def test_no_command_prints_what_a_terminal_obeys(
    metalog: Metalog, log: Path, arguments: tuple[str, ...]
) -> None:
    command = _command(arguments, log)
    for options in ([], ["--json"]):
        answer = metalog(*command, *options)
        for text in (answer.out, answer.err):
            assert [hex(ord(char)) for char in OBEYED.findall(text)] == []


def test_json_has_the_texts_as_they_are(metalog: Metalog, log: Path) -> None:
    rows = [json.loads(line) for line in metalog("dump", log, "--json").out.splitlines()]
    assert HOSTILE in [row["data"].get("author") for row in rows]
    assert {row["origin"]["reason"] for row in rows if row["origin"]} == {HOSTILE}


_LOGS = """
import logging, sys
from api.cli.terminal.errors import configure_logging
from api.cli.options.log_format import LogFormat, use_log_format
configure_logging(debug=False)
use_log_format(LogFormat(sys.argv[1]))
name = sys.argv[2]
try:
    raise ValueError(name + chr(10) + "WARNING: forged")
except ValueError:
    logging.getLogger("api").warning("%s: not created", name, exc_info=True, stack_info=True)
"""


def _logged(log_format: str) -> list[str]:
    """Return the lines that a process logs about an error with a hostile name."""
    logged = subprocess.run(
        [sys.executable, "-c", _LOGS, log_format, HOSTILE],
        capture_output=True,
        check=True,
        text=True,
    )
    assert OBEYED.findall(logged.stderr) == []
    return logged.stderr.splitlines()


def test_a_logged_name_forges_no_line() -> None:
    message, *traceback = _logged("text")
    assert message == f"WARNING: {plain(HOSTILE)}: not created"
    assert "  Traceback (most recent call last):" in traceback
    assert [line for line in traceback if not line.startswith("  ")] == []


def test_a_line_of_a_log_as_json_has_the_name_as_it_is() -> None:
    (line,) = _logged("json")
    assert json.loads(line)["message"] == f"{HOSTILE}: not created"


def test_the_traceback_of_an_error_forges_no_line(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "api.cli", "--debug", "info", str(tmp_path / HOSTILE)]
    printed = subprocess.run(command, capture_output=True, text=True, check=False).stderr
    assert OBEYED.findall(printed) == []
    *traceback, _error = printed.splitlines()
    assert "  Traceback (most recent call last):" in traceback
    assert [line for line in traceback if not line.startswith("  ")] == []


@pytest.mark.parametrize(
    "arguments",
    [("dump", "{log}"), ("timeline", "{log}", "--verbose"), ("image", "{log}"), ("info", HOSTILE)],
    ids=lambda each: each[0],
)
def test_a_terminal_gets_only_colours(log: Path, arguments: tuple[str, ...]) -> None:
    shown = on_terminal(*_command(arguments, log), with_errors=True)
    # A progress bar moves the cursor, hides it, and shows it again.
    shown = re.sub(r"\x1b\[(\?25[lh]|[0-9]*[AK])|\r", "", shown)
    assert [hex(ord(char)) for char in OBEYED.findall(shown)] == []


@pytest.fixture(scope="module")
def named(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log with topics that can be typed as a word of the shell."""
    log = tmp_path_factory.mktemp("named") / "log"
    names = ("t\x1b]0;title\x1b[31m", "x\x9b31m\u202egnp", "xylophone")
    write_batches(log, NewBatch(records=tuple(map(topic, names))))
    return log


def _shown_in_shell(log: Path, *lines: str) -> str:
    typed = "".join(f"{line}\n" for line in (*lines, "exit"))
    shown = on_terminal("shell", log, with_errors=True, typed=typed, columns=200)
    # What the terminal and the line editor write: pasting on and off, a bell, a step back.
    return re.sub(r"\x1b\[\?2004[hl]|[\r\x07\x08]", "", shown)


def test_prompt_of_the_shell_is_not_obeyed(named: Path) -> None:
    # Ctrl-V takes the next key as it is: the first for the terminal, the second for the editor.
    escape = "\x16\x16\x16\x1b"
    shown = _shown_in_shell(named, f"cd /topics/t{escape}]0;title{escape}[31m", "ls")
    assert r"/topics/t\x1b]0;title\x1b[31m @" in shown
    assert OBEYED.findall(shown) == []


def test_completion_in_the_shell_gives_no_name_that_is_obeyed(named: Path) -> None:
    shown = _shown_in_shell(named, "cd /topics/x\t", "ls")
    assert "/topics/xylophone @" in shown
    assert OBEYED.findall(shown) == []


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Node:
    """A node whose path is hostile, too."""
    name = re.sub("/|src=x", "", HOSTILE)
    return write_hostile_node(tmp_path_factory.mktemp("node") / name)


@pytest.fixture(scope="module")
def mirror(node: Node, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The hostile node's log, imported."""
    mirror = tmp_path_factory.mktemp("mirror") / "log"
    assert run(["import", "kraft", str(node.directory), str(mirror), "--noop", "keep"]) == 0
    return mirror


def _shown(*arguments: object, stop_at: str = "") -> str:
    """Return what a command prints on a terminal, without a progress bar; none of it is obeyed."""
    shown = on_terminal(*arguments, with_errors=True, stop_at=stop_at)
    shown = re.sub(r"\x1b\[(\?25[lh]|[0-9]*[AK])|\r", "", shown)
    assert [hex(ord(char)) for char in OBEYED.findall(shown)] == []
    return shown


@pytest.mark.parametrize("options", [(), ("--json",)], ids=["text", "json"])
def test_import_of_a_hostile_kafka_log(
    node: Node, tmp_path: Path, options: tuple[str, ...]
) -> None:
    log = tmp_path / "log"
    assert "TopicRecord" in _shown("import", "kraft", node.directory, log, *options)
    nowhere = tmp_path / node.directory.name
    assert "window.hit" in _shown("import", "kraft", nowhere, log, *options)


@pytest.mark.parametrize("options", [(), ("--json",)], ids=["text", "json"])
def test_recorder_of_a_hostile_kafka_log(
    node: Node, tmp_path: Path, options: tuple[str, ...]
) -> None:
    command = ("import", "kraft", "--follow", node.directory, tmp_path / "log", *options)
    shown = _shown(*command, stop_at="source_end" if options else "confirmed below")
    assert "confirmed" in shown.splitlines()[-1]


@pytest.mark.parametrize("options", [(), ("--json",)], ids=["text", "json"])
def test_recorder_that_ends_with_an_error_about_a_hostile_path(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    nowhere = tmp_path / HOSTILE.replace("/", "")
    shown = _shown("import", "kraft", "--follow", nowhere, tmp_path / "log", *options)
    assert "window.hit" in shown
    assert len(shown.splitlines()) == 1


@pytest.mark.parametrize("options", [(), ("--json",)], ids=["text", "json"])
def test_following_tail_of_a_hostile_kafka_log(mirror: Path, options: tuple[str, ...]) -> None:
    with LogReader.open(mirror) as reader:
        records = reader.end_offset
    shown = _shown("tail", mirror, "--from", "start", *options, stop_at=LAST_VALUE)
    lines = [line for line in shown.splitlines() if line.strip()]
    assert len(lines) == records
    if options:
        rows = [json.loads(line) for line in lines]
        assert HOSTILE in [row["data"].get("host") for row in rows]
