"""The SQL history of a running service, kept by a child process.

A child process does not delay appends (see `snapshot_maker`). It runs `metalog sql sync --follow`
at the lowest priority and prints a line after each transaction. If the service is killed, the child
finds its output closed and ends.
"""

import asyncio
import logging
import subprocess
from pathlib import Path

import msgspec

from api.child import HISTORY_DATABASE, end, start_command
from api.documents.errors import Error
from api.upkeep.jobs import JobRuns

# After a failure, such as a database that is down.
_RETRY_S = 30.0

# What the child's log puts before a warning.
_WARNING = "WARNING: "

log = logging.getLogger(__name__)


class _Line(msgspec.Struct, frozen=True):
    """A line of the child's output; `to` is the offset that the history has reached."""

    to: int


class HistoryKeeper:
    """Keeps the SQL history up to date while it runs.

    Attributes:
        job: Counts each transaction of the child as a run; the end of the child is a failed run.
    """

    def __init__(self, directory: Path, database: str | None) -> None:
        """Store the arguments; the child is started by `run`.

        Args:
            database: URL of the database; None: the default database, in the log directory.
        """
        self._directory = directory
        # Not among the arguments, because the URL may have a password.
        self._environment = {} if database is None else {HISTORY_DATABASE: database}
        self.job = JobRuns(name="sql_history")

    async def run(self) -> None:
        """Keep the history up to date until cancelled; restart a child that ends.

        Cancelling ends the child.
        """
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
        """Run a child until it ends; return the reason."""
        child = await start_command(
            *("sql", "sync", str(self._directory), "--follow", "--json"),
            stdout=subprocess.PIPE,
            environment=self._environment,
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
        """Log the child's warnings; return its other error output, the reason why it ended."""
        reason = []
        async for line in errors:
            text = line.decode(errors="replace").strip()
            if text.startswith(_WARNING):
                log.warning("SQL history of %s: %s", self._directory, text.removeprefix(_WARNING))
            else:
                reason.append(_error_text(text))
        return "\n".join(reason)


def _error_text(line: str) -> str:
    """Return the code and message if a line of the child is a JSON error, else the line."""
    try:
        error = msgspec.json.decode(line, type=Error)
    except msgspec.MsgspecError:
        return line
    return f"{error.code}: {error.message}"
