"""The examples of docs/http.md are run, and print what the document says."""

import shutil
from pathlib import Path

import pytest

from tests.api.http.docs_http import blocks_as_run


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
async def test_its_examples_print_what_it_says(tmp_path: Path) -> None:
    found = await blocks_as_run(tmp_path)
    assert len(found) >= 5
    for shown, run in found:
        assert shown == run
