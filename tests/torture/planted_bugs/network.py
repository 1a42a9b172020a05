"""Bugs in reading a quorum over the network: requests that are given up, and still answered."""

from tests.torture.planted_bugs.bug import Bug

_OBSERVER = "api/quorum/observer.py"

_MISSED = "                    self._limit.missed()\n"

BUGS = (
    Bug(
        name="connection kept after a time-out",
        what="A request that timed out is repeated on its connection, before the late answer.",
        file=_OBSERVER,
        old=_MISSED,
        new=_MISSED + "                    continue\n",
        campaign="network",
        seeds=(0,),
        expects="a second request before the answer to the first",
    ),
)
