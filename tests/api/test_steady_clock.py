"""Time that goes on whatever is done to the machine's clock."""

from api.steady_clock import SteadyClock


class Machine:
    """A machine whose clock can be set."""

    def __init__(self) -> None:
        self.time_ms = 1_000_000
        self.steady_ms = 50

    def now_ms(self) -> int:
        return self.time_ms

    def wait(self, duration_ms: int) -> None:
        self.time_ms += duration_ms
        self.steady_ms += duration_ms


def _clock(machine: Machine, start_ms: int = 0) -> SteadyClock:
    return SteadyClock(machine, start_ms, steady_ms=lambda: machine.steady_ms)


def test_it_is_the_machines_time() -> None:
    machine = Machine()
    clock = _clock(machine)
    assert clock.now_ms() == 1_000_000
    machine.wait(70)
    assert clock.now_ms() == 1_000_070


def test_it_goes_on_when_the_machines_clock_is_set_back_and_follows_when_that_has_caught_up() -> (
    None
):
    machine = Machine()
    clock = _clock(machine)
    clock.now_ms()
    machine.time_ms -= 3_600_000
    machine.wait(100)
    assert clock.now_ms() == 1_000_100
    machine.wait(100)
    assert clock.now_ms() == 1_000_200
    machine.time_ms += 3_600_500
    assert clock.now_ms() == 1_000_700


def test_it_goes_on_from_a_log_that_is_ahead() -> None:
    machine = Machine()
    clock = _clock(machine, start_ms=9_000_000)
    machine.wait(100)
    assert clock.now_ms() == 9_000_100
