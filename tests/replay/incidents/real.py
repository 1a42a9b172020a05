"""Imports of real logs."""

import atexit
import functools
import shutil
import tempfile
from pathlib import Path

from metadata_log.kraft.directory import open_directory
from metadata_log.kraft.importer import import_directory
from tests.real_logs import DataSet


def imported(data_set: DataSet, tmp_path: Path) -> Path:
    """Return the directory of a mirror of a node's log; the caller may change it."""
    return shutil.copytree(_mirrors() / _imported(data_set), tmp_path / "log")


@functools.cache
def _imported(data_set: DataSet) -> str:
    """Import a log once per process, for a dozen test modules; return the mirror's directory."""
    name = str(data_set).replace("/", "-")
    with tempfile.TemporaryDirectory() as source:
        import_directory(open_directory(data_set.materialise(Path(source))), _mirrors() / name)
    return name


@functools.cache
def _mirrors() -> Path:
    folder = tempfile.mkdtemp(prefix="metalog-mirrors-")
    atexit.register(shutil.rmtree, folder)
    return Path(folder)
