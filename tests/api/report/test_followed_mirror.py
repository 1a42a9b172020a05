"""The page of a mirror stays open while the mirror is followed: it grows, is cut, and rolls."""

from pathlib import Path

import pytest
from playwright.sync_api import Page

from api.cli.main import run
from records.topics import TopicRecord
from tests.api.report.served import Visitor, viewed
from tests.api.report.test_growing_page import CONTENTS
from tests.browser import Pages
from tests.metadata_log.kraft.node import Node
from tests.replay.builders import broker, partition, topic

LIVE = ".state.live"

_NAMES = """() => {
  const { data } = report, row = data.rowAt(data.last);
  return data.touchedIn(-1, row).filter((each) => data.isThere(each, row))
    .map((each) => data.nameAt(each, row)).filter((name) => name.startsWith("topic:"));
}"""


@pytest.fixture
def node(tmp_path: Path) -> Node:
    """One of three voters, so that its end may be replaced."""
    node = Node(tmp_path / "node", voters=3)
    node.append(broker(1, fenced=False), topic("t"), partition("t", 0))
    node.append(topic("u"))
    return node


@pytest.fixture
def mirror(node: Node, tmp_path: Path) -> Path:
    log = tmp_path / "mirror"
    copy(node, log)
    return log


def copy(node: Node, mirror: Path) -> None:
    """Bring the mirror up to date, as `import --follow` does every few seconds."""
    assert run(["import", "kraft", str(node.directory), str(mirror)]) == 0


def check_page(page: Page, node: Node, url: str, visitor: Visitor) -> None:
    """Check that the page shows the node's whole log, as one that is loaded anew."""
    page.wait_for_function("last => report.data.last === last", arg=node.end_offset - 1)
    topics = [row.payload.name for row in node.rows if isinstance(row.payload, TopicRecord)]
    assert page.evaluate(_NAMES) == [f"topic:{name}" for name in sorted(topics)]
    with visitor.visit(url, until=LIVE) as fresh:
        shown, anew = [each.evaluate(f"({CONTENTS})(report.data)") for each in (page, fresh)]
        assert shown == anew


def test_the_page_of_a_mirror_that_grows_is_cut_and_rolls(
    node: Node, mirror: Path, pages: Pages
) -> None:
    visitor = Visitor(pages)
    with viewed(mirror) as url, visitor.visit(url, until=LIVE) as page:
        page.evaluate("window.isSame = true")
        node.append(topic("grown"))
        copy(node, mirror)
        check_page(page, node, url, visitor)
        # Another leader replaces what was not committed, by less than was there.
        node.truncate_to(node.end_offset - 2)
        node.elect()
        copy(node, mirror)
        check_page(page, node, url, visitor)
        # By more than was there, in a new segment.
        node.truncate_to(node.end_offset - 1)
        node.elect()
        node.append(topic("other"), topic("another"))
        node.roll()
        node.append(topic("rolled"))
        copy(node, mirror)
        check_page(page, node, url, visitor)
        assert page.evaluate("isSame"), "the reader need not load it again"
