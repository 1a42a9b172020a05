"""Playing the time that is shown, and the map of brokers beside it."""

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.api.conftest import Metalog
from tests.api.report.conftest import Opened, picture
from tests.api.report.page_actions import select, wait_until_idle

_MINUTE = """share => {
  const { player } = report, steps = [];
  const watch = ({ from, to }) => { if (player.isPlaying) steps.push([from, to]); };
  report.selection.watch(watch);
  player.play();
  while (player.share < 1) player._step(share);
  player.stop();
  report.selection.watchers.splice(report.selection.watchers.indexOf(watch), 1);
  return steps;
}"""
"""Plays without waiting, in steps of a share of the minute."""

_TILES = """() => [...document.querySelectorAll('.rack')].flatMap(rack =>
  [...rack.querySelectorAll('.tile')].map(tile => [
    rack.querySelector('h3').textContent, Number(tile.querySelector('b').textContent),
    tile.dataset.state,
    ...[...tile.querySelectorAll('.bar-of')].map(bar =>
      parseInt(bar.textContent.replaceAll(',', ''))),
  ]))"""


@pytest.fixture
def playing(page: Page) -> Any:
    """The page of the demo; afterwards it does not play, and has no map."""
    yield page
    page.evaluate("report.player.stop(); report.map.toggle(false)")


def test_each_change_is_selected_once_when_the_whole_is_played(playing: Page) -> None:
    page = playing
    select(page, 0, 1308)
    for share in (1 / 600, 1 / 60):  # also in the few steps of a reader who asked for less motion
        steps = page.evaluate(_MINUTE, share)
        assert 20 < len(steps) <= 1 / share
        offsets = set(page.evaluate("[...report.picture.offsets]"))
        seen = [offset for first, last in steps for offset in range(first, last + 1)]
        assert len(seen) == len(set(seen))
        assert offsets <= set(seen)


def test_space_plays_and_pauses_and_a_selection_stops_it(playing: Page) -> None:
    page = playing
    select(page, 0, 1308)
    page.keyboard.press("Space")
    expect(page.get_by_role("button", name="pause")).to_have_attribute("aria-pressed", "true")
    expect(page.locator(".playhead")).to_be_visible()
    # A screen reader is not interrupted ten times a second.
    expect(page.locator(".said")).to_have_attribute("aria-live", "off")
    expect(page.locator(".map .tile")).to_have_count(6)
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("button", name="play")).to_have_attribute("aria-pressed", "false")
    expect(page.locator(".said")).to_have_attribute("aria-live", "polite")
    # Space presses a button that has the focus.
    page.get_by_role("button", name="map").focus()
    page.keyboard.press("Space")
    expect(page.locator(".map")).to_be_hidden()
    assert page.evaluate("report.player.isPlaying") is False


_OPEN_AND_CLOSE = """() => {
  report.map.toggle(true);
  report.map.loads._touch = 0;
  report.map.loads._steps.clear();
  report.map.loads.advance = () => false;
  report.selection.set({ from: 10, to: 700 });
  report.map.toggle(false);
  delete report.map.loads.advance;
}"""
"""Close the map after a selection, before it is painted and counted."""


def test_a_map_that_is_closed_while_it_counts_is_not_busy_for_ever(playing: Page) -> None:
    playing.evaluate(_OPEN_AND_CLOSE)
    wait_until_idle(playing)
    playing.evaluate("report.map.toggle(true)")
    wait_until_idle(playing)


def test_less_motion_is_respected(playing: Page) -> None:
    page = playing
    select(page, 0, 1308)
    delays = """() => {
      const { setTimeout } = window, found = [];
      window.setTimeout = (act, wait) => { found.push(wait); return 0; };
      report.player.play();
      report.player.stop();
      window.setTimeout = setTimeout;
      return Math.max(...found.filter(wait => wait === 100 || wait === 1000));
    }"""
    assert page.evaluate(delays) == 100
    page.emulate_media(reduced_motion="reduce")
    assert page.evaluate(delays) == 1000
    page.emulate_media(reduced_motion="no-preference")


def expected(metalog: Metalog, log: Path, at: int) -> list[list[Any]]:
    """Return rack, id, state, leaders and replicas of each broker, from `image`."""
    parts = metalog("image", log, "--at", at, "--json").json["parts"]
    found = []
    for broker in parts["brokers"]:
        number = int(broker["object"].removeprefix("broker:"))
        state = "fenced" if broker["fenced"] else ""
        if not state and broker["in_controlled_shutdown"]:
            state = "shutting_down"
        leaders = sum(each["leader"] == number for each in parts["partitions"])
        replicas = sum(number in each["replicas"] for each in parts["partitions"])
        found.append([broker["rack"] or "no rack", number, state, leaders, replicas])
    return sorted(found, key=lambda each: ("" if each[0] == "no rack" else each[0], each[1]))


def check_map(metalog: Metalog, log: Path, page: Page, offsets: list[int]) -> None:
    """Compare the map at some offsets, also backwards, with the image there."""
    page.evaluate("report.map.toggle(true)")
    for at in offsets:
        select(page, at, at)
        wait_until_idle(page)
        assert page.evaluate(_TILES) == expected(metalog, log, at)


def test_the_map_has_what_each_broker_leads_and_holds(
    metalog: Metalog, demo_log: Path, playing: Page
) -> None:
    check_map(metalog, demo_log, playing, [800, 5, 1308, 30, 790])
    playing.keyboard.press("0")
    picture(playing, "map_1000", full_page=False)
    playing.locator(".tile").first.click()
    assert playing.evaluate("report.selection.object").startswith("broker:")


def test_the_map_of_brokers_that_shut_down_and_lead_nothing(
    metalog: Metalog, stormy_log: Path, opened: Opened, stormy_report: Path
) -> None:
    page = opened(stormy_report, width=400, scheme="dark")
    check_map(metalog, stormy_log, page, [20, 26, 30, 45])
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
