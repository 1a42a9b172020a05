"""Real processes: one service and its brokers, each with its own log, ended by their process
ids.
"""

import asyncio
import contextlib
import json
import os
import resource
import signal
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any, Self

from api.clients.client import MetadataClient
from metadata_log.reader.log_reader import LogReader
from metadata_log.writer.creation import create_log
from records.text import uuid_text
from replay.image.metadata import MetadataImage
from replay.loader import load_image
from tests import processes
from tests.forked_commands import METALOG

READY_S = 120.0
"""Starting Python on a busy machine takes its time."""

SOON_S = 60.0
"""Only so that it ends: on a busy machine 20 s were too short."""

_STOP_S = 60.0

SERVICE_OPTIONS = (
    "--session-timeout-ms=3000",
    "--config=delete.topic.partition.enable=true",
    "--config=delete.topic.partition.interval.delay.ms=200",
)
BROKER_OPTIONS = ("--heartbeat-ms=300", "--replica-lag-ms=1500")


class Process:
    """A running `metalog` command, and the line that it printed when it was ready."""

    def __init__(self, process: asyncio.subprocess.Process, log: Path) -> None:
        self._process = process
        self._log = log
        self.ready: dict[str, Any] = {}

    @classmethod
    async def start(
        cls,
        log: Path,
        *arguments: object,
        command: Sequence[str] = METALOG,
        descriptors: int | None = None,
    ) -> Self:
        """Start a command; its standard error is appended to `log`.

        Args:
            command: `metalog`, forked or started.
            descriptors: Limit of open files, soft and hard; None for that of this process.
        """
        with log.open("ab") as errors:
            process = await asyncio.create_subprocess_exec(
                *command,
                "--debug",
                *map(str, arguments),
                "--json",
                stdout=asyncio.subprocess.PIPE,
                stderr=errors,
                preexec_fn=processes.descriptor_limit(descriptors),
            )
        return cls(process, log)

    async def is_ready(self) -> Self:
        """Wait for the line that reports that it is ready."""
        assert self._process.stdout is not None
        async with asyncio.timeout(READY_S):
            line = await self._process.stdout.readline()
        assert line, f"it ended before it was ready: {self.errors}"
        self.ready = json.loads(line)
        return self

    @property
    def errors(self) -> str:
        """Return what the process wrote to standard error."""
        return self._log.read_text()

    @property
    def is_running(self) -> bool:
        return self._process.returncode is None

    def limit(self, kind: int, soft: int | None) -> None:
        """Set a soft limit of the running process; None resets it to the hard limit."""
        _, hard = resource.prlimit(self._process.pid, kind)
        resource.prlimit(self._process.pid, kind, (hard if soft is None else soft, hard))

    def send(self, number: signal.Signals) -> None:
        """Send it a signal."""
        self._process.send_signal(number)

    async def stop(self) -> int:
        """Shut it down cleanly; return its exit code."""
        return await self._end(signal.SIGTERM)

    async def kill(self) -> None:
        """Kill it with SIGKILL."""
        await self._end(signal.SIGKILL)

    async def _end(self, number: signal.Signals) -> int:
        if self.is_running:
            self._process.send_signal(number)
        return await self.ended()

    async def ended(self) -> int:
        """Wait until it ends; return its exit code."""
        return await processes.ended(self._process, _STOP_S)


class World:
    """A service, brokers by their ids, and a client."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.log = directory / "log"
        self.port = 0
        self.service: Process | None = None
        self.brokers: dict[int, Process] = {}
        create_log(self.log, uuid_text(bytes(range(16))))

    @property
    def server(self) -> str:
        """The URL by which brokers and clients reach the cluster."""
        return f"kafka://127.0.0.1:{self.port}"

    async def serve(self, *more: str) -> None:
        """Start the service, on the same port as before."""
        process = await Process.start(
            self.directory / "service.txt",
            *("serve", self.log, "--kafka", f"127.0.0.1:{self.port}", *SERVICE_OPTIONS, *more),
        )
        self.service = process
        await process.is_ready()
        self.port = int(process.ready["kafka"].rpartition(":")[2])

    async def start_brokers(self, *broker_ids: int, **options: Any) -> None:
        """Start brokers at the same time, and wait until all are registered and active."""
        for broker_id in broker_ids:
            await self.start_broker(broker_id, **options)
        for broker_id in broker_ids:
            await self.brokers[broker_id].is_ready()

    async def start_broker(
        self,
        broker_id: int,
        *more: str,
        port: int | None = None,
        descriptors: int | None = None,
    ) -> Process:
        """Start a broker without waiting for it."""
        self.brokers[broker_id] = await Process.start(
            self.directory / f"broker-{broker_id}.txt",
            *("broker", "--server", f"kafka://127.0.0.1:{port}" if port else self.server),
            *("--id", broker_id),
            *("--log-dir", self.log_dir(broker_id), *BROKER_OPTIONS, *more),
            descriptors=descriptors,
        )
        return self.brokers[broker_id]

    def log_dir(self, broker_id: int) -> Path:
        return self.directory / f"broker-{broker_id}"

    def folders(self, broker_id: int) -> set[str]:
        """Return the folders of partitions on a broker's disk."""
        # `os.walk` passes over folders that the broker removes meanwhile; `Path.rglob` raises.
        root = self.log_dir(broker_id)
        found = [path for path, _, names in os.walk(root) if "partition.metadata" in names]
        folders = {os.path.relpath(path, root) for path in found}
        return {folder for folder in folders if not folder.startswith("deleting/")}

    def staged(self, broker_id: int) -> set[str]:
        """Return the folders in `deleting/` on a broker's disk."""
        deleting = self.log_dir(broker_id) / "deleting"
        return {path.name for path in deleting.iterdir()} if deleting.exists() else set()

    def image(self) -> MetadataImage:
        """Return the current image, read from the log beside the service."""
        with LogReader.open(self.log) as reader:
            return load_image(reader)

    @contextlib.asynccontextmanager
    async def client(self) -> AsyncIterator[MetadataClient]:
        async with await MetadataClient.connect(self.server) as client:
            yield client

    async def ask(self, *arguments: object) -> Any:
        """Run a command against the service, and return its JSON output."""
        command = (*arguments, "--server", self.server, "--json")
        process = await asyncio.create_subprocess_exec(
            *(*METALOG, *map(str, command)), stdout=asyncio.subprocess.PIPE
        )
        output, _ = await process.communicate()
        assert process.returncode == 0, f"{command} exits {process.returncode}"
        return json.loads(output)

    async def end(self) -> None:
        """End all processes."""
        started = [*self.brokers.values(), *([self.service] if self.service else [])]
        await asyncio.gather(*[process.kill() for process in started if process.is_running])


async def soon(check: Callable[[], Any], within_s: float = SOON_S) -> Any:
    """Wait until a check returns a true value, and return it; it may be a coroutine function."""
    deadline = asyncio.get_running_loop().time() + within_s
    while True:
        result = check()
        if asyncio.iscoroutine(result):
            result = await result
        if result:
            return result
        assert asyncio.get_running_loop().time() < deadline, f"not within {within_s} s: {result!r}"
        await asyncio.sleep(0.05)
