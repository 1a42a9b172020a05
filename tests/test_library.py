"""The examples of docs/library.md run unchanged, one after the other in one directory."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
EXAMPLES = re.findall(
    r"^## (.*?)\n.*?^```python\n(.*?)^```\n\n```text\n(.*?)^```$",
    (ROOT / "docs" / "library.md").read_text(),
    re.MULTILINE | re.DOTALL,
)


def test_every_section_has_an_example_that_prints_something() -> None:
    text = (ROOT / "docs" / "library.md").read_text()
    assert [title for title, _, _ in EXAMPLES] == re.findall(r"^## (.*)$", text, re.MULTILINE)


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("library")


@pytest.mark.xdist_group("library")
@pytest.mark.parametrize(
    ("code", "printed"), [e[1:] for e in EXAMPLES], ids=[e[0] for e in EXAMPLES]
)
def test_example_prints_what_the_document_says(directory: Path, code: str, printed: str) -> None:
    done = subprocess.run(
        [sys.executable, "-"],
        input=code,
        cwd=directory,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.stdout, done.stderr, done.returncode) == (printed, "", 0)
