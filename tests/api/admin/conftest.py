"""A log of a small cluster: brokers 1, 2 and 3 are active, and there are two topics."""

import shutil
from pathlib import Path

import pytest

from api.cli.main import run


@pytest.fixture(scope="session")
def cluster_log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The log, written once; tests must not change it."""
    log = str(tmp_path_factory.mktemp("cluster") / "log")
    for arguments in (
        ["init", log],
        ["brokers", "register", "1", "--rack", "a", "--log", log],
        ["brokers", "register", "2", "--rack", "b", "--log", log],
        ["brokers", "register", "3", "--rack", "c", "--log", log],
        ["brokers", "unfence", "1", "2", "3", "--log", log],
        ["topics", "create", "orders", "--assignment", "1:2,2:3,3:1", "--log", log],
        ["topics", "create", "clicks", "--assignment", "1:2", "--log", log],
        ["namespaces", "create", "org:apache", "--log", log],
    ):
        assert run(arguments) == 0, arguments
    return Path(log)


@pytest.fixture
def log(cluster_log: Path, tmp_path: Path) -> Path:
    """A copy of the log that a test may change."""
    return Path(shutil.copytree(cluster_log, tmp_path / "log"))
