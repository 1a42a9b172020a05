"""Texts from a log do nothing to a terminal: no command prints a character that it would obey."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from api.cli.output import plain
from metadata_log.batch import NewBatch
from tests.api.conftest import Metalog
from tests.api.terminal import on_terminal
from tests.api.test_terminal import TABLES, TOPIC, USER
from tests.hostile_log import HOSTILE, OBEYED, write_batches, write_hostile_log
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
from api.cli.errors import configure_logging
configure_logging(debug=False)
logging.getLogger("api").warning("%s: not created", sys.argv[1])
"""


def test_a_logged_name_forges_no_line() -> None:
    logged = subprocess.run(
        [sys.executable, "-c", _LOGS, HOSTILE], capture_output=True, check=True, text=True
    )
    assert logged.stderr == f"WARNING: {plain(HOSTILE)}: not created\n"


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
