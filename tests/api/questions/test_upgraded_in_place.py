"""A service whose files were replaced does not use worker processes of the new release."""

import os
import shutil
import sys
from pathlib import Path

import pytest

from api.cli.main import run
from tests.api.conftest import Metalog
from tests.api.services import serving

ROOT = Path(__file__).resolve().parents[3]
PACKAGES = ("records", "metadata_log", "replay", "controller", "api", "migrations")


def test_service_says_that_a_restart_is_needed_while_its_files_are_others(
    tmp_path: Path, metalog: Metalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    program, log = tmp_path / "program", tmp_path / "log"
    for package in PACKAGES:
        shutil.copytree(ROOT / package, program / package)
    assert run(["init", str(log)]) == 0
    monkeypatch.setenv("PYTHONPATH", str(program))
    with serving(log, command=[sys.executable, "-P", "-m", "api.cli"]) as service:
        kafka = service.kafka
        file = program / "replay" / "timeline.py"
        before = file.stat()
        replaced_ns = before.st_atime_ns, before.st_mtime_ns + 1
        os.utime(file, ns=replaced_ns)
        answer = metalog("info", "--server", kafka)
        assert (answer.code, answer.out) == (4, "")
        assert "restart needed: the program's files were replaced" in answer.err
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
        assert metalog("info", "--server", kafka).code == 0
        # A process that runs answers what it was asked before, and imports nothing more.
        os.utime(file, ns=replaced_ns)
        assert metalog("info", "--server", kafka).code == 0
        answer = metalog("digest", "--server", kafka)
        assert (answer.code, answer.out) == (4, "")
        assert "restart needed: the program's files were replaced" in answer.err
