"""Loaded by pytest in an instrumented tree: writes the counters that each test changed."""

import functools
import gc
import json
import os
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from mutant_hits import HITS  # type: ignore[import-not-found]

_OURS = ("records", "metadata_log", "replay", "controller", "api")
_CACHE = type(functools.cache(len))
_OUT = Path(os.environ["MUTANT_HITS_OUT"])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, Any, Any]:
    """Clear the counters, run the test with its fixtures, and record the changed counters."""
    if _cleared_for[-1] != item.path:
        # What is computed once must be seen in each file of tests that needs it.
        _cleared_for.append(item.path)
        _clear_caches()
    HITS[:] = bytes(len(HITS))
    item.stash[_SECONDS] = 0.0
    item.stash[_OUTCOME] = "passed"
    result = yield
    seconds: float = item.stash[_SECONDS]
    line = {
        "test": item.nodeid,
        "seconds": round(seconds, 4),
        "outcome": item.stash[_OUTCOME],
        "hits": list(_moved(HITS[:])),
    }
    with _OUT.open("a") as out:
        out.write(json.dumps(line) + "\n")
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, Any]:
    """Add up the duration of a test, and record whether it passed."""
    report = yield
    item.stash[_SECONDS] += report.duration
    if not report.passed:
        item.stash[_OUTCOME] = report.outcome
    return report


_cleared_for: list[Path | None] = [None]
_SECONDS = pytest.StashKey[float]()
_OUTCOME = pytest.StashKey[str]()


def _clear_caches() -> None:
    for found in gc.get_objects():
        if isinstance(found, _CACHE) and str(found.__module__).startswith(_OURS):
            found.cache_clear()


def _moved(counters: bytes) -> Iterator[int]:
    at = counters.find(1)
    while at >= 0:
        yield at
        at = counters.find(1, at + 1)


def pytest_sessionfinish() -> None:
    """Record that the last test file was run completely."""
    with _OUT.open("a") as out:
        out.write('{"end": true}\n')
