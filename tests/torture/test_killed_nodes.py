"""A few faults of real nodes, and tests that broken promises are noticed."""

import pytest

from metadata_log.format.batch import Batch
from records.control import NoteRecord
from records.envelope import Envelope
from records.errors import Outcome
from tests.torture.campaigns import killed_nodes
from tests.torture.killed_nodes.clients import Told, broken_promises


def _batch(offset: int, name: str) -> Batch:
    row = Envelope(
        offset=offset,
        leader_epoch=1,
        timestamp=0,
        batch_offset=offset,
        record_version=0,
        payload=NoteRecord(at_offset=0, author="client", text=name),
    )
    return Batch.of([row])


@pytest.mark.timeout(300)
def test_a_leader_that_is_killed_or_suspended_has_lost_nothing() -> None:
    outcome = killed_nodes.run_faults(7, ["killed", "suspended"])
    assert outcome.failures == ()
    assert "appends acknowledged" in outcome.notes[0]


LOG = [_batch(1, "a"), _batch(2, "b"), _batch(3, "c")]


def test_an_unknown_outcome_may_be_either() -> None:
    told = [Told("a", 1), Told("b", Outcome.UNKNOWN), Told("c", 3), Told("d", Outcome.UNKNOWN)]
    assert broken_promises([*told, Told("e", Outcome.NOTHING)], LOG) == []


@pytest.mark.parametrize(
    ("told", "problem"),
    [
        ([Told("a", 1), Told("b", 2), Told("c", 3), Told("d", 4)], "lost: d"),
        ([Told("a", 1), Told("b", 3), Told("c", 3)], "lost: b was told to be at 3, is at [2]"),
        ([Told("a", 1), Told("b", Outcome.NOTHING), Told("c", 3)], "phantom: b"),
        ([Told("a", 1), Told("b", 2)], "never asked for: c"),
    ],
)
def test_a_broken_promise_is_noticed(told: list[Told], problem: str) -> None:
    (found,) = broken_promises(told, LOG)
    assert found.startswith(problem)


def test_a_record_that_is_there_twice_is_noticed() -> None:
    told = [Told("a", 1), Told("b", 2), Told("c", 3)]
    assert broken_promises(told, [*LOG, _batch(4, "b")]) == ["doubled: b is at [2, 4]"]
