"""The console blocks of the documents, run in order in a directory with a fresh demo log.

`python -m tests.docs_console FILE...` writes what the commands print into the documents; the test
compares. A block is fenced with ```console; lines that begin with `$ ` are commands, the others
are what they print, both streams.
"""

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
DOCUMENTS = ("README.md", "docs/commands.md", "docs/care.md")

_BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# Made from the machine's clock, or drawn at random.
_CHANGING = (
    (re.compile(r"\bid [\w-]{22}$", re.MULTILINE), "id ..."),
    (re.compile(r"goes at \S+Z;"), "goes at ...;"),
)


def blocks(text: str) -> Iterator[str]:
    """Yield the content of each console block."""
    for match in _BLOCK.finditer(text):
        yield match[1]


def commands(block: str) -> list[str]:
    """Return the commands of a block."""
    return [line[2:] for line in block.splitlines() if line.startswith("$ ")]


def run_block(block: str, directory: Path) -> str:
    """Run a block's commands and return the block as it must read."""
    shown = []
    for command in commands(block):
        shown.append(f"$ {command}\n")
        shown.append(_run(command, directory))
    return "".join(shown)


def _run(command: str, directory: Path) -> str:
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
    }
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=directory,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    output = done.stdout
    for pattern, replacement in _CHANGING:
        output = pattern.sub(replacement, output)
    return output


def main(names: list[str]) -> None:
    """Rewrite the console blocks of the documents named, or of all."""
    for name in names or DOCUMENTS:
        path = ROOT / name
        with tempfile.TemporaryDirectory() as directory:
            text = _BLOCK.sub(
                lambda match, d=directory: f"```console\n{run_block(match[1], Path(d))}```",  # type: ignore[misc]
                path.read_text(),
            )
        path.write_text(text)


if __name__ == "__main__":
    main(sys.argv[1:])
