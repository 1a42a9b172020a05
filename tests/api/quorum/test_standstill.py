"""A leader that is cut off from its quorum, which looks like that of an idle one."""

import asyncio
from pathlib import Path

import pytest

from api.quorum.leaders import Leaders
from api.quorum.observer import Observer
from api.quorum.reading import Reading, begin
from api.quorum.standstill import FIRST_S, Standstill
from api.security.client import ConnectionSecurity
from metadata_log.kraft.observed_mirror import ObservedMirror
from tests.api.quorum.quorums import batch_end, ends
from tests.stand_in_quorum import FETCH, Quorum


class _Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def _due_times(seconds: int, moves_every_s: int | None = None) -> list[int]:
    clock = _Clock()
    standstill = Standstill(clock=clock)
    found = []
    for second in range(seconds):
        clock.now = float(second)
        if standstill.is_due(second // moves_every_s if moves_every_s else 5):
            found.append(second)
    return found


def test_another_controller_is_asked_ever_more_seldom() -> None:
    assert FIRST_S == 10
    assert _due_times(1_300) == [10, 30, 70, 150, 310, 610, 910, 1_210]


def test_quorum_that_commits_is_left_alone() -> None:
    assert _due_times(1_000, moves_every_s=9) == []


def test_high_watermark_that_goes_back_stands_still() -> None:
    clock = _Clock()
    standstill = Standstill(clock=clock)
    assert not standstill.is_due(9)
    clock.now = 11.0
    assert standstill.is_due(-1)


def test_other_controllers_are_asked_in_turn() -> None:
    first, second, third = ("c1", 1), ("c2", 2), ("c3", 3)
    leaders = Leaders([first, second], {3: third})
    assert [leaders.other_than(first) for _ in range(4)] == [second, third, second, third]
    assert Leaders([first], {}).other_than(first) is None


def _observer(quorum: Quorum, seconds: float) -> Observer:
    host, port = quorum.address(1).split(":")
    others = [quorum.address(node_id).split(":") for node_id in (2, 3)]
    return Observer(
        [(host, int(port)), *((host, int(port)) for host, port in others)],
        cluster_id=quorum.cluster_id,
        security=ConnectionSecurity,
        give_up_s=5.0,
        standstill=Standstill(seconds),
    )


@pytest.mark.parametrize("release", ["3.3", "3.9", "4.3"])
def test_leader_that_is_cut_off_is_left(partition: Path, tmp_path: Path, release: str) -> None:
    log = tmp_path / "log"
    start = batch_end(partition, 100)

    async def read(quorum: Quorum) -> None:
        async with _observer(quorum, 0.1) as observer:
            await begin(observer, log, quorum.cluster_id, lambda done, size: None)
            with ObservedMirror(log) as mirror:
                reading = Reading(observer, mirror)
                while mirror.fetch_offset < start:
                    await reading.step(max_wait_ms=20)
                quorum.elect(3, unaware=(1,))
                end = quorum.reveal(batch_end(partition, 200))
                async with asyncio.timeout(20):
                    while mirror.confirmed_end < end:
                        await reading.step(max_wait_ms=20)

    with Quorum(partition, release=release, nodes=3, end_offset=start) as quorum:
        asyncio.run(read(quorum))
        end = quorum.leader.high_watermark
        assert quorum.breaches == []
    assert ends(log) == (end, end)


def test_idle_quorum_is_asked_seldom(partition: Path, tmp_path: Path) -> None:
    log, steps = tmp_path / "log", 30

    async def read(quorum: Quorum) -> None:
        async with _observer(quorum, 0.05) as observer:
            await begin(observer, log, quorum.cluster_id, lambda done, size: None)
            with ObservedMirror(log) as mirror:
                reading = Reading(observer, mirror)
                for _ in range(steps):
                    await reading.step(max_wait_ms=20)

    with Quorum(partition, nodes=3) as quorum:
        asyncio.run(read(quorum))
        asked = quorum.asked(FETCH)
        assert quorum.breaches == []
        high_watermarks = {node.high_watermark for node in quorum.nodes.values()}
    others = [seen for seen in asked if seen.node_id != 1]
    # 30 waits of 20 ms, doubled from 50 ms on; a slow machine has time for a few more.
    assert 1 <= len(others) <= 8
    assert {seen.node_id for seen in others} == {2, 3}
    assert high_watermarks == {-1, batch_end(partition, 399)}
