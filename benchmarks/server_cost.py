"""Processor time per request of servers in other processes."""

import statistics
from collections.abc import Callable

from benchmarks.harness import Result, Timed
from benchmarks.peers.server_process import cpu_s


class Cost:
    """Processor time per request of a server, measured over several runs."""

    def __init__(self, pid: int, count: int, run: Callable[[], None]) -> None:
        self._pid, self._count, self._run = pid, count, run
        self.each_s: list[float] = []

    def run(self) -> None:
        """Do one run and record the server's processor time per request."""
        before_s = cpu_s(self._pid)
        self._run()
        self.each_s.append((cpu_s(self._pid) - before_s) / self._count)

    @property
    def text(self) -> str:
        """The median of all runs, formatted as `123 us`."""
        return f"{statistics.median(self.each_s) * 1e6:,.0f} us"


def cost_result(ours: Cost, name: str, peer: Cost | None, request: str = "an append") -> Result:
    """Return the result for our processor time per request divided by a peer's.

    `peer` is None if it is not installed.
    """
    return Result(
        name=f"server's processor time {request} / {name}",
        ours=ours.text,
        peer="not installed" if peer is None else peer.text,
        ratio=None if peer is None else Timed(ours.each_s, peer.each_s).share,
        at_most=True,
    )
