"""What the command line prints: each command of the documents, as text and as JSON."""

import contextlib
import os
import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

from tests.docs_console import (
    DOCUMENTS,
    IN_SPARK,
    OWN_WORDS,
    ROOT,
    blocks,
    commands,
    fixed,
    run_in_shell,
)
from tests.forked_commands import METALOG, forking
from tests.test_docs import command_names

# Times and ids that are new in each run.
_NEW = re.compile(
    r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[.\d]*Z|(?<![\w-])(?!--)[\w-]{22}(?![\w-])|\b1[78]\d{11}\b"
    r'|(?<="clock_difference_ms": )-?\d+'
)
_DURATION = re.compile(r"\b\d+(\.\d+)? (ms|s)\b")
_NO_JSON = "No such option: --json"
_LIMIT_S = 120


def printed(directory: Path, work: Path) -> None:
    """Write what the commands of each document print into files of a directory.

    Args:
        work: An empty directory, in which the commands run.
    """
    with forking():
        for form in ("text", "json"):
            for document in DOCUMENTS:
                place = work / form / Path(document).stem
                place.mkdir(parents=True)
                lines = list(_of_document(ROOT / document, place, form))
                name = f"{form}_{Path(document).stem}.txt"
                (directory / name).write_text("".join(lines).replace(str(place), "FOLDER"))


def _of_document(document: Path, place: Path, form: str) -> Iterator[str]:
    for block in blocks(document.read_text()):
        for command in commands(block):
            own = OWN_WORDS.fullmatch(command)
            if IN_SPARK.match(command):
                continue
            if own is None or own[2]:
                with contextlib.suppress(subprocess.SubprocessError):
                    run_in_shell(command, place, subprocess.DEVNULL)
                continue
            words = shlex.split(own[1])
            if form == "json" and "--json" not in words:
                words.append("--json")
            ran = _run(words, place)
            if _NO_JSON in ran.stderr:
                ran = _run(words[:-1], place)
            output = _DURATION.sub("TIME", _NEW.sub("NEW", fixed(ran.stdout + ran.stderr)))
            yield f"$ metalog {shlex.join(words)}\n{ran.returncode}\n{output}\n"


def helps(directory: Path) -> None:
    """Write the help of each command into a file of a directory."""
    with forking(), (directory / "help.txt").open("w") as file:
        for name in command_names():
            file.write(_run([*name.split(), "--help"], Path()).stdout)


def _run(words: list[str], place: Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [*METALOG, *words],
        cwd=place,
        env=os.environ | {"COLUMNS": "80", "NO_COLOR": "1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=_LIMIT_S,
    )
