"""A report as it is printed: Chromium's PDF has the sentence, the events and the whole chart."""

import io
import re
from collections.abc import Iterator

import pypdf
import pytest
from playwright.sync_api import Page

from tests.api.report.page_actions import select, texts, wait_until_idle

_MARGIN_MM = 10

_POINTS_A_MM = 72 / 25.4


def words(text: str) -> str:
    """Return a text without spaces, which a PDF sets anew, and without ligatures."""
    for ligature, letters in (
        ("\ufb00", "ff"),
        ("\ufb01", "fi"),
        ("\ufb02", "fl"),
        ("\ufb03", "ffi"),
    ):
        text = text.replace(ligature, letters)
    return re.sub(r"\s+", "", text)


@pytest.fixture
def sheets(page: Page) -> Iterator[list[pypdf.PageObject]]:
    """What a window that is much wider than A4 prints on it."""
    select(page, 200, 320)
    page.set_viewport_size({"width": 1600, "height": 900})
    wait_until_idle(page)
    sides = dict.fromkeys(("top", "bottom", "left", "right"), f"{_MARGIN_MM}mm")
    yield list(pypdf.PdfReader(io.BytesIO(page.pdf(format="A4", margin=sides))).pages)
    page.set_viewport_size({"width": 1000, "height": 900})


def test_a_printed_report_has_all_that_is_shown_and_nothing_is_cut(
    page: Page, sheets: list[pypdf.PageObject]
) -> None:
    text = words("".join(sheet.extract_text() for sheet in sheets))
    shown = [
        *texts(page, ".summary li"),
        *texts(page, ".events .text, .events .offsets, .events .by"),
        *texts(page, ".changes .name-of, .changes .line"),
        *texts(page, ".command code"),
        *texts(page, ".name .pick"),
    ]
    assert len(shown) > 60
    assert [each for each in shown if words(each) not in text] == []
    # The buttons that only a screen has are not printed.
    assert "mosteventful" not in text
    for sheet in sheets:
        right = float(sheet.mediabox.right) - _MARGIN_MM * _POINTS_A_MM
        edges = list(_edges(sheet))
        assert len(edges) > 10
        assert [each for each in edges if not 0 < each <= right + 1] == []


def _edges(sheet: pypdf.PageObject) -> list[float]:
    """Return the left edges of all texts, also those of the chart, and the right ones of images."""
    found: list[float] = []

    def of_text(text: str, cm: list[float], tm: list[float], *rest: object) -> None:
        if text.strip():
            found.append(cm[0] * tm[4] + cm[4])

    def of_image(operator: bytes, operands: list[str], cm: list[float], tm: list[float]) -> None:
        if operator == b"Do":
            found.append(cm[4] + cm[0])

    sheet.extract_text(visitor_text=of_text, visitor_operand_before=of_image)
    return found
