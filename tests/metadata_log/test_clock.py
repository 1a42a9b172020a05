"""The time of a log follows corrections of the machine's clock, but no jumps."""

from itertools import pairwise
from pathlib import Path

import pytest

from metadata_log.format.batch import NewBatch
from metadata_log.limits import CLOCK_JUMP_MS, CLOCK_WARNING_INTERVAL_MS
from metadata_log.writer.clock import LogClock, SystemClocks
from metadata_log.writer.log import MetadataLog
from records.control import NoOpRecord
from tests.metadata_log.machine import HOUR_MS, MINUTE_MS, SECOND_MS, START_MS, Machine

_YEAR_MS = 365 * 24 * HOUR_MS
_NOTHING = NewBatch(records=(NoOpRecord(),))


def _clock(machine: Machine, last_timestamp_ms: int = 0) -> LogClock:
    return LogClock(last_timestamp_ms, name="LOG", machine=machine)


def _elapsed(clock: LogClock, machine: Machine, duration_ms: int) -> int:
    """Return how far the log's time advances while the machine's clock is read every second."""
    start = clock.now_ms()
    for _ in range(duration_ms // SECOND_MS):
        machine.wait(SECOND_MS)
        clock.now_ms()
    return clock.now_ms() - start


def test_it_is_the_machines_time() -> None:
    machine = Machine()
    clock = _clock(machine)
    assert clock.now_ms() == START_MS
    machine.wait(70)
    assert clock.now_ms() == START_MS + 70


def test_a_suspended_machine_is_no_jump(caplog: pytest.LogCaptureFixture) -> None:
    machine = Machine()
    clock = _clock(machine)
    machine.wait(9 * HOUR_MS)
    assert clock.now_ms() == START_MS + 9 * HOUR_MS
    assert not caplog.records


@pytest.mark.parametrize("by_ms", [_YEAR_MS, HOUR_MS, CLOCK_JUMP_MS + 1, -HOUR_MS, -_YEAR_MS])
def test_a_clock_that_is_set_is_not_followed(by_ms: int, caplog: pytest.LogCaptureFixture) -> None:
    machine = Machine()
    clock = _clock(machine)
    clock.now_ms()
    machine.set_ahead(by_ms)
    assert _elapsed(clock, machine, HOUR_MS) == HOUR_MS
    (record,) = caplog.records
    assert "2023-11-14T22:13:20.000Z" in record.getMessage()
    assert f"{abs(by_ms) / 1_000:.0f} s {'ahead' if by_ms > 0 else 'behind'}" in record.getMessage()
    machine.set_ahead(-by_ms)
    assert _elapsed(clock, machine, HOUR_MS) == HOUR_MS
    assert clock.now_ms() == machine.wall_ms
    assert len(caplog.records) == 1


@pytest.mark.parametrize("by_ms", [CLOCK_JUMP_MS, 5 * SECOND_MS, -5 * SECOND_MS, -CLOCK_JUMP_MS])
def test_a_correction_is_taken_over_bit_by_bit(
    by_ms: int, caplog: pytest.LogCaptureFixture
) -> None:
    machine = Machine()
    clock = _clock(machine)
    clock.now_ms()
    machine.set_ahead(by_ms)
    times = [clock.now_ms()]
    for _ in range(10 * abs(by_ms) // SECOND_MS):
        machine.wait(SECOND_MS)
        times.append(clock.now_ms())
    steps = {after - before for before, after in pairwise(times)}
    assert steps == {1_100 if by_ms > 0 else 900}
    assert times[-1] == machine.wall_ms
    assert _elapsed(clock, machine, MINUTE_MS) == MINUTE_MS
    assert not caplog.records


def test_a_reading_without_time_between_changes_nothing() -> None:
    machine = Machine()
    clock = _clock(machine)
    machine.set_ahead(-SECOND_MS)
    assert {clock.now_ms() for _ in range(1_000)} == {START_MS}


def test_many_readings_lose_no_time() -> None:
    machine = Machine()
    clock = _clock(machine)
    machine.set_ahead(-HOUR_MS)
    for _ in range(10_000):
        machine.wait(1)
        clock.now_ms()
    assert clock.now_ms() == START_MS + 10_000


def test_a_clock_that_swings_is_no_flood_of_warnings(caplog: pytest.LogCaptureFixture) -> None:
    machine = Machine()
    clock = _clock(machine)
    for n in range(2_000):
        machine.set_ahead(HOUR_MS if n % 2 else -HOUR_MS)
        machine.wait(SECOND_MS)
        clock.now_ms()
    assert 1 < len(caplog.records) <= 1 + 2_000 * SECOND_MS // CLOCK_WARNING_INTERVAL_MS


def test_a_log_that_was_closed_for_long_starts_at_the_clock(
    caplog: pytest.LogCaptureFixture,
) -> None:
    assert _clock(Machine(), START_MS - _YEAR_MS).now_ms() == START_MS
    assert not caplog.records


def test_a_last_record_ahead_of_the_clock_is_a_warning_and_is_made_good(
    caplog: pytest.LogCaptureFixture,
) -> None:
    machine = Machine()
    clock = _clock(machine, START_MS + HOUR_MS)
    (record,) = caplog.records
    assert "last record is of 2023-11-14T23:13:20.000Z" in record.getMessage()
    assert "clock says 2023-11-14T22:13:20.000Z, 3600 s behind" in record.getMessage()
    assert clock.now_ms() == START_MS + HOUR_MS
    assert _elapsed(clock, machine, HOUR_MS) == HOUR_MS * 9 // 10
    assert _elapsed(clock, machine, 9 * HOUR_MS) == 9 * HOUR_MS * 9 // 10
    assert clock.now_ms() == machine.wall_ms
    assert _elapsed(clock, machine, HOUR_MS) == HOUR_MS
    assert len(caplog.records) == 1


def test_what_two_quick_restarts_differ_by_is_no_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    assert _clock(Machine(), START_MS + 999).now_ms() == START_MS + 999
    assert not caplog.records


def test_times_outside_the_calendar_are_printed(caplog: pytest.LogCaptureFixture) -> None:
    assert _clock(Machine(), 2**62).now_ms() == 2**62
    assert f"{2**62} ms" in caplog.text


def test_the_machine_has_both_clocks() -> None:
    clocks = SystemClocks()
    wall, boot = clocks.wall_ns(), clocks.boot_ns()
    assert clocks.wall_ns() >= wall > 1_700_000_000 * 10**9
    assert clocks.boot_ns() >= boot > 0


async def test_a_log_goes_on_with_real_time_when_the_clock_was_set_ahead_and_back(
    directory: Path,
) -> None:
    machine = Machine()
    log = await MetadataLog.open(directory, machine=machine)
    times = [(await log.append(_NOTHING)).timestamp]
    for by_ms in (_YEAR_MS, 0, -_YEAR_MS, 0):
        machine.set_ahead(by_ms)
        machine.wait(MINUTE_MS)
        times.append((await log.append(_NOTHING)).timestamp)
    await log.close()
    assert times == [START_MS + n * MINUTE_MS for n in range(5)]


async def test_a_restart_after_the_clock_was_set_back_freezes_no_time(
    directory: Path, caplog: pytest.LogCaptureFixture
) -> None:
    machine = Machine()
    log = await MetadataLog.open(directory, machine=machine)
    await log.append(_NOTHING)
    await log.close()
    machine.set_ahead(-_YEAR_MS)
    log = await MetadataLog.open(directory, machine=machine)
    times = []
    for _ in range(3):
        machine.wait(MINUTE_MS)
        times.append((await log.append(_NOTHING)).timestamp)
    await log.close()
    assert times == [START_MS + n * MINUTE_MS * 9 // 10 for n in (1, 2, 3)]
    assert f"{directory}: the last record is of" in caplog.text
