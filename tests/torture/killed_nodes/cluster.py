"""Three nodes as processes over one store, and what is to be found in their folders in the end."""

import contextlib
import json
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from random import Random
from typing import Any, ClassVar, NamedTuple, Self

from tests.api.nodes.processes import Process, equal, leader, metalog, until
from tests.forked_commands import METALOG
from tests.ports import free_ports

NODES = 3
HOST = "127.0.0.1"


class Fault(NamedTuple):
    """What happens to a cluster.

    Attributes:
        strike: Does it, and mends what it broke; called with the cluster.
        times: How often in a piece of the campaign.
    """

    strike: Callable[[Any, Random], None]
    times: int


class Cluster:
    """Nodes that listen on the same ports whenever they run.

    Attributes:
        url, kafka: Of all nodes, for clients of ours, and for brokers.
        http: Of each node.
        shared: Of the shared log.
        FAULTS: What can happen to it, by name.
        given_up: Folders with records that the store has lost and an operator has given up.
    """

    FAULTS: ClassVar[Mapping[str, Fault]] = {}

    @classmethod
    def running(cls, scratch: Path) -> AbstractContextManager[Self]:
        """Run a store and the nodes over it."""
        raise NotImplementedError

    def __init__(
        self,
        folders: Sequence[Path],
        shared: Sequence[str],
        environments: Sequence[Mapping[str, str]] = (),
    ) -> None:
        """Start the nodes of a new log.

        Args:
            folders: Of the nodes; the directories above exist.
            shared: The URL of the shared log, as each node has it.
            environments: Variables that each node has instead of those of this process.
        """
        self.shared = shared[0]
        self.given_up: list[Path] = []
        metalog("init", str(folders[0]))
        metalog("nodes", "create", self.shared, "--from", str(folders[0]))
        ports = free_ports(3 * NODES)
        sockets, https, kafkas = ports[:NODES], ports[NODES:-NODES], ports[-NODES:]
        owns = environments or [{}] * NODES
        self.url = "socket://" + ",".join(f"{HOST}:{port}" for port in sockets)
        self.http = [f"http://{HOST}:{port}" for port in https]
        self.kafka = "kafka://" + ",".join(f"{HOST}:{port}" for port in kafkas)
        self.nodes = [
            Process(folder, url, number, kafka, _listeners(socket, http, kafka), environment=own)
            for number, (folder, url, own, socket, http, kafka) in enumerate(
                zip(folders, shared, owns, sockets, https, kafkas, strict=True), 1
            )
        ]
        try:
            leader(*self.nodes)
            until(lambda: all(node.lines for node in self.nodes))
        except AssertionError as error:
            said = self.said()
            self.end()
            raise AssertionError(f"no node leads: {said}") from error

    def said(self) -> str:
        """Return the last lines that the nodes have printed."""
        return "\n".join(f"node {node.number}: {node.said()[-1_000:]}" for node in self.nodes)

    def problems(self) -> list[str]:
        """Stop the nodes; return how their folders differ from the shared log."""
        problems = []
        with contextlib.suppress(AssertionError):
            until(lambda: equal(*self.nodes))
        if not equal(*self.nodes):
            problems.append("the folders differ")
        ended = [node for node in self.nodes if node.has_ended]
        problems += [f"node {node.number} ended: {node.said()[-500:]}" for node in ended]
        for node in self.nodes:
            node.end(signal.SIGTERM)
        for node in self.nodes:
            damage = _damage(node.folder, self.shared)
            problems += [f"the folder of node {node.number}: {each}" for each in damage]
        return problems

    def end(self) -> None:
        """End the processes, also suspended ones."""
        for node in self.nodes:
            with contextlib.suppress(ProcessLookupError):
                node.signal(signal.SIGCONT)
            node.end(signal.SIGKILL)

    def others(self, node: Process) -> list[Process]:
        """Return all nodes but one."""
        return [each for each in self.nodes if each is not node]


def _listeners(socket: int, http: int, kafka: int) -> tuple[str, ...]:
    """Return the options of a node for its ports beside that of Kafka."""
    return (
        *("--socket", f"{HOST}:{socket}", "--http", f"{HOST}:{http}"),
        *("--advertise", f"http={HOST}:{http}", "--advertise", f"kafka={HOST}:{kafka}"),
        *("--snapshot-every", "0"),
    )


def _damage(folder: Path, shared: str) -> list[str]:
    """Return what `verify` finds in a folder that differs from the shared log."""
    words = [*METALOG, "verify", str(folder), "--shared", shared, "--json"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if not done.stdout:
        return [done.stderr]
    found: list[str] = json.loads(done.stdout)["damage"]
    return found
