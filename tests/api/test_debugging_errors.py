"""Debugging commands report wrong requests with a clear error and the right exit code."""

import io
import sys
from pathlib import Path

import pytest

from tests.api.conftest import Metalog


@pytest.mark.parametrize(
    ("arguments", "code", "error"),
    [
        (("--at", 100, "--to", 50), 3, "begins after offset 100, which is after its end, 50"),
        (("--at", 100, "--without", "broker:99"), 3, "RESOURCE_NOT_FOUND: broker:99 never existed"),
        (("--at", 100, "--edit", "{x"), 2, "not JSON"),
        (("--at", 100, "--add", "{}"), 2, "an addition must have command and request"),
    ],
)
def test_what_if_that_cannot_be_asked(
    metalog: Metalog, demo_log: Path, arguments: tuple[object, ...], code: int, error: str
) -> None:
    answer = metalog("what-if", demo_log, *arguments)
    assert (answer.code, answer.out) == (code, "")
    assert error in answer.err


def test_added_commands_are_not_counted_as_inferred(metalog: Metalog, demo_log: Path) -> None:
    added = '{"after": 1300, "command": "namespaces create", "request": {"name": "fork"}}'
    found = metalog("what-if", demo_log, "--at", 1300, "--add", added, "--json").json
    assert found["decided"]["inferred"] == 0
    assert len(found["changed"]) == 1


def test_assumption_of_a_monotone_search_is_said_in_words(metalog: Metalog, demo_log: Path) -> None:
    answer = metalog("bisect", demo_log, "size(topics) > 3", "--monotone")
    assert "assumed: it flips at most once" in answer.out


def test_missing_folder_is_not_made_by_a_report(
    metalog: Metalog, demo_log: Path, tmp_path: Path
) -> None:
    answer = metalog("report", demo_log, tmp_path / "none" / "report.html", "--from", "end-5")
    assert answer.code == 3
    assert "No such file or directory" in answer.err
    assert list(tmp_path.iterdir()) == []


def test_empty_log_has_no_offset_that_cannot_be_typed(metalog: Metalog, tmp_path: Path) -> None:
    assert metalog("init", tmp_path / "log").code == 0
    assert metalog("check", tmp_path / "log").out == "no violation up to the start\n"


@pytest.mark.parametrize(
    ("line", "code"), [("ls / | false", 1), ("blame /brokers/99 | cat", 3), ("ls / | cat", 0)]
)
def test_script_of_the_shell_ends_with_the_code_of_what_failed_in_a_pipe(
    metalog: Metalog, demo_log: Path, monkeypatch: pytest.MonkeyPatch, line: str, code: int
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{line}\n"))
    assert metalog("shell", demo_log).code == code
