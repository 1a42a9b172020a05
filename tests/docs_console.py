"""The console blocks of the documents, run in order in a directory with a fresh demo log.

`python -m tests.docs_console FILE...` writes the output of the commands into the documents; the
test compares. A block is fenced with ```console; lines that begin with `$ ` are commands, the
others are their output on both streams.
"""

import contextlib
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
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
    *("docs/alerts.md", "docs/tour.md"),
    *("docs/namespaces.md", "docs/debugging.md", "docs/bisect.md"),
    "docs/what_if.md",
    "docs/security.md",
    "docs/running.md",
)

_BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_PLAIN = r"""(?:[^|&;<>$`*\\'"]|'[^']*'|"[^$`\\"]*")"""
OWN_WORDS = re.compile(rf"metalog ({_PLAIN}*?)(?: (\|(?!\|)|>)(.*))?")
"""The words of a command without anything for the shell, and what it does with the output."""

IN_SPARK = re.compile(r"metalog (audit (?!list)|digest .*--by spark)")


def _dots(number: re.Match[str]) -> str:
    """Return dots in the place of a number, as wide as it where a column follows."""
    return "... KiB" + " " * (len(number[1]) - 3) * bool(number[2]) + number[2]


# Made from the machine's clock, drawn at random, or other with each field of a schema, which the
# header of a segment contains.
_CHANGING: tuple[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]], ...] = (
    (re.compile(r"\bid [\w-]{22}$", re.MULTILINE), "id ..."),
    (re.compile(r"goes at \S+Z;"), "goes at ...;"),
    (re.compile(r"\bacl:[\w-]{22}"), "acl:..."),
    (re.compile(r"(\d+\.\d) KiB((?:  )?)"), _dots),
    (re.compile(r"header has CRC b'\w+', but stores b'\w+'"), "header has CRC ..., but stores ..."),
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
    """True if a command of the block starts Spark."""
    return any(map(IN_SPARK.match, commands(block)))


def run_block(block: str, directory: Path) -> str:
    """Run the commands of a block, and return the block with their output.

    Spark commands run in this process, and use its session if it has one: a command with a session
    of its own takes up to 29 s of CPU, where it also makes the archive of Java's classes.
    """
    shown = []
    for command in commands(block):
        shown.append(f"$ {command}\n")
        shown.append(_run(command, directory))
    return "".join(shown)


def _run(command: str, directory: Path) -> str:
    own = OWN_WORDS.fullmatch(command)
    with tempfile.TemporaryFile("w+", encoding="utf-8") as printed:
        place = printed.fileno()
        if own is None:
            run_in_shell(command, directory, place)
        elif own[2]:
            _run_forked_before_shell(own, directory, place)
        elif IN_SPARK.match(command):
            with contextlib.chdir(directory), _both_streams(printed):
                run(shlex.split(own[1]))
        else:
            _start_forked(own[1], directory, stdout=place, stderr=place).wait()
        printed.seek(0)
        output = printed.read()
    if output and not output.endswith("\n"):
        output += "\n"
    return fixed(output)


def fixed(output: str) -> str:
    """Return output with `...` for what differs at each run."""
    for pattern, replacement in _CHANGING:
        output = pattern.sub(replacement, output)
    return output


@contextlib.contextmanager
def _both_streams(file: IO[str]) -> Iterator[None]:
    """Write what the body prints on both standard streams to a file."""
    with contextlib.redirect_stdout(file), contextlib.redirect_stderr(file):
        yield


def run_in_shell(
    command: str, directory: Path, output: int, source: IO[bytes] | None = None
) -> None:
    """Run a command with both streams to a descriptor, and with `metalog` on its path."""
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
    }
    subprocess.run(
        ["bash", "-c", command],
        cwd=directory,
        env=environment,
        stdin=source,
        stdout=output,
        stderr=output,
        check=False,
    )


def _run_forked_before_shell(own: re.Match[str], directory: Path, output: int) -> None:
    """Run `metalog ... | ...` or `metalog ... > ...`: `metalog` is forked, a shell runs the
    rest.
    """
    rest = own[3] if own[2] == "|" else f"cat >{own[3]}"
    with _start_forked(own[1], directory, stdout=subprocess.PIPE, stderr=output) as process:
        assert process.stdout is not None
        run_in_shell(rest, directory, output, process.stdout)
        process.stdout.close()  # As in a shell, where only the next command has the other end.


def _start_forked(
    words: str, directory: Path, *, stdout: int, stderr: int
) -> "subprocess.Popen[bytes]":
    """Start `metalog` in a forked process, because a page has up to a hundred commands."""
    return subprocess.Popen(
        [*METALOG, *shlex.split(words)], cwd=directory, stdout=stdout, stderr=stderr
    )


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
