"""Runs the campaign or test that must notice a bug until it does, on the first sources in sys.path.

CAMPAIGN is the module of a campaign, or a test file; PATTERN then names a test in it.

    python -m tests.torture.planted_bugs.slice CAMPAIGN SEED,SEED,... PATTERN
"""

import importlib
import io
import logging
import re
import sys
from contextlib import redirect_stdout

import msgspec
import pytest

import metadata_log
from tests.torture.planted_bugs.planted_copy import Found


def main(campaign: str, seeds: str, pattern: str) -> None:
    """Print, as JSON, the messages of the failures that match the pattern."""
    logging.disable(logging.CRITICAL)
    if campaign.endswith(".py"):
        messages = _failed_tests(campaign, pattern)
    else:
        messages = _failed_pieces(campaign, [int(seed) for seed in seeds.split(",")], pattern)
    sys.stdout.write(msgspec.json.encode(Found(str(metadata_log.__file__), messages)).decode())


def _failed_pieces(campaign: str, seeds: list[int], pattern: str) -> list[str]:
    module = importlib.import_module(f"tests.torture.campaigns.{campaign}")
    for seed in seeds:
        outcome = module.run(seed)
        found = [f.message for f in outcome.failures if re.search(pattern, f.message)]
        if found:
            return found
    return []


class _Failures:
    def __init__(self) -> None:
        self.messages: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" and report.failed:
            self.messages.append(f"{report.nodeid}: {report.longreprtext[-300:]}")


def _failed_tests(file: str, pattern: str) -> list[str]:
    failures = _Failures()
    with redirect_stdout(io.StringIO()):
        code = pytest.main(["-p", "no:cacheprovider", "-k", pattern, file], plugins=[failures])
    # Tests that could not be run at all have noticed nothing.
    assert code in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED), code
    return failures.messages


if __name__ == "__main__":
    main(*sys.argv[1:])
