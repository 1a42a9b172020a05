"""A release with one more record type, made only by the steps in the document."""

import json
import shutil
from pathlib import Path

import pytest

from metadata_log.reader.log_reader import LogReader
from records.errors import RequestError
from tests.docs_console import ROOT
from tests.golden import release_directory
from tests.golden.steps import copy_with_steps, documented_steps, run_module
from tests.golden.test_golden_logs import RELEASES

# What shows that a step was forgotten, and that nothing else broke.
_TESTS = (
    "tests/golden/test_golden_logs.py",
    "tests/golden/test_compatibility.py",
    "tests/records/test_schemas.py",
    "tests/records/test_json.py",
    "tests/replay/image/test_metadata.py",
    "tests/replay/time_travel/test_changes.py",
    "tests/replay/time_travel/test_history.py",
    "tests/test_histories.py",
    "tests/test_docs.py::test_every_record_type_has_its_effect_documented",
)


@pytest.fixture(scope="module")
def next_release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the packages with the record of the document."""
    root = tmp_path_factory.mktemp("next") / "release"
    copy_with_steps(root, documented_steps((ROOT / "docs" / "adding_a_record.md").read_text()))
    return root


def test_document_has_all_its_steps() -> None:
    steps = documented_steps((ROOT / "docs" / "adding_a_record.md").read_text())
    text = (ROOT / "docs" / "adding_a_record.md").read_text()
    assert len(steps) == text.count("\n```\n") == 11


@pytest.mark.parametrize("release", RELEASES)
def test_next_release_goes_on_with_logs_of_the_old_ones(
    next_release: Path, tmp_path: Path, release: str
) -> None:
    log = tmp_path / "log"
    shutil.copytree(release_directory(release) / "own", log)
    done = run_module(next_release, "tests.golden.next_release", log)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert Path(found["registry"]).is_relative_to(next_release)
    name, data = found["last"]
    assert name == "RetractNoteRecord"
    assert found["notes_lost"] == [data]
    assert found["newest_schema"] == [False] * found["old_segments"] + [True]
    expected = release_directory(release) / "own.digest.json"
    assert found["digest_before"] == json.loads(expected.read_text())["image"]


# They take a minute of CPU: minutes on a busy machine.
@pytest.mark.timeout(1_200)
def test_tests_of_the_next_release_find_nothing_missing(next_release: Path) -> None:
    done = run_module(next_release, "pytest", "-q", "-p", "no:cacheprovider", *_TESTS)
    assert done.returncode == 0, done.stdout


def test_todays_release_says_that_a_log_is_of_a_newer_one(
    next_release: Path, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    shutil.copytree(release_directory("0.1.0") / "own", log)
    assert run_module(next_release, "tests.golden.next_release", log).returncode == 0
    with LogReader.open(log) as reader, pytest.raises(RequestError) as refused:
        list(reader.batches())
    assert refused.value.code == "UNSUPPORTED_VERSION"
    assert "RetractNoteRecord" in str(refused.value)
