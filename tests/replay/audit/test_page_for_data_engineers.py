"""docs/data.md: its programs print the output shown below them, and its command lines run."""

import contextlib
import io
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.docs_console import run_block
from tests.replay.audit.slow_starts import restarted

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

DOCS = Path(__file__).parents[3] / "docs"
PAGE = (DOCS / "data.md").read_text()
PROGRAMS = re.findall(
    r"^```python\n(.*?)^```\n\n```text\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL
)
HERE, ON_A_CLUSTER = re.findall(r"^```sh\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def test_programs_print_what_the_page_says(
    spark: "SparkSession", demo_log: Path, tmp_path: Path
) -> None:
    """They run in the session of the tests, with a temporary folder for /srv."""
    (tmp_path / "log").symlink_to(demo_log)
    assert len(PROGRAMS) == PAGE.count("```python")
    names: dict[str, Any] = {}
    for program, printed in PROGRAMS:
        assert _printed(program.replace("/srv", str(tmp_path)), names) == printed


def _printed(program: str, names: dict[str, Any]) -> str:
    said = io.StringIO()

    def run() -> None:
        said.seek(0)
        said.truncate()
        exec(program, names)

    with contextlib.redirect_stdout(said):
        restarted(run)
    return said.getvalue()


def test_lines_for_a_cluster_are_those_that_the_page_about_clusters_runs() -> None:
    run_there = (DOCS / "spark_on_a_cluster.md").read_text().splitlines()
    assert ON_A_CLUSTER and set(ON_A_CLUSTER.splitlines()) <= set(run_there)


@pytest.mark.heavy
def test_command_lines_of_the_page_run(demo_log: Path, tmp_path: Path) -> None:
    (tmp_path / "log").symlink_to(demo_log)
    for line in HERE.replace("/srv", str(tmp_path)).splitlines():
        printed = run_block(f"$ {line}\n", tmp_path)
        assert "error:" not in printed and len(printed.splitlines()) > 1, line
    assert (tmp_path / "who").exists()
