"""Actions on a report's page, and functions that read its content."""

import re
from typing import Any

from playwright.sync_api import Page, expect

_STATE = """at => {
  const { data } = report, row = data.rowAt(at), found = {};
  for (let object = 0; object < data.objects; object++) {
    const state = data.stateAt(object, row);
    if (state !== null) found[data.nameAt(object, row)] = state;
  }
  return found;
}"""


def states(page: Page, at: int) -> dict[str, Any]:
    """Return the state of each object after the record at an offset, by name, from the page's
    data.
    """
    found: dict[str, Any] = page.evaluate(_STATE, at)
    return found


def selected(page: Page) -> tuple[int, int, str | None]:
    """Return the selection in the page's link."""
    link: str = page.evaluate("report.selection.link()")
    page.wait_for_url(lambda url: url.endswith(link))
    found = re.search(r"#from=(\d+)&to=(\d+)(?:&object=(.*))?$", page.url)
    assert found is not None, page.url
    return int(found[1]), int(found[2]), found[3]


def wait_until_idle(page: Page) -> None:
    """Wait until the page is idle: only then it shows more than the first part of a long list."""
    expect(page.locator("[aria-busy=true]")).to_have_count(0)


def texts(page: Page, selector: str) -> list[str]:
    wait_until_idle(page)
    found = page.locator(selector).all_inner_texts()
    return [re.sub(r"\s+", " ", text).strip() for text in found]


def lines(text: str) -> list[str]:
    return [re.sub(r"\s+", " ", line).strip() for line in text.splitlines()]


def show_all(page: Page, selector: str) -> None:
    wait_until_idle(page)
    more = page.locator(f"{selector} > .more button")
    while more.count():
        more.click()


def select(page: Page, first: int, last: int, name: str | None = None) -> None:
    page.evaluate("s => report.selection.set(s)", {"from": first, "to": last, "object": name})
