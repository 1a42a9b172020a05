"""Archive and retention of a running service, run by child processes.

A child process does not delay appends (see `snapshot_maker`): `metalog archive` copies sealed
segments, and `metalog retain` drops those that are old and archived. They run one after the other,
at the lowest priority, and again after a pause.
"""

import asyncio
import logging
import subprocess
from collections.abc import Callable
from pathlib import Path

import msgspec

from api.child import end, start_command
from api.documents.errors import Error
from api.upkeep.jobs import JobRuns

log = logging.getLogger(__name__)

ARCHIVE = "archive"
"""Name of the job that archives."""


class UpkeepOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options of the background jobs.

    Attributes:
        archive: Directory or URL of the archive; None: no archive.
        retain: Age, such as 30d, from which archived history is dropped; None: all history is kept.
        every_s: Pause between two runs, in seconds.
    """

    archive: str | None = None
    retain: str | None = None
    every_s: float = 600.0


class _Line(msgspec.Struct, frozen=True):
    """The JSON output of `metalog archive` and `metalog retain`."""

    history_start: int
    end_offset: int | None = None


class Upkeep:
    """Archives a log and drops its old history while it runs.

    Attributes:
        archiving: Statistics of archive runs; None without an archive.
        retaining: Statistics of retention runs; None if all history is kept.
    """

    def __init__(self, directory: Path, options: UpkeepOptions, cut: Callable[[int], None]) -> None:
        """Store the arguments; `run` starts the work.

        Args:
            cut: Called with the new start of history.
        """
        self._directory = directory
        self._options = options
        self._cut = cut
        self.archiving = None if options.archive is None else JobRuns(name=ARCHIVE)
        self.retaining = None if options.retain is None else JobRuns(name="retention")

    @property
    def jobs(self) -> tuple[JobRuns, ...]:
        """The statistics of archive and retention runs, if enabled."""
        return tuple([job for job in (self.archiving, self.retaining) if job is not None])

    async def run(self) -> None:
        """Archive the log and drop its old history, repeatedly, until cancelled.

        Cancelling ends a child still running.
        """
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
        """Run a command and return its decoded output.

        Raises:
            SubprocessError: the command failed; the message is the command's.
            OSError: the system cannot start a process now.
            MsgspecError: the output has another form.
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
    """Return why a command failed: the message of its JSON error, or its whole error output."""
    text = errors.decode(errors="replace").strip()
    try:
        return msgspec.json.decode(text.rpartition("\n")[2], type=Error).message
    except msgspec.MsgspecError:
        return text
