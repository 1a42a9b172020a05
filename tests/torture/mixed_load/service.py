"""`metalog serve` with all its listeners, killed and restarted at the same addresses."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from tests import processes

READY_S = 120.0
_STOP_S = 60.0
_ANY = "127.0.0.1:0"


class Killable:
    """A service on one log, with a new process after each kill.

    Attributes:
        addresses: HOST:PORT by listener, chosen at the first start.
    """

    def __init__(self, log: Path, errors: Path, sources: Path) -> None:
        """Do not start the service yet.

        Args:
            errors: A file to which its standard error is appended.
            sources: The folder with the packages that it runs.
        """
        self._log, self._errors, self._sources = log, errors, sources
        self._process: asyncio.subprocess.Process | None = None
        self.addresses = dict.fromkeys(("kafka", "socket", "http"), _ANY)

    async def start(self) -> None:
        """Start a process, without waiting until it is ready."""
        listeners = [f"--{name}={address}" for name, address in self.addresses.items()]
        with self._errors.open("ab") as errors:
            self._process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "api.cli", "serve", str(self._log), "--json", *listeners),
                cwd=self._sources,
                stdout=asyncio.subprocess.PIPE,
                stderr=errors,
            )

    async def ready(self) -> None:
        """Wait until it accepts requests; keep its addresses.

        While it was dead, a connection of any other process may have got one of its ports as its
        own: then it starts again, until that connection is closed.
        """
        async with asyncio.timeout(READY_S):
            while not (line := await self._line()):
                said = self._errors.read_text()[-500:]
                assert "Address already in use" in said, f"it ended before it was ready: {said}"
                await asyncio.sleep(0.2)
                await self.start()
        told: dict[str, Any] = json.loads(line)
        self.addresses = {
            name: told[name].rpartition("//")[2].rstrip("/") for name in self.addresses
        }

    async def _line(self) -> bytes:
        """Return its first line; empty if it ends before."""
        assert self._process is not None and self._process.stdout is not None
        return await self._process.stdout.readline()

    async def kill(self) -> None:
        """Kill it with SIGKILL.

        Raises:
            AssertionError: it had ended before.
        """
        assert self._process is not None
        assert self._process.returncode is None, self._errors.read_text()[-500:]
        self._process.kill()
        await processes.ended(self._process, _STOP_S)

    async def stop(self) -> int:
        """Shut it down cleanly; return its exit code."""
        assert self._process is not None
        if self._process.returncode is None:
            self._process.terminate()
        return await processes.ended(self._process, _STOP_S)
