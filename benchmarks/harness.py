"""Timing of two ways to do the same work, run alternately and compared as a ratio.

The machines are shared and their speed drifts, so absolute times mean little. Both sides run
alternately in one process; the result is the median of the ratios of adjacent runs.
"""

import resource
import statistics
import time
from collections.abc import Callable

import msgspec


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """One row of the result table.

    `ratio` is our speed divided by the peer's or, for a cost, our cost divided by the peer's.
    `target` is the minimum of the ratio, or its maximum if `at_most`. Without a target the row is
    only shown. There is no ratio if there is nothing to compare with or the peer is not installed.
    """

    name: str
    ours: str
    peer: str = ""
    ratio: float | None = None
    target: float | None = None
    at_most: bool = False

    @property
    def met(self) -> bool | None:
        """True if the target is met; None without a target or a ratio."""
        if self.target is None or self.ratio is None:
            return None
        return self.ratio <= self.target if self.at_most else self.ratio >= self.target


class Contender(msgspec.Struct, frozen=True):
    """One side of a comparison: `run` does `count` units of work.

    The counts of the sides may differ, because rates are compared.
    """

    count: int
    run: Callable[[], object]


def rates_in_turn(
    contenders: dict[str, Contender], rounds: int = 5, warmups: int = 1
) -> dict[str, list[float]]:
    """Run all sides alternately; return the units of work per second of each side in each round."""
    for _ in range(warmups):
        for contender in contenders.values():
            contender.run()
    rates: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, contender in contenders.items():
            rates[name].append(contender.count / _seconds(contender.run))
    return rates


def median_ratio(ours: list[float], peer: list[float]) -> float:
    """Return our rate divided by the peer's, median over the rounds."""
    return statistics.median(o / p for o, p in zip(ours, peer, strict=True))


def median_rate(rates: list[float]) -> str:
    """Return the median rate, formatted as `123,456/s`."""
    return f"{statistics.median(rates):,.0f}/s"


def rate_result(
    name: str, ours: list[float], peer: list[float] | None, target: float | None = None
) -> Result:
    """Return the result for our rate divided by a peer's; `peer` is None if it is not installed."""
    return Result(
        name=name,
        ours=median_rate(ours),
        peer="not installed" if peer is None else median_rate(peer),
        ratio=None if peer is None else median_ratio(ours, peer),
        target=target,
    )


class Timed(msgspec.Struct, frozen=True):
    """Times of all runs of both sides, in seconds."""

    ours: list[float]
    peer: list[float]

    @property
    def share(self) -> float:
        """Our time divided by the peer's, median over the rounds."""
        return statistics.median(o / p for o, p in zip(self.ours, self.peer, strict=True))

    @property
    def speed(self) -> float:
        """Our speed divided by the peer's, median over the rounds."""
        return 1 / self.share


def time_in_turn(
    ours: Callable[[], object], peer: Callable[[], object], rounds: int = 5, warmups: int = 1
) -> Timed:
    """Run both sides alternately and return their times; the warm-ups are not included."""
    for _ in range(warmups):
        ours()
        peer()
    timed = Timed([], [])
    for _ in range(rounds):
        timed.ours.append(_seconds(ours))
        timed.peer.append(_seconds(peer))
    return timed


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def cpu_seconds(work: Callable[[], object]) -> float:
    """Return the processor time, in seconds, that one call takes."""
    start = time.process_time()
    work()
    return time.process_time() - start


def child_cpu_seconds(work: Callable[[], object]) -> float:
    """Return the processor time, in seconds, of the child processes that `work` starts and ends."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    work()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def rate(count: int, seconds: list[float]) -> str:
    """Return the rate of the median run, formatted as `123,456/s`."""
    return f"{count / statistics.median(seconds):,.0f}/s"


def milliseconds(seconds: list[float]) -> str:
    """Return the median time, formatted as `12.3 ms`."""
    return f"{statistics.median(seconds) * 1_000:,.1f} ms"
