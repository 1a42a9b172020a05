"""The SQL history of a running service, kept by a child process.

As for snapshots, a child does not delay appends. It runs `metalog sql sync --follow` at the lowest
priority and prints a line after each transaction. If the service is killed, the child finds its
output closed and ends.
"""

import asyncio
import logging
import subprocess
from pathlib import Path

import msgspec

from api.child import end, start_command
from api.documents.errors import Error
from api.jobs import JobRuns

# After a failure, such as a database that is down.
_RETRY_S = 30.0

# What the child's log puts before a warning.
_WARNING = "WARNING: "

log = logging.getLogger(__name__)


class _Line(msgspec.Struct, frozen=True):
    """What the child prints."""

    to: int


class HistoryKeeper:
    """Keeps the history up to date while it runs.

    Attributes:
        job: A run is a transaction of the child; one fails when the child ends.
    """

    def __init__(self, directory: Path, database: str | None) -> None:
        """Start nothing yet.

        Args:
            database: URL; None is the default in the log directory.
        """
        self._directory = directory
        self._options = () if database is None else ("--database", database)
        self.job = JobRuns(name="sql_history")

    async def run(self) -> None:
        """Keep the history until cancelled; the child is then ended."""
        while True:
            self.job.is_running = True
            try:
                reason = await self._follow()
            except OSError as error:
                reason = str(error)
            self.job.is_running = False
            self.job.failed += 1
            log.warning(
                "SQL history of %s is not kept, next attempt in %s s: %s",
                *(self._directory, _RETRY_S, reason),
            )
            await asyncio.sleep(_RETRY_S)

    async def _follow(self) -> str:
        """Follow the log as long as a child does; return why it ended."""
        child = await start_command(
            *("sql", "sync", str(self._directory), *self._options, "--follow", "--json"),
            stdout=subprocess.PIPE,
        )
        assert child.stdout is not None and child.stderr is not None
        try:
            errors = asyncio.create_task(self._relay(child.stderr))
            async for line in child.stdout:
                synced = msgspec.json.decode(line, type=_Line)
                self.job.succeed(synced.to)
                log.info("SQL history of %s is kept up to %s", self._directory, synced.to)
            return await errors or f"exit code {await child.wait()}"
        finally:
            await end(child)

    async def _relay(self, errors: asyncio.StreamReader) -> str:
        """Log the warnings of a child that goes on; return the reason it gives for its end."""
        reason = []
        async for line in errors:
            text = line.decode(errors="replace").strip()
            if text.startswith(_WARNING):
                log.warning("SQL history of %s: %s", self._directory, text.removeprefix(_WARNING))
            else:
                reason.append(_error_text(text))
        return "\n".join(reason)


def _error_text(line: str) -> str:
    """Return the error in a line of the child, which prints it as JSON; or the line as it is."""
    try:
        error = msgspec.json.decode(line, type=Error)
    except msgspec.MsgspecError:
        return line
    return f"{error.code}: {error.message}"
