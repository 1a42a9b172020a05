"""Runs tests on a tree in a process forked from one that has loaded pytest and the libraries.

Each process imports the modules of the tree anew, so that a mutation takes effect wherever its
module is imported, also during imports and in processes that the tests start.
"""

import importlib
import os
import signal
import sys
import time
import traceback
from collections.abc import Sequence
from contextlib import contextmanager, suppress
from enum import Enum
from pathlib import Path
from typing import Any

import msgspec

from tests.mutants.sites import Site
from tests.mutants.trees import environment

# Loading these takes longer than most tests.
_LIBRARIES = (
    "pytest",
    "fastavro",
    "google_crc32c",
    "hypothesis.strategies",
    "immutables",
    "sqlalchemy",
    "alembic",
    "typer",
    "rich.console",
    "_hypothesis_pytestplugin",
    "_pytest.junitxml",
    "_pytest.unittest",
    "execnet.multi",
    "pdb",
    "pytest_asyncio.plugin",
    "pytest_timeout",
    "xdist.looponfail",
    "psutil",
    "asyncinotify",
)
_POLL_S = 0.01
# Exit codes of pytest. Tests that are no longer there notice nothing.
_PASSED, _NOTHING_TO_RUN = 0, 5
# More seconds than any source has been unchanged: no compiled file of another fits a mutant.
_MUTANT_TIME_S = 1_000_000_000


class Outcome(Enum):
    """How the tests of a mutant ended."""

    PASSED = "passed"
    FAILED = "failed"
    TIMED_OUT = "timed out"
    BROKEN = "broken"  # pytest itself failed


class Ended(msgspec.Struct, frozen=True):
    """The outcome of a run, and the first test that failed."""

    outcome: Outcome
    test: str = ""


def load_libraries() -> None:
    """Import what every run needs, and nothing of the project."""
    for name in _LIBRARIES:
        with suppress(ImportError):
            importlib.import_module(name)


@contextmanager
def planted(tree: Path, site: Site) -> Any:
    """Apply a mutation in a tree, and revert it afterwards."""
    path = tree / site.file
    source, times = path.read_bytes(), path.stat()
    path.write_bytes(site.mutated(source))
    os.utime(path, (_MUTANT_TIME_S, _MUTANT_TIME_S))
    try:
        yield
    finally:
        path.write_bytes(source)
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def run_tests(
    tree: Path,
    tests: Sequence[str],
    limit_s: float,
    *,
    stop: bool = True,
    write_compiled: bool = False,
) -> list[Ended]:
    """Run tests of a tree in the given order; return the outcome, or with `stop` unset all
    failures.

    Args:
        limit_s: Time limit, after which the process group is killed.
        write_compiled: True to keep compiled modules for the following runs.
    """
    failed = tree / "failed-tests"
    failed.unlink(missing_ok=True)
    child = os.fork()
    if child == 0:
        _run_in_child(tree, tests, failed, stop=stop, write_compiled=write_compiled)
    status = _wait(child, limit_s)
    names = failed.read_text().splitlines() if failed.exists() else []
    if status is None:
        return [Ended(Outcome.TIMED_OUT)]
    if names:
        return [Ended(Outcome.FAILED, name) for name in names]
    has_passed = os.waitstatus_to_exitcode(status) in (_PASSED, _NOTHING_TO_RUN)
    return [Ended(Outcome.PASSED if has_passed else Outcome.BROKEN)]


def _wait(child: int, limit_s: float) -> int | None:
    """Return the exit status of a process; None if it had to be killed, with its process group."""
    deadline = time.monotonic() + limit_s
    status: int | None = None
    while status is None and time.monotonic() < deadline:
        found, code = os.waitpid(child, os.WNOHANG)
        if found:
            status = code
        else:
            time.sleep(_POLL_S)
    # What the tests have left running is in the group as well.
    with suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    if status is None:
        os.waitpid(child, 0)
    return status


def _run_in_child(
    tree: Path, tests: Sequence[str], failed: Path, *, stop: bool, write_compiled: bool
) -> None:
    status = 3
    try:
        os.setsid()
        out = os.open(tree / "output.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        for descriptor in (1, 2):
            os.dup2(out, descriptor)
        _enter(tree, write_compiled=write_compiled)
        import pytest

        files = sorted({name.partition("::")[0] for name in tests})
        options = ["-q", "-p", "no:cacheprovider", "--tb=short", *(["-x"] if stop else [])]
        # The libraries' own plugins are loaded already, and that is what this warns of.
        options += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
        status = int(pytest.main([*options, *files], plugins=[_Chosen(tests, failed)]))
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _enter(tree: Path, *, write_compiled: bool) -> None:
    """Make this process import the modules of a tree, and no others of the same names."""
    sys.dont_write_bytecode = not write_compiled
    os.environ.update(environment(tree))
    os.chdir(tree)
    own = {path.stem for path in tree.iterdir()}
    for name in [name for name in sys.modules if name.partition(".")[0] in own]:
        del sys.modules[name]
    root = str(Path(__file__).parents[2])
    sys.path[:] = [str(tree), *(p for p in sys.path if p not in ("", root))]
    importlib.invalidate_caches()


class _Chosen:
    """A pytest plugin that runs the given tests in their order, and records the failures."""

    def __init__(self, tests: Sequence[str], failed: Path) -> None:
        self._place = {name: place for place, name in enumerate(tests)}
        self._failed = failed

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        chosen = [item for item in items if item.nodeid in self._place]
        items[:] = sorted(chosen, key=lambda item: self._place[item.nodeid])

    def pytest_collectreport(self, report: Any) -> None:
        # A module of tests that makes something while it is imported.
        self.pytest_runtest_logreport(report)

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            with self._failed.open("a") as file:
                file.write(f"{report.nodeid}\n")
