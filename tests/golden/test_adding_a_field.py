"""A release with one more field in a record, made only by the steps in the document."""

from pathlib import Path

import pytest

from tests.docs_console import ROOT
from tests.golden.steps import copy_with_steps, documented_steps, run_module

_DOCUMENT = "adding_a_field.md"
# What shows that a step was forgotten, and that nothing else broke.
_TESTS = (
    "tests/golden/test_golden_logs.py",
    "tests/golden/test_compatibility.py",
    "tests/golden/test_older_schema.py",
    "tests/records",
    # Kafka's records have schemas of their own.
    "--ignore=tests/records/kafka",
    "tests/replay/image",
    "tests/replay/sql_history/test_file.py::test_answers_are_those_of_a_replay[0-sqlite]",
    "tests/replay/sql_history/test_file.py::test_answers_are_those_of_a_replay[1-postgresql]",
    "tests/replay/audit/fold",
    "tests/replay/expressions",
    "tests/test_histories.py",
    "tests/test_docs.py::test_commands_print_what_the_document_says[docs/care.md]",
    # Damaged bytes and a partition's place are the same with one more field.
    "--deselect=tests/replay/image/test_partition_list.py",
    "--deselect=tests/replay/audit/fold/test_partitions.py",
    "--deselect=tests/records/test_avro_codec.py::test_damaged_bytes_give_one_kind_of_error_or_are_read_as_fastavro_does",
    "--deselect=tests/records/test_avro_codec.py::test_garbage_gives_rows_or_one_kind_of_error",
    "--deselect=tests/records/test_uniform_rows.py::test_damaged_rows_are_read_or_refused_as_by_the_codec",
    "--deselect=tests/replay/expressions/test_shrink.py",
)


def test_document_has_all_its_steps() -> None:
    text = (ROOT / "docs" / _DOCUMENT).read_text()
    assert len(documented_steps(text)) == text.count("\n```\n") == 13


# They take a minute of CPU: minutes on a busy machine.
@pytest.mark.timeout(1_200)
def test_tests_of_the_next_release_find_nothing_missing(tmp_path: Path) -> None:
    root = tmp_path / "release"
    copy_with_steps(root, documented_steps((ROOT / "docs" / _DOCUMENT).read_text()))
    # Logs of Kafka have no namespaces.
    marked = (
        "-m",
        "not spark and not heavy and not real_logs",
        "-n0",
        "-q",
        "-p",
        "no:cacheprovider",
    )
    done = run_module(root, "pytest", *marked, *_TESTS)
    assert done.returncode == 0, done.stdout
