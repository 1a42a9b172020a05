"""A pytest plugin for kafka-python's suite, which runs in a process of its own.

SUITE is the folder of the suite. LISTED has names of tests, one a line, as `file.py::test` without
parameters: these are left out, or with RUN_LISTED only these run.

The package lacks the suite's module `test.service`, which starts Kafka's scripts, and would be
taken for Python's own package `test`; both are made here. The suite is told by KAFKA_URI that a
broker runs already.
"""

import os
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.clients.suites.kafka_python_mend import mend


class ExternalService:
    """A broker that runs already: nothing is to be started or stopped."""

    def __init__(self, host: str, port: int) -> None:
        self.address = (host, port)

    def open(self) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""


class SpawnedService:
    """A script of Kafka, which is not installed."""

    def __init__(self, *_: object, **__: object) -> None:
        raise RuntimeError("Kafka's own scripts are not installed")


def _module(name: str, **members: object) -> None:
    module = ModuleType(name)
    vars(module).update(members)
    sys.modules[name] = module


mend()
_module("test", __path__=[str(Path(os.environ["SUITE"]) / "test")])
_module("test.service", ExternalService=ExternalService, SpawnedService=SpawnedService)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the tests of the list, or all others; each name in the list must be a test's."""
    listed = set(os.environ["LISTED"].splitlines())
    names = [f"{item.path.name}::{item.name.partition('[')[0]}" for item in items]
    if unknown := listed - {*names}:
        raise pytest.UsageError(f"the suite has no such tests: {', '.join(sorted(unknown))}")
    wants_listed = "RUN_LISTED" in os.environ
    pairs = [*zip(items, names, strict=True)]
    config.hook.pytest_deselected(items=[i for i, n in pairs if (n in listed) != wants_listed])
    items[:] = [item for item, name in pairs if (name in listed) == wants_listed]
