"""Nodes with a cable each to the machine of their store, and a small disk each."""

import contextlib
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import NamedTuple

from tests.api.nodes.processes import leader, until
from tests.torture.killed_nodes.cluster import NODES, Cluster
from tests.torture.killed_nodes.disk import Disk, small_disk
from tests.torture.killed_nodes.network import Machine, network
from tests.torture.killed_nodes.node_faults import part_of_lease_s

_NODE_MB = 48
_FULL_S = 2.0


class Wiring(NamedTuple):
    """Disks of the nodes, and the machine of the store, with a cable for each node."""

    disks: Sequence[Disk]
    machine: Machine

    @property
    def addresses(self) -> list[str]:
        """Of the store, as each node reaches it."""
        return [cable.address for cable in self.machine.cables]


@contextlib.contextmanager
def wiring(scratch: Path) -> Iterator[Wiring]:
    """Mount the disks and make the network."""
    with contextlib.ExitStack() as stack:
        disks = [
            stack.enter_context(small_disk(scratch / f"disk-{number}", _NODE_MB))
            for number in range(NODES)
        ]
        (machine,) = stack.enter_context(network(["store"], switches=NODES))
        yield Wiring(disks, machine)


class Wired(Cluster):
    """Three nodes, their cables and disks."""

    def __init__(
        self, wires: Wiring, shared: Sequence[str], environments: Sequence[Mapping[str, str]] = ()
    ) -> None:
        """Start the nodes of a new log.

        Args:
            shared, environments: As of `Cluster`.
        """
        self._disks, self._cables = wires.disks, wires.machine.cables
        folders = [disk.place / f"node-{number}" for number, disk in enumerate(wires.disks, 1)]
        super().__init__(folders, shared, environments)

    def cut_the_leader(self, random: Random) -> None:
        """Cut the leader from the store, while clients reach it, until after another one leads."""
        first = leader(*self.nodes)
        cable = self._cables[self.nodes.index(first)]
        cable.pull()
        leader(*self.others(first))
        time.sleep(part_of_lease_s(random))
        cable.plug()
        until(lambda: first.stands_by)

    def cut_all(self, random: Random) -> None:
        """Cut all nodes from the store, for up to four leases."""
        for cable in self._cables:
            cable.pull()
        time.sleep(4 * part_of_lease_s(random))
        for cable in self._cables:
            cable.plug()
        leader(*self.nodes)

    def fill_a_node(self, random: Random) -> None:
        """Fill the disk of the leader, or of another node."""
        first = leader(*self.nodes)
        disk = self._disks[self.nodes.index(random.choice([first, first, *self.others(first)]))]
        fill_for_a_while(disk, random)
        leader(*self.nodes)


def fill_for_a_while(disk: Disk, random: Random) -> None:
    """Take all space of a disk, and give it back after 2 to 4 s."""
    disk.fill()
    time.sleep(_FULL_S * (1 + random.random()))
    disk.free()
