"""A release with one more verb, made only by the steps in the document."""

from pathlib import Path

import pytest

from tests.docs_console import ROOT
from tests.golden.steps import copy_with_steps, documented_steps, run_module

_TEXT = (ROOT / "docs" / "adding_a_verb.md").read_text()
# What shows that a step was forgotten, and that nothing else broke.
_TESTS = (
    "tests/api/admin/test_racks.py",
    "tests/api/test_authorization.py",
    "tests/api/isolation/test_changes.py",
    "tests/api/questions/test_both_ways.py",
    "tests/api/http/test_questions.py",
    "tests/api/http/test_paging.py",
    "tests/api/http/test_openapi.py",
    "tests/api/test_documents.py",
    "tests/api/test_terminal.py",
    "tests/test_docs.py",
)
_OF_VERBS = (
    "racks or every_question or every_command or every_list or every_module_that_prints "
    "or left_out or openapi or where_in_the_log"
)
"""Tests of the verb, and those that look at all verbs."""


def test_document_has_all_its_steps() -> None:
    assert len(documented_steps(_TEXT)) == _TEXT.count(":\n\n```") == 10


# They take a quarter of a minute of CPU: minutes on a busy machine.
@pytest.mark.timeout(1_200)
def test_tests_of_the_next_release_find_nothing_missing(tmp_path: Path) -> None:
    root = tmp_path / "release"
    copy_with_steps(root, documented_steps(_TEXT))
    quiet = ("-m", "not spark", "-n0", "-q", "-p", "no:cacheprovider")
    done = run_module(root, "pytest", *quiet, *_TESTS, "-k", _OF_VERBS)
    assert done.returncode == 0, done.stdout
