"""Nodes in processes of their own, over one shared log."""

import asyncio
import contextlib
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from api.nodes.operations import look
from benchmarks.peers.server_process import LOOPBACK, free_port
from records.errors import MetadataLogError

LEASE_MS = 3_000
START_TIMEOUT_S = 120
_DAY_MS = 86_400_000


class Node:
    """A node's process, which listens on the same ports whenever it runs.

    Attributes:
        socket: Address of its socket, HOST:PORT.
        start_timeout_s: How long the node may take to start.
    """

    def __init__(
        self, scratch: Path, url: str, number: int, start_timeout_s: float = START_TIMEOUT_S
    ) -> None:
        self.number = number
        self.folder = scratch / f"node-{number}"
        self.port, self._kafka_port = free_port(), free_port()
        self.socket = f"{LOOPBACK}:{self.port}"
        self.start_timeout_s = start_timeout_s
        self._output = self.folder.with_suffix(".txt")
        self._url = url
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the process, and return at once."""
        with self._output.open("ab") as output:
            self._process = subprocess.Popen(
                [
                    *(sys.executable, "-m", "api.cli", "serve", str(self.folder)),
                    *("--shared", self._url, "--node", str(self.number)),
                    *("--lease-ms", str(LEASE_MS), "--kafka", f"{LOOPBACK}:{self._kafka_port}"),
                    *("--socket", self.socket, "--snapshot-every", "0"),
                    # The brokers of a generated log send no heartbeats, and are not to be fenced.
                    *("--session-timeout-ms", str(_DAY_MS)),
                ],
                stdout=output,
                stderr=output,
            )

    def check_runs(self) -> None:
        """Check that the process has not ended by itself.

        Raises:
            RuntimeError: it has; with the last line of its output.
        """
        if self._process is not None and self._process.poll() is not None:
            last = self._output.read_text(errors="replace").splitlines()[-1:]
            raise RuntimeError(f"node {self.number} ended: {''.join(last)}")

    def end(self, sent: signal.Signals) -> None:
        """Send a signal, and wait for the end of the process."""
        if self._process is not None:
            self._process.send_signal(sent)
            self._process.wait()
            self._process = None


@contextlib.contextmanager
def stopped_at_last(nodes: Sequence[Node]) -> Iterator[None]:
    """Stop the nodes that run, at the end of the block."""
    try:
        yield
    finally:
        for node in nodes:
            node.end(signal.SIGTERM)


async def leader_of(url: str, nodes: Sequence[Node]) -> Node:
    """Wait until one node leads and all others stand by; return the leader."""
    async with asyncio.timeout(sum(node.start_timeout_s for node in nodes)):
        while True:
            for node in nodes:
                node.check_runs()
            with contextlib.suppress(MetadataLogError):
                roles = {each.node: each.role for each in (await look(url)).nodes}
                standbys = [number for number, role in roles.items() if role == "standby"]
                leading = [node for node in nodes if roles.get(node.number) == "leader"]
                if leading and len(standbys) == len(nodes) - 1:
                    return leading[0]
            await asyncio.sleep(0.5)
