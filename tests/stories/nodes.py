"""The world of the stories with three nodes of a shared log in place of the service."""

import asyncio
import signal
from pathlib import Path

from api.nodes.operations import change_leader, look
from tests.api.nodes.processes import LEASE_MS, metalog, same_segments
from tests.ports import free_ports
from tests.stories.processes import SERVICE_OPTIONS, Process, World, soon


class NodesWorld(World):
    """Three nodes, brokers by their ids, and a client."""

    def __init__(self, directory: Path, store: str) -> None:
        """Prepare a shared log; `store` is the URL of an empty database."""
        super().__init__(directory)
        self._store = store
        self._ports = dict(enumerate(free_ports(3), 1))
        self._nodes: dict[int, Process] = {}
        self._more: tuple[str, ...] = ()

    @property
    def server(self) -> str:
        return "kafka://" + ",".join(f"127.0.0.1:{port}" for port in self._ports.values())

    async def serve(self, *more: str) -> None:
        """Make the shared log, start the nodes, and wait until one leads."""
        self._more = more
        await asyncio.to_thread(metalog, "nodes", "create", self._store, "--from", str(self.log))
        for number in self._ports:
            await self._start(number)
        await soon(self.leader)

    async def _start(self, number: int) -> None:
        self._nodes[number] = await Process.start(
            self.directory / f"node-{number}.txt",
            *("serve", self._folder(number), "--shared", self._store, "--node", number),
            *("--kafka", f"127.0.0.1:{self._ports[number]}", "--lease-ms", LEASE_MS),
            *("--advertise", f"kafka=127.0.0.1:{self._ports[number]}"),
            *(*SERVICE_OPTIONS, *self._more, *self._listeners(number)),
        )
        await self._nodes[number].is_ready()

    def _listeners(self, number: int) -> tuple[str, ...]:
        """Return the options of a node's other listeners."""
        return ()

    def _folder(self, number: int) -> Path:
        return self.log if number == 1 else self.directory / f"log-{number}"

    async def leader(self) -> int | None:
        """Return the number of the node that leads; None if none does."""
        found = (await look(self._store)).nodes
        return next((each.node for each in found if each.role == "leader"), None)

    async def hand_over(self) -> None:
        """Let the leader hand over to another node, as `nodes lead` does."""
        leader = await soon(self.leader)
        await change_leader(self._store, next(n for n in self._nodes if n != leader))

    async def fail_over(self, how: signal.Signals) -> float:
        """End the leader, and start it again when another one leads; return as `take_over`."""
        return await self.take_over(await self.end_leader(how))

    async def end_leader(self, how: signal.Signals) -> int:
        """End the leader with a signal; return its number."""
        first: int = await soon(self.leader)
        self._nodes[first].send(how)
        await self._nodes[first].ended()
        return first

    async def take_over(self, first: int) -> float:
        """Start a node that has ended again when another one leads.

        Returns:
            How long there was no leader, in seconds.
        """
        began = asyncio.get_running_loop().time()
        await soon(lambda: self.other_leader(first))
        away_s = asyncio.get_running_loop().time() - began
        await self._start(first)
        return away_s

    async def other_leader(self, first: int) -> bool:
        return await self.leader() not in (None, first)

    async def end(self) -> None:
        """End the brokers at once, and the nodes as by SIGTERM."""
        await super().end()
        for node in self._nodes.values():
            if node.is_running:
                node.send(signal.SIGTERM)
        await asyncio.gather(*[node.ended() for node in self._nodes.values()])

    def folders_are_equal(self) -> bool:
        """Return whether the nodes have the same segments."""
        return same_segments(map(self._folder, self._nodes))
