"""The invariants hold at every offset of random fault schedules.

`make torture` runs many more schedules.
"""

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.decisions.context.context import Context
from controller.decisions.partitions import reassignments
from controller.decisions.partitions.partition_change import PartitionChange
from controller.decisions.topics import partition_removal, topics
from records.errors import ContradictionError
from tests.controller.schedules import Schedule
from tests.replay.builders import uid


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32), length=st.integers(1, 120))
def test_invariants_hold_at_every_offset_and_all_comes_to_its_end(seed: int, length: int) -> None:
    assert Schedule(seed).run(range(length)) == []


def test_schedule_in_which_the_last_known_leader_was_moved_away_holds() -> None:
    assert Schedule(4935).run((11, 22, 40, 65, 68, 69, 70, 77)) == []


@pytest.mark.parametrize("seed", range(5))
def test_long_schedules_hold_too(seed: int) -> None:
    assert Schedule(seed).run(range(500)) == []


def _planted_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plant a bug: removing a replica does not increase the leader epoch."""
    monkeypatch.setattr(PartitionChange, "_bump_epoch_on_lost_replica", lambda _: None)


def _planted_leader(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plant a bug: any replica may become the leader."""
    monkeypatch.setattr(Context, "is_active", lambda _context, _broker_id: True)


def _planted_removal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plant a bug: partitions of a topic can move while others are being removed."""
    monkeypatch.setattr(reassignments, "check_no_removal", lambda _image, _topic: None)


def _planted_mode(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plant a bug: a removal is forgotten after a failover."""
    monkeypatch.setattr(partition_removal, "next_deletions", lambda *_: iter(()))


def _planted_id(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plant a bug: all topics get the same id."""
    monkeypatch.setattr(topics, "new_id", lambda _: uid("always the same"))


@pytest.mark.parametrize(
    ("plant", "found"),
    [
        (_planted_epoch, "new_leaders_have_new_epochs"),
        (_planted_leader, "leader_can_lead"),
        (_planted_removal, "nothing_moves_while_some_leave"),
        (_planted_mode, "still to be removed"),
        (_planted_id, "ids_never_come_back"),
    ],
)
def test_planted_bugs_are_found(
    monkeypatch: pytest.MonkeyPatch,
    plant: Callable[[pytest.MonkeyPatch], None],
    found: str,
) -> None:
    plant(monkeypatch)
    problems: list[str] = []
    for seed in range(100):
        try:
            problems += Schedule(seed).run(range(80))
        except ContradictionError:  # replay itself refuses a second topic of one id
            continue
        if any(found in problem for problem in problems):
            return
    pytest.fail(f"{found} was not found, but {problems[:3]}")
