"""What tests of several rooms share."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from api.cli.main import run
from tests.s3 import environment, new_place, s3_server

SPARK_TIME_LIMIT_S = 1_800

LONG_GROUPS = ("tests/test_docs.py", "tests/stories/", "tests/torture/test_planted_bugs.py")

# What the developer's shell has set must not stand for arguments that a test leaves out.
for _name in ("METALOG_LOG", "METALOG_SERVER"):
    os.environ.pop(_name, None)

# The tests start hundreds of processes: without bytecode each compiles every module anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep together what shares costly fixtures, where several processes run the tests.

    Spark plans for long on a busy machine, and the fixture `spark` has a time limit of its own,
    below this one, that leaves the next test a session that works. Groups are handed out in this
    order: with the longest ones last, all processes but one would end early.
    """
    for item in items:
        in_spark = item.get_closest_marker("spark") is not None
        group = "spark" if in_spark else item.nodeid.partition("::")[0]
        item.add_marker(pytest.mark.xdist_group(group))
        if in_spark and item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(SPARK_TIME_LIMIT_S))
    items.sort(key=_starts_late)


def _starts_late(item: pytest.Item) -> bool:
    """Order tests: those of the long groups come first."""
    long = item.nodeid.startswith(LONG_GROUPS)
    return not (long or item.get_closest_marker("spark") is not None)


@pytest.fixture(scope="session")
def demo_log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small demo, made once; tests must not change it."""
    directory = tmp_path_factory.mktemp("demo") / "log"
    assert run(["demo", str(directory), "--topics", "20", "--changes", "400", "--json"]) == 0
    return directory


@pytest.fixture(scope="session")
def s3_url() -> Iterator[str]:
    """An S3 server, started once."""
    with s3_server() as url:
        yield url


@pytest.fixture
def s3_environment(s3_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a client needs to know of that server."""
    for name, value in environment(s3_url).items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def s3_place(s3_url: str, s3_environment: None) -> str:
    """An empty place in a bucket of its own."""
    return new_place(s3_url)
