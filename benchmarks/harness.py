"""Two ways to do the same work, timed in turn, compared as a ratio.

These machines are shared and their speed drifts, so absolute times say little. Both sides run
alternately in one process, and the median of the ratios of neighbours counts.
"""

import statistics
import time
from collections.abc import Callable

import msgspec


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the table.

    `ratio` is how many times as fast ours is as the peer (or, for a cost, its share of the peer's
    time); `target` is its bound: at least, unless `at_most`. No target: shown, not judged. No
    ratio: a figure that stands alone, or a peer that is not installed.
    """

    name: str
    ours: str
    peer: str = ""
    ratio: float | None = None
    target: float | None = None
    at_most: bool = False

    @property
    def met(self) -> bool | None:
        """Whether the target is met; None when there is none, or nothing to compare."""
        if self.target is None or self.ratio is None:
            return None
        return self.ratio <= self.target if self.at_most else self.ratio >= self.target


class Contender(msgspec.Struct, frozen=True):
    """One way to do a kind of work: `run` does `count` of it.

    Each side does as much as takes it a fair time, for what counts is its rate.
    """

    count: int
    run: Callable[[], object]


def rates_in_turn(
    contenders: dict[str, Contender], rounds: int = 5, warmups: int = 1
) -> dict[str, list[float]]:
    """Run all sides in turn, and return how much each did in a second, for every round."""
    for _ in range(warmups):
        for contender in contenders.values():
            contender.run()
    rates: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, contender in contenders.items():
            rates[name].append(contender.count / _seconds(contender.run))
    return rates


def median_ratio(ours: list[float], peer: list[float]) -> float:
    """How many times the peer's rate ours is, median over the rounds."""
    return statistics.median(o / p for o, p in zip(ours, peer, strict=True))


def median_rate(rates: list[float]) -> str:
    """Return `123,456/s`, of the median round."""
    return f"{statistics.median(rates):,.0f}/s"


def rate_result(
    name: str, ours: list[float], peer: list[float] | None, target: float | None = None
) -> Result:
    """Return our rate in multiples of a peer's; None: the peer is not installed."""
    return Result(
        name=name,
        ours=median_rate(ours),
        peer="not installed" if peer is None else median_rate(peer),
        ratio=None if peer is None else median_ratio(ours, peer),
        target=target,
    )


class Timed(msgspec.Struct, frozen=True):
    """Seconds of each run of both sides."""

    ours: list[float]
    peer: list[float]

    @property
    def share(self) -> float:
        """Ours as a share of the peer's time, median over the rounds."""
        return statistics.median(o / p for o, p in zip(self.ours, self.peer, strict=True))

    @property
    def speed(self) -> float:
        """How many times as fast ours is, median over the rounds."""
        return 1 / self.share


def time_in_turn(
    ours: Callable[[], object], peer: Callable[[], object], rounds: int = 5, warmups: int = 1
) -> Timed:
    """Run both sides alternately, after warm-ups that do not count."""
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


def rate(count: int, seconds: list[float]) -> str:
    """Return `123,456/s`, of the median run."""
    return f"{count / statistics.median(seconds):,.0f}/s"


def milliseconds(seconds: list[float]) -> str:
    """Return `12.3 ms`, of the median run."""
    return f"{statistics.median(seconds) * 1_000:,.1f} ms"
