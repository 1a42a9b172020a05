"""The page of a mirror: what Kafka may still replace is hatched, and nothing else."""

from pathlib import Path

import pytest

from api.cli.main import run
from tests.api.report.conftest import Opened
from tests.api.report.page_actions import texts
from tests.metadata_log.kraft.node import Node
from tests.replay.builders import broker, partition, topic

_HATCHED = """() => {
  const { data, picture } = report, { header } = data, canvas = picture.canvas;
  const shown = canvas.toDataURL(), confirmed = header.confirmed_end;
  header.confirmed_end = Infinity;
  picture.redraw();
  const without = canvas.toDataURL();
  header.confirmed_end = confirmed;
  picture.redraw();
  return shown !== without;
}"""
"""True if the picture differs from one in which all is confirmed."""


@pytest.mark.parametrize(("voters", "is_hatched"), [(1, False), (3, True)])
def test_only_what_may_be_replaced_is_hatched(
    opened: Opened, tmp_path: Path, voters: int, is_hatched: bool
) -> None:
    node = Node(tmp_path / "node", voters=voters)
    for record in (broker(1, fenced=False), topic("t"), partition("t", 0)):
        node.append(record)
    log, report = str(tmp_path / "log"), tmp_path / "report.html"
    assert run(["import", "kraft", str(node.directory), log]) == 0
    assert run(["report", log, str(report)]) == 0
    page = opened(report)
    # The summary says it, so no remark says it again.
    said = [text for text in texts(page, ".summary li") if "not known to be committed" in text]
    assert len(said) == is_hatched
    assert texts(page, ".remarks li") == []
    assert page.evaluate(_HATCHED) == is_hatched
