"""Everything that this project does with a bucket also works with an S3 store other than moto.

The tests of buckets run on SeaweedFS: slow, so only with `make heavy`.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

_TESTS = Path(__file__).parents[2]

SUITES = (
    *("api/test_archive_urls.py", "api/test_log_care.py"),
    *("contracts/test_batch_source.py", "contracts/test_byte_store.py"),
    *("metadata_log/care/test_archive.py", "metadata_log/care/test_concurrent_copies.py"),
    *("replay/audit/test_committed_files.py", "replay/audit/test_export_to_bucket.py"),
    *("replay/audit/test_log_source.py", "replay/care/test_restore.py"),
    *("shared_log/test_bucket.py", "shared_log/test_bucket_lifecycle.py"),
    *("api/nodes/test_processes.py", "api/nodes/test_made_of_a_fork.py"),
    *("api/viewer/test_bucket.py", "replay/audit/test_documents.py"),
    "replay/audit/test_export.py",
)
"""All that use the fixtures of tests/s3.py, except those that are heavy themselves."""

_BY_A_TABLE = ("contracts/test_shared_log.py",)
"""They get the fixtures by their names from a table of stores."""


@pytest.mark.heavy
@pytest.mark.timeout(3_600)
def test_buckets_of_seaweedfs_are_used_as_those_of_moto() -> None:
    suites = [_TESTS / name for name in (*SUITES, *_BY_A_TABLE)]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *suites],
        env={**os.environ, "S3_STORE": "seaweedfs"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-8_000:]


def test_all_suites_that_use_a_bucket_are_named() -> None:
    fixtures = re.compile(r"\bs3_(place|url|server)\b")
    users = {
        str(path.relative_to(_TESTS))
        for path in _TESTS.rglob("test_*.py")
        if fixtures.search(text := path.read_text()) and "pytest.mark.heavy" not in text
    }
    assert users == set(SUITES)
