"""One mirror of a recorder, with tasks that record it, check it, and archive and trim it."""

import asyncio
import time
from collections.abc import Callable, Sequence

import msgspec

from api.alerts.follow import FollowedChecks, state_beside
from api.alerts.state import StateFile
from api.quorum.observer import Observer
from api.quorum.reading import Reading
from api.quorum.recording import cluster_id_for, patient_step, recorded
from api.recorder.kept import Kept
from api.recorder.settings import MirrorSettings
from api.security.client import ConnectionSecurity
from api.upkeep.upkeep import Upkeep, UpkeepOptions
from metadata_log.files.fs import OsFs
from metadata_log.format.parts import EarlierPart, earlier_parts
from metadata_log.kraft.observed_mirror import ObservedMirror
from records.envelope import Envelope
from records.errors import RequestError


class Progress(msgspec.Struct):
    """How far a mirror is; offsets are exclusive ends, times are seconds since 1970.

    Attributes:
        records: Number of records written since the recorder started the mirror.
        high_watermark: The quorum's last known high watermark.
        answered_at: Time of the leader's last answer.
        last_record_at: When the leader appended the last record that was read.
        gaps: Number of gaps in the recording since its beginning.
    """

    records: int = 0
    end_offset: int | None = None
    confirmed_end: int | None = None
    high_watermark: int | None = None
    answered_at: float | None = None
    last_record_at: float | None = None
    gaps: int = 0


class RecordedMirror:
    """The tasks of one mirror.

    Attributes:
        recording, checking: The tasks; an error of one does not end the other.
        checks: The running checks; None if there are none, or not yet.
        upkeep: Archives and trims the mirror; None: neither.
    """

    def __init__(self, settings: MirrorSettings, write: Callable[[str], None]) -> None:
        """Prepare to record a mirror; `write` writes a line of output."""
        self.settings, self.progress = settings, Progress()
        self._write = write
        # Set once the mirror has all that was there when reading began.
        self._is_there = asyncio.Event()
        self.checks: FollowedChecks | None = None
        name = settings.name
        self.recording = Kept(f"{name}: recording", self._record)
        self.checking = Kept(f"{name}: checking", self._check)
        options = UpkeepOptions(archive=settings.archive, retain=settings.retain)
        self.upkeep = Upkeep(settings.log, options, lambda _: None) if settings.archive else None

    def retry(self) -> None:
        """Retry now the tasks that have stopped."""
        self.recording.retry()
        self.checking.retry()

    def use_checks_of(self, settings: MirrorSettings) -> None:
        """Use the checks of other settings; the recording is not interrupted."""
        if settings.checks_text != self.settings.checks_text:
            self.settings = settings
            self.checking.restart()

    async def run(self) -> None:
        """Record until cancelled; then write the records that were read."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self.recording.run())
            tasks.create_task(self.checking.run())
            if self.upkeep is not None:
                tasks.create_task(self._keep_up(self.upkeep))

    async def _keep_up(self, upkeep: Upkeep) -> None:
        await self._is_there.wait()
        await upkeep.run()

    # Recording

    async def _record(self) -> None:
        settings = self.settings
        known = await cluster_id_for(
            settings.log, settings.cluster_id, settings.brokers, settings.security
        )
        if known is None:
            raise RequestError("INVALID_CONFIG", f"{settings.log} is gone; name its cluster-id")
        observer = Observer(
            [(each.host, each.port) for each in settings.addresses],
            cluster_id=known,
            security=self._security,
            mapped=dict(settings.mapped),
            give_up_s=None,
        )
        async with observer:
            await recorded(
                observer,
                settings.log,
                known,
                self._follow,
                gap_begun=self._gap_begun,
                collapse_noops=settings.collapse_noops,
                taken=self._taken,
            )

    def _security(self) -> ConnectionSecurity:
        return self.settings.security.used_with(self.settings.addresses[0].protocol)

    async def _follow(self, reading: Reading, mirror: ObservedMirror) -> None:
        before = self.progress.records
        self.progress.gaps = len(earlier_parts(OsFs(), self.settings.log))
        while True:
            await patient_step(reading, mirror)
            if reading.is_caught_up and not self._is_there.is_set():
                # What a new mirror has until now is history: nobody is to be alarmed by it.
                mirror.write()
                self._is_there.set()
            self.recording.runs()
            mirror.replaced.clear()
            progress = self.progress
            progress.answered_at = time.time()
            progress.records = before + mirror.records
            progress.end_offset, progress.confirmed_end = mirror.end_offset, mirror.confirmed_end
            progress.high_watermark = mirror.high_watermark

    def _taken(self, rows: Sequence[Envelope]) -> None:
        self.progress.last_record_at = rows[-1].timestamp / 1_000

    def _gap_begun(self, last: EarlierPart) -> None:
        self._write(_gap_line(self.settings.name, last))

    # Checking

    async def _check(self) -> None:
        settings = self.settings
        if settings.checks is None:
            await asyncio.Event().wait()  # until there are some
        assert settings.checks is not None
        if not state_beside(settings.log).exists():
            await self._is_there.wait()
        file = StateFile(state_beside(settings.log))
        try:
            self.checks = FollowedChecks(
                settings.log, settings.name, settings.checks, file, self._write
            )
            self.checking.runs()
            await self.checks.run()
        finally:
            self.checks = None
            file.close()


class GapFound(msgspec.Struct, frozen=True, kw_only=True):
    """A line of output: after a gap, a mirror continues in a new part."""

    mirror: str
    gap: object
    earlier_part: str


def _gap_line(name: str, last: EarlierPart) -> str:
    found = GapFound(mirror=name, gap=last.gap, earlier_part=last.folder)
    return msgspec.json.encode(found).decode()
