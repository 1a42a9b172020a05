"""Faults of nodes, whatever their store is."""

import signal
import time
from random import Random

from tests.api.nodes.processes import LEASE_MS, Process, leader, until
from tests.torture.killed_nodes.cluster import Cluster

_AWAY = 4
"""The exit code of a node whose store is away: its unit starts it again (docs/running.md)."""


def kill(cluster: Cluster, random: Random) -> None:
    """Kill the leader with SIGKILL; it comes back when another one leads, or before."""
    first = leader(*cluster.nodes)
    first.end(signal.SIGKILL)
    if random.random() < 0.7:
        leader(*cluster.others(first))
    first.start()
    until(lambda: _is_back(first))


def _is_back(node: Process) -> bool:
    """True once a node serves, or has ended for another reason than that its store is away."""
    code = node.code  # read once: it may end right now
    if code == _AWAY:
        node.start()
        return False
    return node.listens_at is not None or code is not None


def suspend(cluster: Cluster, random: Random) -> None:
    """Stop the leader for longer than its lease, so that it wakes while another one leads."""
    first = leader(*cluster.nodes)
    first.signal(signal.SIGSTOP)
    leader(*cluster.others(first))
    time.sleep(part_of_lease_s(random))
    first.signal(signal.SIGCONT)
    until(lambda: first.stands_by)


def part_of_lease_s(random: Random) -> float:
    """Return seconds, at most the lease."""
    return random.random() * LEASE_MS / 1_000
