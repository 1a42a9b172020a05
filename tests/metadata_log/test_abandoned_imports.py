"""Folders that killed imports left in the directory of their mirror."""

import os
import subprocess
import sys
from pathlib import Path

from metadata_log.files.fs import OsFs
from metadata_log.files.lock import lock_directory
from metadata_log.files.names import LOCK
from tests.metadata_log.mirrors import level_row, new_mirror


def test_what_a_killed_import_left_is_removed_by_the_next_one(tmp_path: Path) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    for process in (ended.pid, os.getpid(), os.getppid()):
        left = tmp_path / f"log.importing-{process}"
        left.mkdir()
        (left / LOCK).touch()
    (tmp_path / "log.importing-mine").mkdir()
    (tmp_path / f"other.importing-{ended.pid}").mkdir()
    new_mirror(tmp_path / "log", [(level_row(0), 1)])
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        [
            "log",
            f"log.importing-{os.getppid()}",
            "log.importing-mine",
            f"other.importing-{ended.pid}",
        ]
    )
    assert not (tmp_path / "log" / LOCK).exists()


def test_import_that_runs_elsewhere_is_left_alone(tmp_path: Path) -> None:
    """Containers that share a folder do not see each other's processes."""
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    left = tmp_path / f"log.importing-{ended.pid}"
    left.mkdir()
    lock = lock_directory(OsFs(), left)
    new_mirror(tmp_path / "log", [])
    assert left.exists()
    lock.release()
