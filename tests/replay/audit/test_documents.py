"""The programs in the documents about Spark print the output shown below them."""

import contextlib
import io
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from api.cli.main import run as metalog
from metadata_log.reader.log_reader import LogReader
from replay.audit.record_rows import SCHEMA
from replay.audit.source.options import OPTIONS
from tests.replay.audit.slow_starts import restarted

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

ROOT = Path(__file__).parents[3]
EXAMPLES = [
    pytest.param(code, printed, id=name)
    for name in ("streaming.md",)
    for code, printed in re.findall(
        r"^```python\n(.*?)^```\n\n```text\n(.*?)^```$",
        (ROOT / "docs" / name).read_text(),
        re.MULTILINE | re.DOTALL,
    )
]


@pytest.mark.parametrize(("code", "printed"), EXAMPLES)
def test_program_prints_what_the_document_says(
    spark: "SparkSession",
    demo_log: Path,
    tmp_path: Path,
    code: str,
    printed: str,
) -> None:
    """It runs in the session of the tests, with a temporary folder for /srv."""
    (tmp_path / "log").symlink_to(demo_log)
    said = io.StringIO()
    program = code.replace("/srv", str(tmp_path))

    def run() -> None:
        said.seek(0)
        said.truncate()
        exec(program, {})

    with contextlib.redirect_stdout(said):
        restarted(run)
    assert said.getvalue() == printed


def test_the_bucket_of_the_cluster_page_is_made_as_written(demo_log: Path, s3_place: str) -> None:
    text = (ROOT / "docs" / "spark_on_a_cluster.md").read_text()
    (command,) = re.findall(r"^metalog (backup .*)$", text, re.MULTILINE)
    places = {"/shared/log": str(demo_log), "s3://bucket/logs/first": s3_place}
    assert metalog([places.get(word, word) for word in command.split()]) == 0
    with LogReader.open(s3_place) as copy, LogReader.open(demo_log) as log:
        assert (copy.start_offset, copy.end_offset) == (log.start_offset, log.end_offset)


def test_columns_and_options_of_the_source_are_documented() -> None:
    text = (ROOT / "docs" / "streaming.md").read_text()
    (columns,) = re.findall(r"^## Columns\n(.*?)\n\n", text, re.MULTILINE | re.DOTALL)
    named = [name for name in re.findall(r"`(\w+)`", columns) if name != "log"]
    assert named == SCHEMA.names
    options = re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE)
    assert {name.lower() for name in options} | {"path"} == OPTIONS
