"""Machines on a network of our own: network namespaces, and cables that can be pulled out.

A pulled cable loses packets without a word, as a broken switch does: no connection is closed or
refused. Needs root, and Linux.
"""

import contextlib
import itertools
import subprocess
from collections.abc import Iterator, Sequence
from typing import NamedTuple

_NETWORKS = 200
"""Networks that may exist at once: 198.18.0.0/15 is for tests of network devices."""


class Cable(NamedTuple):
    """The connection of a machine to a switch.

    Attributes:
        address: Of the machine on the network of the switch.
    """

    name: str
    switch: str
    address: str

    def pull(self) -> None:
        """Lose all packets from now on."""
        _ip("link", "set", self.name, "nomaster")

    def plug(self) -> None:
        """Let packets through again."""
        _ip("link", "set", self.name, "master", self.switch)

    def remove(self) -> None:
        """Remove it, so that its name is free at once: a machine takes its cables along later."""
        _ip("link", "del", self.name)


class Switch:
    """A network that this process is connected to.

    Attributes:
        number: Of the network, unique on this machine.
    """

    def __init__(self) -> None:
        """Make a network with the first free number."""
        self.number = next(number for number in range(_NETWORKS) if _made(f"ml{number}"))
        self.name = f"ml{self.number}"
        _ip("addr", "add", f"198.18.{self.number}.254/24", "dev", self.name)
        _ip("link", "set", self.name, "up")
        self._addresses = itertools.count(1)

    def connect(self, machine: "Machine") -> Cable:
        """Connect a machine."""
        last = next(self._addresses)
        cable = Cable(f"{self.name}-{last}", self.name, f"198.18.{self.number}.{last}")
        inner = f"eth{self.number}"
        _ip("link", "add", cable.name, "type", "veth", "peer", "name", inner, "netns", machine.name)
        _ip("-n", machine.name, "addr", "add", f"{cable.address}/24", "dev", inner)
        _ip("-n", machine.name, "link", "set", inner, "up")
        _ip("link", "set", cable.name, "up")
        cable.plug()
        return cable

    def remove(self) -> None:
        """Remove the network."""
        _ip("link", "del", self.name)


class Machine(NamedTuple):
    """A machine with a network stack of its own.

    Attributes:
        name: Of its network namespace.
        cables: One for each switch, in their order.
    """

    name: str
    cables: list[Cable]

    @property
    def within(self) -> tuple[str, ...]:
        """The words before a command that is to run there."""
        return ("ip", "netns", "exec", self.name)


@contextlib.contextmanager
def network(names: Sequence[str], *, switches: int) -> Iterator[list[Machine]]:
    """Make machines that are connected to each of some switches."""
    with contextlib.ExitStack() as stack:
        made = []
        for _ in range(switches):
            made.append(Switch())
            stack.callback(made[-1].remove)
        machines = []
        for name in names:
            machine = Machine(f"ml{made[0].number}-{name}", [])
            _ip("netns", "add", machine.name)
            stack.callback(_ip, "netns", "del", machine.name)
            _ip("-n", machine.name, "link", "set", "lo", "up")
            for switch in made:
                machine.cables.append(switch.connect(machine))
                stack.callback(machine.cables[-1].remove)
            machines.append(machine)
        yield machines


def _made(switch: str) -> bool:
    """Make a switch, unless there is one of this name."""
    words = ["ip", "link", "add", switch, "type", "bridge"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0 or "File exists" in done.stderr, done.stderr
    return done.returncode == 0


def _ip(*words: str) -> None:
    done = subprocess.run(["ip", *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{words}: {done.stderr}"
