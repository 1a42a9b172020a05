"""The console blocks of the documents, run in order in a directory with a fresh demo log.

`python -m tests.docs_console FILE...` writes what the commands print into the documents; the test
compares. A block is fenced with ```console; lines that begin with `$ ` are commands, the others
are what they print, both streams.
"""

import contextlib
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from api.cli.main import run
from tests.forked_commands import METALOG, forking

ROOT = Path(__file__).parents[1]
DOCUMENTS = (
    *("README.md", "docs/commands.md", "docs/care.md"),
    *("docs/users_and_quotas.md", "docs/authorization.md", "docs/configs.md"),
    *("docs/incidents/shrinking_isr.md", "docs/incidents/returned_topic.md"),
    "docs/incidents/flapping_broker.md",
    *("docs/namespaces.md", "docs/debugging.md", "docs/bisect.md"),
    "docs/what_if.md",
    "docs/security.md",
    "docs/running.md",
)

_BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FOR_THE_SHELL = re.compile(r"[|&;<>$`*]")
_IN_SPARK = re.compile(r"metalog (audit (?!list)|digest .*--by spark)")
# Made from the machine's clock, or drawn at random.
_CHANGING = (
    (re.compile(r"\bid [\w-]{22}$", re.MULTILINE), "id ..."),
    (re.compile(r"goes at \S+Z;"), "goes at ...;"),
    (re.compile(r"\bacl:[\w-]{22}"), "acl:..."),
    (re.compile(r"(since offset \d+), \S+Z(, for [\d.]+ s$)?", re.MULTILINE), r"\1, ..."),
)


def blocks(text: str) -> Iterator[str]:
    """Yield the content of each console block."""
    for match in _BLOCK.finditer(text):
        yield match[1]


def commands(block: str) -> list[str]:
    """Return the commands of a block."""
    return [line[2:] for line in block.splitlines() if line.startswith("$ ")]


def asks_spark(block: str) -> bool:
    """True if a command of a block starts Spark."""
    return any(map(_IN_SPARK.match, commands(block)))


def run_block(block: str, directory: Path) -> str:
    """Run a block's commands and return the block as it must read.

    Commands for Spark run in this process, and use its session if it has one: a start and the first
    query take some 10 s of CPU.
    """
    shown = []
    for command in commands(block):
        shown.append(f"$ {command}\n")
        shown.append(_run(command, directory))
    return "".join(shown)


def _run(command: str, directory: Path) -> str:
    with tempfile.TemporaryFile("w+", encoding="utf-8") as printed:
        if _FOR_THE_SHELL.search(command) or not command.startswith("metalog "):
            _run_in_shell(command, directory, printed.fileno())
        elif _IN_SPARK.match(command):
            with contextlib.chdir(directory), _both_streams(printed):
                run(shlex.split(command)[1:])
        else:
            _run_forked(shlex.split(command)[1:], directory, printed.fileno())
        printed.seek(0)
        output = printed.read()
    if output and not output.endswith("\n"):
        output += "\n"
    for pattern, replacement in _CHANGING:
        output = pattern.sub(replacement, output)
    return output


@contextlib.contextmanager
def _both_streams(file: IO[str]) -> Iterator[None]:
    """Write what the body prints on both standard streams to a file."""
    with contextlib.redirect_stdout(file), contextlib.redirect_stderr(file):
        yield


def _run_in_shell(command: str, directory: Path, output: int) -> None:
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
    }
    subprocess.run(
        ["bash", "-c", command],
        cwd=directory,
        env=environment,
        stdout=output,
        stderr=output,
        check=False,
    )


def _run_forked(arguments: list[str], directory: Path, output: int) -> None:
    """Run `metalog` in a forked process: a page has a hundred of them."""
    subprocess.run([*METALOG, *arguments], cwd=directory, stdout=output, stderr=output, check=False)


def main(names: list[str]) -> None:
    """Rewrite the console blocks of the documents named, or of all."""
    for name in names or DOCUMENTS:
        path = ROOT / name
        with tempfile.TemporaryDirectory() as directory, forking():
            text = _BLOCK.sub(
                lambda match, d=directory: f"```console\n{run_block(match[1], Path(d))}```",  # type: ignore[misc]
                path.read_text(),
            )
        path.write_text(text)


if __name__ == "__main__":
    main(sys.argv[1:])
