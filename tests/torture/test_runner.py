"""The runner: pieces are counted once, runs resume, and failures are reported."""

from pathlib import Path

import pytest

from tests.torture import tally as tallies
from tests.torture.campaign import Failure, Outcome, Place
from tests.torture.registry import CAMPAIGNS
from tests.torture.report import document, table
from tests.torture.tally import Tally


class _Toy:
    """A campaign of `SEEDS_MAX` pieces with ten cases each."""

    NAME = "toy"
    TEST = "a toy"
    TARGET = 35
    SEEDS_MIN = 2
    SEEDS_MAX: int | None = None
    SOURCES: tuple[str, ...] = ()

    def run(self, seed: int) -> Outcome:
        return Outcome(done=10, distinct=9)

    def reproduce(self, place: Place) -> Outcome:
        return self.run(place.seed)

    def shrink(self, failure: Failure) -> Failure:
        return failure


def _after(campaign: _Toy, pieces: int) -> Tally:
    tally = Tally(source="x")
    for seed, _ in zip(range(pieces), tally.seeds_left(campaign), strict=False):
        tally.add(seed, campaign.run(seed), 0.0)
    return tally


def test_target_is_met_only_by_enough_cases() -> None:
    assert not _after(_Toy(), 3).is_complete(_Toy())
    assert _after(_Toy(), 4).is_complete(_Toy())


def test_equal_cases_do_not_count_towards_the_target() -> None:
    campaign = _Toy()
    campaign.TARGET = 40
    assert _after(campaign, 4).done == 40
    assert not _after(campaign, 4).is_complete(campaign)
    assert _after(campaign, 5).is_complete(campaign)


def test_target_is_met_only_by_enough_seeds() -> None:
    campaign = _Toy()
    campaign.SEEDS_MIN = 7
    assert not _after(campaign, 6).is_complete(campaign)
    assert _after(campaign, 7).is_complete(campaign)


def test_campaign_that_ran_out_of_pieces_below_its_target_has_not_met_it() -> None:
    campaign = _Toy()
    campaign.SEEDS_MAX = 3
    assert not _after(campaign, 3).is_complete(campaign)


def test_piece_that_was_run_is_not_handed_out_again() -> None:
    campaign = _Toy()
    campaign.SEEDS_MAX = 5
    tally = Tally(source="x", seeds={0, 1, 3})
    assert list(tally.seeds_left(campaign)) == [2, 4]


def test_tally_is_gone_on_with_until_the_code_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign = _Toy()
    tally = tallies.load(tmp_path, campaign)
    tally.add(0, campaign.run(0), 1.5)
    tallies.save(tmp_path, campaign, tally)
    assert tallies.load(tmp_path, campaign) == tally
    monkeypatch.setattr(tallies, "source_digest", lambda sources: "of other code")
    assert tallies.load(tmp_path, campaign).done == 0


def test_failure_names_the_command_that_shows_it_again() -> None:
    place = Place(seed=17, point=203, state_id=5, keep=(0, 3))
    failure = Failure(campaign="toy", place=place, message="lost offset 4")
    command = "python -m tests.torture toy --seed 17 --point 203 --state-id 5 --keep 0,3"
    assert failure.command == command
    tally = _after(_Toy(), 4)
    tally.add(4, Outcome(done=1, distinct=1, failures=(failure,)), 0.0)
    assert command in table([(_Toy(), tally)])
    assert command in document([(_Toy(), tally)])


def test_table_says_which_target_is_not_met() -> None:
    assert "not met" in table([(_Toy(), _after(_Toy(), 1))])
    assert "not met" not in table([(_Toy(), _after(_Toy(), 4))])


def test_names_of_campaigns_are_distinct() -> None:
    names = [campaign.NAME for campaign in CAMPAIGNS]
    assert len(set(names)) == len(names)
