"""Fixtures and hooks shared by the tests of all packages."""

import contextlib
import gc
import os
import shlex
import sys
from collections.abc import Callable, Generator, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from sqlalchemy import URL
from xdist.scheduler import LoadScopeScheduling

from api.cli.main import run
from api.cli.terminal.event_loop import EVENT_LOOP
from records.avro import compiled
from replay.snapshot.database import default_url, open_database, writing
from replay.snapshot.store import SnapshotStore
from tests import event_loops, fork_server, forked_commands
from tests.forked_workers import WORKER
from tests.postgres import new_database, postgres_server
from tests.records.codecs import needs_compiled, using
from tests.s3 import environment, new_place, s3_server

SPARK_TIME_LIMIT_S = 1_800

PAGES = "tests/test_docs.py::test_commands_print_what_the_document_says["
"""Each page is a group: they share nothing but Spark, and one takes minutes."""

SPARK_TESTS = (
    "tests/replay/audit/",
    "tests/api/test_documents.py::test_audit_",
    f"{PAGES}README.md]",
    f"{PAGES}docs/commands.md]",
)
"""Where tests that share a Spark session stand: one process runs them."""

OWN_SPARK_TESTS = (
    "tests/replay/audit/test_class_archive.py",
    "tests/replay/audit/test_export_kills.py",
)
"""Tests with the mark `spark` that start it in processes of their own."""

_ENDS_SPARK = "tests/replay/audit/test_restarted_session.py"

_SHARING = ("tests/stories/", "tests/api/report/")
"""Those of a folder share a cluster or a browser: one process starts it, and ends it at last."""

LONG_FIRST = (
    *SPARK_TESTS,
    _ENDS_SPARK,
    PAGES,
    *_SHARING,
    "tests/torture/test_planted_bugs.py",
    "tests/test_wheel.py",
)
"""The longest groups, in the order in which they begin."""

# What the developer's shell has set must not stand for arguments that a test leaves out.
for _name in ("METALOG_LOG", "METALOG_SERVER"):
    os.environ.pop(_name, None)

# The tests start hundreds of processes: without bytecode each compiles every module anew, and
# pytest rewrites the assertions of every test module, which is most of what collecting takes.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# How long an example takes says how busy the machine is, not how good test or strategy are.
settings.register_profile(
    "any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("any machine")


# For a whole module: fixtures of a function are not for Hypothesis, which calls it many times.
@pytest.fixture(scope="module", params=["python", pytest.param("compiled", marks=needs_compiled)])
def either_codec(request: pytest.FixtureRequest) -> Iterator[None]:
    """Run each test of a module with both codecs."""
    with using(request.param):
        yield


@pytest.fixture(scope="module")
def codec_in_python() -> Iterator[None]:
    """Run the tests of a module with the codec in Python, which is what they are about."""
    with using(compiled.PYTHON):
        yield


class GroupScheduling(LoadScopeScheduling):  # type: ignore[misc]
    """Assigns groups of tests to processes, in the order in which they were collected.

    `--dist loadgroup` of xdist 3.8 groups nothing with pytest 9.2: it sets a field that no longer
    exists.
    """

    def _split_scope(self, nodeid: str) -> str:
        return group_of(nodeid)


def group_of(nodeid: str) -> str:
    """Return the group of a test; the tests of a group share fixtures and run in one process."""
    if nodeid.startswith(SPARK_TESTS) and not nodeid.startswith(OWN_SPARK_TESTS):
        return "spark"
    if nodeid.startswith(PAGES):
        return nodeid
    folders = (folder for folder in _SHARING if nodeid.startswith(folder))
    return next(folders, nodeid.partition("::")[0])


def rank_of(nodeid: str) -> int:
    """Return the position of a test in LONG_FIRST; all others come last."""
    if nodeid.startswith(_ENDS_SPARK):
        return LONG_FIRST.index(_ENDS_SPARK)
    ranks = (rank for rank, prefix in enumerate(LONG_FIRST) if nodeid.startswith(prefix))
    return next(ranks, len(LONG_FIRST))


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> GroupScheduling:
    """Let several processes run the tests by group."""
    return GroupScheduling(config, log)


def pytest_xdist_setupnodes(config: pytest.Config, specs: list[Any]) -> None:
    """Let the workers be forked from one process that has collected the tests."""
    for spec in specs:
        spec.python = shlex.join(WORKER)
    stack = contextlib.ExitStack()
    arguments = config.invocation_params.args
    stack.enter_context(fork_server.forking((WORKER,), "tests.forked_workers", *arguments))
    config.add_cleanup(stack.close)


_NEW_OBJECTS_MAX = 10_000
"""Number of new objects after which garbage is collected: with Python's 700 that is a twentieth of
the CPU time of all tests.
"""


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect without the garbage collector: the collected objects are kept until the end
    anyway.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(_NEW_OBJECTS_MAX)
        gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Start the long groups first, so that all processes end at about the same time.

    Spark takes long to plan on a busy machine. The fixture `spark` has its own time limit, below
    that of the test, so that the next test gets a working session.
    """
    for item in items:
        in_spark = item.get_closest_marker("spark") is not None
        is_placed = item.nodeid.startswith((*SPARK_TESTS, *OWN_SPARK_TESTS))
        assert in_spark <= is_placed, f"{item.nodeid}: not in SPARK_TESTS"
        if in_spark and item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(SPARK_TIME_LIMIT_S))
    items.sort(key=lambda item: rank_of(item.nodeid))


def pytest_asyncio_loop_factories(
    config: pytest.Config, item: pytest.Item
) -> Mapping[str, Callable[[], Any]]:
    """Run each test in the event loop of its group."""
    return event_loops.factories(group_of(item.nodeid))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Let the commands that a test or its fixtures start run in the same event loop."""
    os.environ[EVENT_LOOP] = event_loops.loop_of(group_of(item.nodeid))


@pytest.fixture(scope="module", autouse=True)
def _unvisited() -> None:
    """Let no later collection of garbage visit what exists when the tests of a module begin.

    Caches and fixtures for the session are a million objects after some minutes.
    """
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def _forked_commands() -> Iterator[None]:
    """Fork commands of the product instead of starting a new interpreter."""
    with forked_commands.forking():
        yield


@pytest.fixture(scope="session")
def demo_log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small demo log, written once; tests must not change it."""
    directory = tmp_path_factory.mktemp("demo") / "log"
    command = ["demo", str(directory), "--topics", "20", "--changes", "400", "--json"]
    # If a browser is open, its loop runs in this thread.
    with ThreadPoolExecutor(1) as thread:
        assert thread.submit(run, command).result() == 0
    return directory


@pytest.fixture(scope="session")
def s3_url() -> Iterator[str]:
    """An S3 server, started once."""
    with s3_server() as url:
        yield url


@pytest.fixture
def s3_environment(s3_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Set the environment variables with which a client finds that server."""
    for name, value in environment(s3_url).items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def s3_place(s3_url: str, s3_environment: None) -> str:
    """An empty place in a bucket of its own."""
    return new_place(s3_url)


@pytest.fixture(scope="session")
def postgres() -> Iterator[URL]:
    """A PostgreSQL server, started once."""
    with postgres_server() as url:
        yield url


@pytest.fixture
def postgres_url(postgres: URL) -> Iterator[URL]:
    """An empty database of that server, with the password."""
    with new_database(postgres) as url:
        yield url


@pytest.fixture(scope="session")
def migrated_postgres_url(postgres: URL) -> Iterator[URL]:
    """A database with the tables of snapshots, made once: making them takes longer than a test."""
    with new_database(postgres) as url:
        SnapshotStore.open(url, "any", upgrade=True).close()
        yield url


@pytest.fixture
def snapshots_url(request: pytest.FixtureRequest, tmp_path: Path) -> URL:
    """A database without snapshots, of the kind in the parameter; by default SQLite."""
    if getattr(request, "param", "sqlite") == "sqlite":
        return default_url(tmp_path)
    url: URL = request.getfixturevalue("migrated_postgres_url")
    engine = open_database(url)
    with writing(engine) as connection:
        # TRUNCATE makes every table a new file, which takes the server four times as long.
        for table in ("snapshot_manifest", "snapshot_chunk", "snapshot"):
            connection.exec_driver_sql(f"DELETE FROM {table}")
    engine.dispose()
    return url
