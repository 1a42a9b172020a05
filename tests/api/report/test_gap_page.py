"""The page of a recording with a gap: it is hatched, and what differs after it is only found."""

from pathlib import Path

import pytest
from playwright.sync_api import Page

from api.cli.main import run
from metadata_log.kraft.checkpoint import KraftCheckpoint
from metadata_log.kraft.next_part import Found, prepare_part, take_up_part
from tests.api.report.conftest import Opened
from tests.api.report.page_actions import select, texts
from tests.metadata_log.kraft.node import Node
from tests.replay.builders import broker, change, partition, topic

_HATCHED = """() => {
  const { data, picture } = report, { gaps } = data.header, { canvas } = picture;
  const shown = canvas.toDataURL();
  data.header.gaps = [];
  picture.redraw();
  const without = canvas.toDataURL();
  data.header.gaps = gaps;
  picture.redraw();
  return shown !== without;
}"""
"""True if the picture differs from one without gaps."""


@pytest.fixture
def gap_page(opened: Opened, tmp_path: Path) -> Page:
    """The page of a recording that lacks offsets 5 to 7, in which `t-0` lost its leader."""
    node, log = Node(tmp_path / "node", voters=1), tmp_path / "log"
    for record in (broker(1, fenced=False), topic("t"), partition("t", 0), partition("t", 1)):
        node.append(record)
    _run("import", "kraft", node.directory, log)
    node.append(change("t", 0, leader=-1))
    node.append(topic("u"), partition("u", 0))
    _run("import", "kraft", node.directory, tmp_path / "whole")
    _run("export", "kraft", tmp_path / "whole", tmp_path / "state", "--as", "checkpoint")
    (base,) = (tmp_path / "state").glob("*/*.checkpoint")
    found = Found(source="c1:9093", log_start_offset=8, leader_epoch=1)
    prepare_part(log, KraftCheckpoint(base), found)
    take_up_part(log)
    node.append(change("t", 1, leader=-1))
    _run("import", "kraft", node.directory, log)
    _run("report", log, tmp_path / "r.html")
    return opened(tmp_path / "r.html")


def _run(*arguments: object) -> None:
    assert run([str(each) for each in arguments]) == 0


def test_gap_is_hatched_and_said(gap_page: Page) -> None:
    (remark,) = [text for text in texts(gap_page, ".remarks li") if "not recorded" in text]
    assert remark.startswith("Offsets 5 to 7 were not recorded (hatched)")
    assert gap_page.evaluate(_HATCHED)
    gap_page.evaluate("() => report.selection.set({ from: 0, to: 8, object: null })")
    (event,) = texts(gap_page, ".text.gap")
    assert event.startswith("offsets 5 to 7 were not recorded; found after them: 1 topic new, ")


def test_change_in_a_gap_has_no_cause_and_no_time(gap_page: Page) -> None:
    select(gap_page, 7, 7, "partition:t/0")
    gap_page.keyboard.press("w")
    (link,) = texts(gap_page, ".answer .chain li")
    assert "found after a gap: offsets 5 to 7 were not recorded" in link
    notes = texts(gap_page, ".answer .remark")
    assert any(note.endswith("what happened in between is not known") for note in notes)
    gap_page.evaluate(
        """() => {
          const { data } = report, row = data.rowAt(7);
          report.outages.open([data.find("partition:t/0", row)], 1, row, null);
        }"""
    )
    shown = gap_page.inner_text(".answer .outage")
    assert "not known: it was found after a gap" in shown
    assert "It may have begun, ended or paused there." in shown
    marks = """() => {
      const { data, picture } = report, found = picture.topics.find((row) => row.label === "u");
      return picture.marks.of(found).map(({ kind }) => kind);
    }"""
    assert gap_page.evaluate(marks) == []
