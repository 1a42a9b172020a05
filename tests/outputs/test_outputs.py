"""Two runs of one state of the code give the same bytes, so a difference is one of the code."""

import subprocess
import sys
from pathlib import Path

import pytest

from api.questions.table import QUESTIONS
from api.requests.commands import COMMANDS
from tests.docs_console import ROOT

pytestmark = pytest.mark.heavy

_RUN = """import sys
from pathlib import Path
from tests.outputs.interfaces import interfaces
interfaces(Path(sys.argv[1]))
"""


def test_interfaces_answer_the_same_in_two_runs(tmp_path: Path) -> None:
    runs = []
    for name in ("first", "second"):
        directory = tmp_path / name
        directory.mkdir()
        # Each in a process of its own, because a process draws on where it was.
        subprocess.run([sys.executable, "-c", _RUN, str(directory)], cwd=ROOT, check=True)
        runs.append({path.name: path.read_text() for path in directory.iterdir()})
    assert runs[0].keys() == runs[1].keys()
    for name, text in runs[0].items():
        assert text.splitlines() == runs[1][name].splitlines(), name
    for name in (*QUESTIONS, *COMMANDS):
        assert f" /v1/{name.replace(' ', '/')} " in runs[0]["http.txt"], name
