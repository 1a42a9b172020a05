"""A release with one more field in a record, made only by the steps in the document."""

from pathlib import Path

from tests.docs_console import ROOT
from tests.golden.steps import copy_with_steps, documented_steps, run_module

_DOCUMENT = "adding_a_field.md"
# What shows that a step was forgotten, and that nothing else broke.
_TESTS = (
    "tests/golden/test_golden_logs.py",
    "tests/golden/test_compatibility.py",
    "tests/golden/test_older_schema.py",
    "tests/records",
    "tests/replay/image",
    "tests/replay/sql_history/test_file.py",
    "tests/replay/audit/fold",
    "tests/test_histories.py",
)


def test_document_has_all_its_steps() -> None:
    text = (ROOT / "docs" / _DOCUMENT).read_text()
    assert len(documented_steps(text)) == text.count("\n```\n") == 12


def test_tests_of_the_next_release_find_nothing_missing(tmp_path: Path) -> None:
    root = tmp_path / "release"
    copy_with_steps(root, documented_steps((ROOT / "docs" / _DOCUMENT).read_text()))
    marked = ("-m", "not spark", "-n0", "-q", "-p", "no:cacheprovider")
    done = run_module(root, "pytest", *marked, *_TESTS)
    assert done.returncode == 0, done.stdout
