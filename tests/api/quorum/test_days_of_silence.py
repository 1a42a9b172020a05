"""Days in which a quorum appends nothing, or cannot be reached; the clock is moved."""

import asyncio
import os
from pathlib import Path

import pytest

from api.quorum.backoff import BackOff
from api.quorum.observer import Observer
from api.quorum.reading import Reading, begin
from api.quorum.standstill import Standstill
from api.security.client import ConnectionSecurity
from metadata_log.files.fs import OsFs
from metadata_log.format.parts import earlier_parts
from metadata_log.kraft.observed_mirror import ObservedMirror
from tests.api.quorum.quorums import batch_end, ends
from tests.stand_in_quorum import FETCH, Quorum

_HOUR_S = 3_600.0
_DAYS = 3


class _Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


class _Moved(BackOff):
    """Moves the clock by an hour for each wait, and keeps how long it would have waited."""

    def __init__(self, clock: _Clock) -> None:
        super().__init__()
        self.waits: list[float] = []
        self._clock = clock

    def next_s(self) -> float:
        self.waits.append(super().next_s())
        self._clock.now += _HOUR_S
        return 0.0


def _observer(quorum: Quorum, clock: _Clock, back_off: BackOff) -> Observer:
    addresses = [quorum.address(node_id).split(":") for node_id in (1, 2, 3)]
    return Observer(
        [(host, int(port)) for host, port in addresses],
        cluster_id=quorum.cluster_id,
        security=ConnectionSecurity,
        give_up_s=None,
        back_off=back_off,
        standstill=Standstill(clock=clock),
    )


async def _read_until(reading: Reading, mirror: ObservedMirror, clock: _Clock, end: int) -> None:
    """Read on with answers that take 100 ms each."""
    for _ in range(200):
        await reading.step(max_wait_ms=0)
        clock.now += 0.1
        if mirror.confirmed_end >= end:
            return
    raise AssertionError(f"the mirror is confirmed up to {mirror.confirmed_end}, not {end}")


@pytest.mark.parametrize("release", ["3.3", "4.3"])
def test_quorum_that_appends_nothing_for_days_is_read_on(
    partition: Path, tmp_path: Path, release: str
) -> None:
    """Before 3.3-IV1 there are no NoOps: an idle leader's answers bring nothing at all."""
    log, clock = tmp_path / "log", _Clock()
    start = batch_end(partition, 100)

    async def read(quorum: Quorum) -> None:
        async with _observer(quorum, clock, BackOff()) as observer:
            await begin(observer, log, quorum.cluster_id, lambda done, size: None)
            with ObservedMirror(log, clock=clock) as mirror:
                reading = Reading(observer, mirror)
                await _read_until(reading, mirror, clock, start)
                before, asked = _files(log), len(quorum.asked(FETCH))
                for _ in range(_DAYS * 24):
                    clock.now += _HOUR_S
                    await reading.step(max_wait_ms=0)
                assert _files(log) == before, "nothing is written for nothing"
                # Each answer, and after each hour of standstill one other controller.
                assert _DAYS * 24 < len(quorum.asked(FETCH)) - asked <= 2 * _DAYS * 24
                end = quorum.reveal(batch_end(partition, 200))
                since = clock.now
                await _read_until(reading, mirror, clock, end)
                assert clock.now - since < 2

    with Quorum(partition, release=release, nodes=3, end_offset=start) as quorum:
        asyncio.run(read(quorum))
        assert quorum.breaches == []
        _check_whole(log, quorum)


def test_quorum_that_is_away_for_days_is_looked_for_every_few_seconds(
    partition: Path, tmp_path: Path
) -> None:
    log, clock = tmp_path / "log", _Clock()
    back_off = _Moved(clock)
    start = batch_end(partition, 100)

    async def read(quorum: Quorum) -> None:
        async with _observer(quorum, clock, back_off) as observer:
            await begin(observer, log, quorum.cluster_id, lambda done, size: None)
            with ObservedMirror(log, clock=clock) as mirror:
                reading = Reading(observer, mirror)
                await _read_until(reading, mirror, clock, start)
                for node_id in quorum.nodes:
                    quorum.stop(node_id)
                step = asyncio.create_task(reading.step(max_wait_ms=0))
                while clock.now < _DAYS * 24 * _HOUR_S:
                    assert not step.done(), step
                    await asyncio.sleep(0)
                later = back_off.waits[10:]
                assert len(later) >= _DAYS * 24 - 10
                assert all(2.5 <= wait <= 5 for wait in later)
                quorum.elect(2)
                end = quorum.reveal(batch_end(partition, 200))
                for node_id in quorum.nodes:
                    quorum.start(node_id)
                await step
                await _read_until(reading, mirror, clock, end)

    with Quorum(partition, release="3.9", nodes=3, end_offset=start) as quorum:
        asyncio.run(read(quorum))
        assert quorum.breaches == []
        _check_whole(log, quorum)


def test_waits_stay_at_some_seconds_however_often_nobody_answers() -> None:
    back_off = BackOff(part=lambda low, high: high)
    waits = [back_off.next_s() for _ in range(_DAYS * 24 * 3_600 // 5)]
    assert set(waits[10:]) == {5.0}
    back_off.reset()
    assert back_off.next_s() == 0.1


def _files(log: Path) -> dict[str, tuple[int, int]]:
    """Return size and time of each file of the mirror."""
    return {each.name: (each.stat().st_size, each.stat().st_mtime_ns) for each in os.scandir(log)}


def _check_whole(log: Path, quorum: Quorum) -> None:
    end = quorum.leader.high_watermark
    assert ends(log) == (end, end)
    assert earlier_parts(OsFs(), log) == (), "no gap"
