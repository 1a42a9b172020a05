"""What tests of several rooms share."""

from pathlib import Path

import pytest

from api.cli.main import run


@pytest.fixture(scope="session")
def demo_log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small demo, made once; tests must not change it."""
    directory = tmp_path_factory.mktemp("demo") / "log"
    assert run(["demo", str(directory), "--topics", "20", "--changes", "400", "--json"]) == 0
    return directory
