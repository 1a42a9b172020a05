"""The picture tells planned stops from alarms, and neither lines nor texts hide anything."""

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page

from tests.api.conftest import Metalog
from tests.api.report.conftest import Opened, picture
from tests.api.report.page_actions import texts
from tests.real_logs import DataSet, each_data_set_where
from tests.replay.incidents.real import imported

_REAL = {
    ("greenhouse-rolled-history", "kafka_data_data"),
    ("ogs59-3node-history", "data_kafka-1"),
    ("otus-histories", "HW02_kafka_data"),
}

_SEEN = """(offset) => {
  const { picture } = report, { canvas, axis } = picture;
  const copy = Object.assign(document.createElement("canvas"), {
    width: canvas.width, height: canvas.height,
  });
  const context = copy.getContext("2d", { willReadFrequently: true }), ratio = devicePixelRatio;
  context.drawImage(canvas, 0, 0);
  const x = Math.floor(axis.x(picture.timeAt(offset)));
  const red = getComputedStyle(canvas).getPropertyValue("--leaderless").trim().match(/\\w\\w/g)
    .map((each) => parseInt(each, 16));
  const isRed = (at, y) => {
    const found = context.getImageData(at * ratio, y * ratio, 1, 1).data;
    return red.every((value, i) => Math.abs(found[i] - value) < 6);
  };
  const row = picture.current.findIndex(({ kind }) => kind === "topic");
  const middle = 70 + row * 22 + 11;
  const columns = [-6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6];
  const { left, right } = picture.band.getBoundingClientRect();
  const origin = canvas.getBoundingClientRect().left;
  return {
    solid: columns.filter((dx) => [-5, -2, 0, 3, 5].every((dy) => isRed(x + dx, middle + dy))),
    signed: isRed(x, 2),
    health: columns.filter((dx) => [30, 32, 35, 38].every((y) => isRed(x + dx, y))),
    lines: [left - origin - x, right - 1 - origin - x],
  };
}"""

_TEXTS = """() => {
  const found = [], { fillText } = CanvasRenderingContext2D.prototype;
  CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
    const { width } = this.measureText(text);
    const left = this.textAlign === "center" ? x - width / 2 : x;
    if (y > this.canvas.clientHeight - 40) found.push({ text, y, left, right: left + width });
    fillText.call(this, text, x, y);
  };
  report.picture.redraw();
  CanvasRenderingContext2D.prototype.fillText = fillText;
  return [found, report.picture.axis.width];
}"""


def _of(*logs: tuple[str, str]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    return each_data_set_where(
        lambda each: (each.name, each.node) in logs, is_heavy=lambda _: False
    )


def _page(
    metalog: Metalog, data_set: DataSet, opened: Opened, tmp_path: Path, **options: Any
) -> Page:
    log, file = imported(data_set, tmp_path), tmp_path / "report.html"
    assert metalog("report", log, file).code == 0
    return opened(file, **options)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@_of(("greenhouse-rolled-history", "kafka_data_data"))
def test_an_alarm_is_solid_wide_and_marked_and_a_planned_stop_is_pale(
    metalog: Metalog, data_set: DataSet, opened: Opened, tmp_path: Path, scheme: str
) -> None:
    page = _page(metalog, data_set, opened, tmp_path, scheme=scheme, width=1280)
    times = metalog("summary", tmp_path / "log", "--json").json["leaderless"]
    (alarm,) = [each for each in times if not each["is_planned"]]
    planned = max(times[2:], key=lambda each: each["duration_ms"])
    page.evaluate(
        "offset => report.selection.set({ from: offset, to: offset })", alarm["from_offset"]
    )
    seen = page.evaluate(_SEEN, alarm["from_offset"])
    assert len(seen["solid"]) >= 4
    assert len(seen["health"]) >= 4
    assert seen["signed"]
    # The lines of the selection are beside it.
    before, after = seen["lines"]
    assert before < min(seen["solid"])
    assert after > max(seen["solid"])
    seen = page.evaluate(_SEEN, planned["from_offset"])
    assert (seen["solid"], seen["health"], seen["signed"]) == ([], [], False)
    assert texts(page, ".legend li")[1:3] == ["leaderless", "planned stop"]
    picture(page, f"alarms_{scheme}")
    page.emulate_media(media="print")
    seen = page.evaluate(_SEEN, alarm["from_offset"])
    # Other tests use the page, too.
    page.emulate_media(media="null")
    assert len(seen["solid"]) >= 4


@_of(*_REAL)
def test_texts_of_the_axis_neither_touch_nor_are_cut(
    metalog: Metalog, data_set: DataSet, opened: Opened, tmp_path: Path
) -> None:
    page = _page(metalog, data_set, opened, tmp_path)
    for width in range(1000, 1400, 40):
        page.set_viewport_size({"width": width, "height": 800})
        page.evaluate("new Promise(requestAnimationFrame)")
        shown, most = page.evaluate(_TEXTS)
        assert shown
        for one, other in itertools.combinations(shown, 2):
            is_apart = one["right"] <= other["left"] or other["right"] <= one["left"]
            assert one["y"] != other["y"] or is_apart, (width, one, other)
        assert [each for each in shown if each["left"] < 0 or each["right"] > most + 1] == []


def test_the_help_opens_at_its_top(page: Page) -> None:
    page.set_viewport_size({"width": 1280, "height": 600})
    page.keyboard.press("?")
    top: float = page.evaluate("document.getElementById('help-title').getBoundingClientRect().top")
    assert top > 0
    assert page.evaluate("document.querySelector('dialog').scrollTop") == 0
    page.keyboard.press("Escape")
    page.set_viewport_size({"width": 1000, "height": 900})
