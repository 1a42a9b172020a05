"""A controller is killed after each record of a topic's shrink, and another one continues.

The records of a decision that is not atomic may be split into batches anywhere, so here each of
them is a batch of its own: the worst state that a crash can leave.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import pytest

from controller.decider import Decision
from controller.decisions.brokers.deletion_reports import (
    ReplicaReport,
    ReportDeletions,
    report_deletions,
)
from controller.decisions.partitions.replica_states import DELETION_STARTED
from controller.decisions.topics.partition_removal import (
    DELETE_PARTITIONS_ENABLED,
    DeletePartitions,
    TopicShrink,
    advance_removals,
    cancel_delete_partitions,
    delete_partitions,
)
from records.base import Record
from records.configs import ConfigRecord
from replay.image.partition_list import Partitions
from replay.image.partitions import READ_WRITE
from tests.controller.cluster import Cluster
from tests.controller.plain_invariants import HistoryCheck, check_image

T = TypeVar("T")

_FOR_EVER = 1_000_000

# What a cut decision has yet to say; in the end it holds all the same.
_OF_WHOLE_DECISIONS = "removals_end"


class _KilledError(Exception):
    """The controller was killed."""


class _Mortal(Cluster):
    """A cluster whose controller is killed after a number of records; atomic decisions stay
    whole.
    """

    def __init__(self) -> None:
        self.records_left = _FOR_EVER
        self.written = 0
        self.problems: list[str] = []
        self._check = HistoryCheck()
        super().__init__()

    def decide(self, decision: Decision[T], *, steps_max: int | None = None) -> T:
        result = decision(self.context())
        groups: list[Sequence[Record]] = [result.records]
        if not result.atomic:
            groups = [(record,) for record in result.records]
        for records in groups:
            if self.records_left < len(records):
                raise _KilledError
            self.records_left -= len(records)
            self.written += len(records)
            self.write(records)
        return result.response

    def write(self, records: Sequence[Record]) -> None:
        before = len(self.steps)
        super().write(records)
        for batch, image in self.steps[before:]:
            self.problems += [
                str(violation)
                for violation in self._check.step(batch, image)
                if violation.invariant != _OF_WHOLE_DECISIONS
            ]


def _cluster() -> _Mortal:
    cluster = _Mortal()
    cluster.add_brokers(1, 2, 3)
    cluster.create("orders", [1, 2], [2, 3], [3, 1], [1, 2])
    enable = ConfigRecord(
        resource_type=4, resource_name="", name=DELETE_PARTITIONS_ENABLED, value="true"
    )
    cluster.write([enable])
    cluster.written = 0
    return cluster


def _pending(cluster: Cluster) -> bool:
    return any(cluster.image.pending_removals())


def _partitions(cluster: Cluster) -> Partitions:
    return cluster.image.partitions(cluster.topic("orders").topic_id)


def _shrink(cluster: _Mortal) -> None:
    """Request the shrink; repeat the request if it was not answered and nothing has changed."""
    if (
        not _pending(cluster)
        and len(cluster.image.partitions(cluster.topic("orders").topic_id)) > 2
    ):
        shrink = TopicShrink(topic="orders", partitions=2)
        cluster.do(delete_partitions, DeletePartitions(topics=(shrink,), delay_ms=1_000))


def _let_the_delay_pass(cluster: _Mortal) -> None:
    cluster.now_ms = max(cluster.now_ms, cluster.steps[-1][0].timestamp + 1_000)
    cluster.decide(advance_removals)


def _lose_broker(cluster: _Mortal) -> None:
    if not cluster.broker(2).fenced:
        cluster.fence(2)


def _bring_broker_back(cluster: _Mortal) -> None:
    if cluster.broker(2).fenced:
        cluster.heartbeat(2)
    cluster.decide(advance_removals)


def _report(broker_id: int, *, deleted: bool = True) -> Callable[[_Mortal], None]:
    def report(cluster: _Mortal) -> None:
        started = [
            ReplicaReport(topic_id=d.topic_id, partition_id=d.partition_id, deleted=deleted)
            for d in cluster.image.replica_deletions()
            if d.broker_id == broker_id and d.state == DELETION_STARTED
        ]
        request = ReportDeletions(
            broker_id=broker_id,
            broker_epoch=cluster.broker(broker_id).broker_epoch,
            replicas=tuple(sorted(started, key=lambda r: r.partition_id)),
        )
        cluster.do(report_deletions, request)

    return report


def _cancel(cluster: _Mortal) -> None:
    if _pending(cluster):
        cluster.do(cancel_delete_partitions, "orders")


_SHRINK: tuple[Callable[[_Mortal], Any], ...] = (
    _shrink,
    _lose_broker,
    _let_the_delay_pass,
    _report(1, deleted=False),
    _let_the_delay_pass,
    _report(1),
    _report(3),
    _bring_broker_back,
    _report(2),
)
_CANCELLED: tuple[Callable[[_Mortal], Any], ...] = (_shrink, _cancel)


def _run(cluster: _Mortal, steps: Sequence[Callable[[_Mortal], Any]]) -> None:
    """Run the steps; if the controller is killed in one, its successor repeats that step."""
    for step in steps:
        try:
            step(cluster)
        except _KilledError:
            cluster.records_left = _FOR_EVER
            cluster.fail_over()
            step(cluster)


def _length(steps: Sequence[Callable[[_Mortal], Any]]) -> int:
    cluster = _cluster()
    _run(cluster, steps)
    return cluster.written


@pytest.mark.parametrize("records", range(_length(_SHRINK)))
def test_a_shrink_is_finished_by_whoever_comes_next(records: int) -> None:
    cluster = _cluster()
    cluster.records_left = records
    _run(cluster, _SHRINK)
    # A successor may have to start deletions again that were told to be done.
    for _ in range(3):
        for broker_id in (1, 2, 3):
            _report(broker_id)(cluster)
        cluster.decide(advance_removals)
    assert cluster.problems == []
    assert not _pending(cluster)
    assert not any(cluster.image.replica_deletions())
    assert [partition.partition_id for partition in _partitions(cluster)] == [0, 1]
    assert list(check_image(cluster.image)) == []


@pytest.mark.parametrize("records", range(_length(_CANCELLED)))
def test_a_shrink_is_called_off_by_whoever_comes_next(records: int) -> None:
    cluster = _cluster()
    cluster.records_left = records
    _run(cluster, _CANCELLED)
    assert cluster.problems == []
    assert not _pending(cluster)
    assert {partition.mode for partition in _partitions(cluster)} == {READ_WRITE}
