"""The steps of a document, such as docs/adding_a_record.md, applied to a copy of the packages."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import msgspec

from tests.docs_console import ROOT

_COPIED = (
    "records",
    "metadata_log",
    "replay",
    "controller",
    "api",
    "migrations",
    "tests",
    "benchmarks",
    "docs",
)

_STEP = re.compile(
    r"^`(?P<path>[\w./]+)`, (?:in `(?P<scope>[^\n`]+)`, )?"
    r"(?:(?P<how>a new file|at the end)|(?P<where>after|instead of) `(?P<anchor>[^\n]+)`):\n\n"
    r"(?P<fence>```+)\w+\n(?P<text>.*?)^(?P=fence)$",
    re.MULTILINE | re.DOTALL,
)


class Step(msgspec.Struct, frozen=True):
    """A block of text and where it goes.

    Attributes:
        scope: A whole line, after which the first `anchor` is meant; empty: there is only one.
        anchor: A whole line.
    """

    path: str
    how: str
    scope: str
    anchor: str
    text: str

    def apply(self, root: Path) -> None:
        """Change the file below a directory."""
        path = root / self.path
        if self.how == "a new file":
            assert not path.exists(), path
            path.write_text(self.text)
            return
        before = path.read_text()
        if self.how == "at the end":
            path.write_text(before + self.text)
            return
        start = before.index(f"{self.scope}\n") if self.scope else 0
        head, rest = before[:start], before[start:]
        anchor = f"{self.anchor}\n"
        found = rest.count(anchor)
        assert found == 1 or (self.scope and found), f"{path} has no single line {self.anchor!r}"
        kept = anchor if self.how == "after" else ""
        path.write_text(head + rest.replace(anchor, kept + self.text, 1))


def documented_steps(document: str) -> list[Step]:
    """Return the steps of the document in order."""
    return [
        Step(m["path"], m["how"] or m["where"], m["scope"] or "", m["anchor"] or "", m["text"])
        for m in _STEP.finditer(document)
    ]


def copy_with_steps(root: Path, steps: Iterable[Step]) -> None:
    """Copy the packages to `root`, with the steps of a document applied."""
    for name in _COPIED:
        # With their bytecode, which is valid for a copy that keeps its source's time.
        shutil.copytree(ROOT / name, root / name)
    for name in ("pyproject.toml", "README.md"):
        shutil.copy(ROOT / name, root / name)
    for step in steps:
        step.apply(root)


def run_module(root: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run a module of the packages below `root`."""
    return subprocess.run(
        [sys.executable, "-m", *map(str, arguments)],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        check=False,
    )
