"""A few faults of real nodes, and tests that broken promises are noticed."""

import os
import re
import sys

import pytest

from metadata_log.format.batch import Batch
from records.control import NoteRecord
from records.envelope import Envelope
from records.errors import Outcome
from tests.torture.campaigns import killed_nodes
from tests.torture.killed_nodes.clients import HTTP, KAFKA, SOCKET, Told, broken_promises
from tests.torture.killed_nodes.cluster import Cluster


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


CASES = [(cluster, name) for cluster in killed_nodes.CLUSTERS for name in cluster.FAULTS]

needs_root = pytest.mark.skipif(
    sys.platform != "linux" or os.geteuid() != 0, reason="networks and disks need root"
)


@needs_root
@pytest.mark.heavy
@pytest.mark.timeout(300)
@pytest.mark.parametrize(("cluster", "fault"), CASES, ids=[name for _, name in CASES])
def test_nothing_is_lost_or_doubled_or_silent(cluster: type[Cluster], fault: str) -> None:
    outcome = killed_nodes.run_faults(cluster, 7, [fault])
    assert outcome.failures == ()
    for way in (SOCKET, HTTP, KAFKA):
        assert re.search(rf"{way} [1-9]\d* acknowledged", outcome.notes[0])
    assert [len(times) for times in outcome.times_s.values()] == [1]


LOG = [_batch(1, "a"), _batch(2, "b"), _batch(3, "c")]


def test_an_unknown_outcome_may_be_either() -> None:
    told = [Told("a", 1), Told("b", Outcome.UNKNOWN), Told("c", 3), Told("d", Outcome.UNKNOWN)]
    assert broken_promises([*told, Told("e", Outcome.NOTHING)], LOG) == []


def test_what_has_no_offset_in_its_answer_must_be_there() -> None:
    told = [Told("a", None), Told("b", Outcome.UNKNOWN), Told("c", 3), Told("d", None)]
    assert broken_promises(told, LOG) == ["lost: d was told to be there, is at []"]


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


def test_what_was_given_up_is_not_lost() -> None:
    told = [Told("a", 1), Told("b", 2), Told("c", 3), Told("gone", 4), Told("other", 5)]
    (found,) = broken_promises(told, LOG, [{"gone": [4]}, {"other": [6]}])
    assert found.startswith("lost: other")
