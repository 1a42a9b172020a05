"""Archive and retention of a running service, run by child processes.

As for snapshots, a child does not delay appends: `metalog archive` copies sealed segments, and
`metalog retain` drops those that are old and archived. Both run one after the other, at the lowest
priority, and again after a pause.
"""

import asyncio
import logging
import subprocess
from collections.abc import Callable
from pathlib import Path

import msgspec

from api.child import end, start_command
from api.documents.errors import Error
from api.jobs import JobRuns

log = logging.getLogger(__name__)


class UpkeepOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What to do: `archive` is a directory or URL, `retain` an age, None: not; and how often."""

    archive: str | None = None
    retain: str | None = None
    every_s: float = 600.0


class _Line(msgspec.Struct, frozen=True):
    """What both commands print."""

    history_start: int
    end_offset: int | None = None


class Upkeep:
    """Archives a log and drops its old history while it runs.

    Attributes:
        archiving: Runs of the archive; None if there is none.
        retaining: Runs of the retention; None if all is kept.
    """

    def __init__(self, directory: Path, options: UpkeepOptions, cut: Callable[[int], None]) -> None:
        """Start nothing yet.

        Args:
            cut: Called with the new start of history.
        """
        self._directory = directory
        self._options = options
        self._cut = cut
        self.archiving = None if options.archive is None else JobRuns(name="archive")
        self.retaining = None if options.retain is None else JobRuns(name="retention")

    @property
    def jobs(self) -> tuple[JobRuns, ...]:
        """All that it does."""
        return tuple([job for job in (self.archiving, self.retaining) if job is not None])

    async def run(self) -> None:
        """Archive and retain again and again until cancelled; a child still running is ended."""
        while True:
            # First what is archived, so that it may be dropped.
            if self.archiving is not None and self._options.archive is not None:
                await self._once(self.archiving, "archive", self._options.archive)
            if self.retaining is not None and self._options.retain is not None:
                await self._once(self.retaining, "retain", "--before", self._options.retain)
            await asyncio.sleep(self._options.every_s)

    async def _once(self, job: JobRuns, command: str, *arguments: str) -> None:
        with job.running():
            try:
                line = await self._run(command, str(self._directory), *arguments)
            except (OSError, msgspec.MsgspecError, subprocess.SubprocessError) as error:
                log.warning("no %s of %s: %s", job.name, self._directory, error)
                return
            self._cut(line.history_start)
            # Retention covers up to where history starts now.
            is_archive = job is self.archiving
            job.succeed(line.end_offset if is_archive else line.history_start)
            log.info("%s of %s is done up to %s", job.name, self._directory, job.end_offset)

    async def _run(self, *arguments: str) -> _Line:
        """Run a command and return what it prints.

        Raises:
            SubprocessError: it failed; the message is its own.
            OSError: the system starts no process now.
            MsgspecError: it printed something else.
        """
        child = await start_command(*arguments, "--json", stdout=subprocess.PIPE)
        try:
            printed, errors = await child.communicate()
        finally:
            await end(child)
        if child.returncode != 0:
            raise subprocess.SubprocessError(_reason(errors) or f"exit code {child.returncode}")
        return msgspec.json.decode(printed, type=_Line)


def _reason(errors: bytes) -> str:
    """Return why a command failed: the message of its error, or all that it said."""
    text = errors.decode(errors="replace").strip()
    try:
        return msgspec.json.decode(text.rpartition("\n")[2], type=Error).message
    except msgspec.MsgspecError:
        return text
