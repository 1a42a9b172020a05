"""Faults of nodes, whatever their store is."""

import signal
import time
from random import Random

from tests.api.nodes.processes import LEASE_MS, leader, until
from tests.torture.killed_nodes.cluster import Cluster


def kill(cluster: Cluster, random: Random) -> None:
    """Kill the leader with SIGKILL; it comes back when another one leads, or before."""
    first = leader(*cluster.nodes)
    first.end(signal.SIGKILL)
    if random.random() < 0.7:
        leader(*cluster.others(first))
    first.start()
    until(lambda: first.lines)


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
