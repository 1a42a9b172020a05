"""Runs a schedule: the quorum lives, the reader asks, and the mirror is compared with the quorum.

An exact mirror exports the bytes of its batches, and those must be what the quorum committed. No
step waits for a clock, except for the reader's own time limit and for answers that come late but in
time, so a seed gives the same schedule again.
"""

import asyncio
import contextlib
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from api.clients.client import server_addresses
from api.quorum.backoff import BackOff
from api.quorum.observer import Observer
from api.quorum.reading import BehindLogStartError, Reading, begin, begin_next_part
from api.quorum.time_limit import TimeLimit
from api.security.client import ConnectionSecurity
from metadata_log.files.fs import OsFs
from metadata_log.files.names import MANIFEST
from metadata_log.format.parts import Gap, earlier_parts
from metadata_log.kraft.next_part import take_up_part
from metadata_log.kraft.observed_mirror import ObservedMirror
from metadata_log.kraft.segment_export import export_segments
from metadata_log.reader.log_reader import LogReader
from records.errors import UnavailableError
from tests.quorum_schedules.living_quorum import LivingQuorum
from tests.quorum_schedules.operations import MAX_WAIT_MS, Operation

_TIMEOUT_S = 0.1
"""Of an answer; one that is late, or claims to be longer than it is, must not take seconds."""

_GIVE_UP_S = 0.02
_PATIENT_S = 10.0
"""How long a reader looks for a leader: while things fail, and once all failures ended."""

_LAST = Operation("append", 1, 60)


class Violation(Exception):
    """The mirror is not what it must be."""


class _AtOnce(BackOff):
    def next_s(self) -> float:
        super().next_s()
        return 0.001


def run_schedule(seed: int, operations: Sequence[Operation]) -> int:
    """Run a schedule; return the number of gaps in the recording.

    Raises:
        Violation: the reader went wrong.
    """
    folder = Path(tempfile.mkdtemp(prefix="schedule-"))
    try:
        schedule = _Schedule(LivingQuorum(seed, folder), folder)
        asyncio.run(schedule.run(operations))
        return schedule.gaps
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class _Schedule:
    """Attributes: `gaps` counts the times that the reader went on in a new part."""

    def __init__(self, living: LivingQuorum, folder: Path) -> None:
        self.gaps = 0
        self._is_behind = False
        self._give_up_s = _GIVE_UP_S
        self._tries = 0
        self._living = living
        self._log, self._exported = folder / "mirror", folder / "exported"

    async def run(self, operations: Sequence[Operation]) -> None:
        quorum = self._living.quorum
        try:
            left = list(operations)
            while left:
                left = await self._life(left)
                self._check()
            self._check_requests()
            self._living.recover()
            self._give_up_s = _PATIENT_S
            left = [_LAST]
            while left:
                left = await self._life(left)
            self._check_end()
        finally:
            quorum.close()
        self._check_requests()

    def _check_requests(self) -> None:
        if breaches := self._living.quorum.breaches:
            raise Violation(f"requests of no guest: {breaches}")

    async def _life(self, operations: list[Operation]) -> list[Operation]:
        """Let the reader live until it is restarted; return the operations that are left."""
        async with self._observer() as observer:
            index = 0
            while not await self._has_begun(observer):
                if index == len(operations):
                    return []
                self._living.apply(operations[index])
                index += 1
            with ObservedMirror(self._log, collapse_noops=False) as mirror:
                reading = Reading(observer, mirror)
                for number, operation in enumerate(operations[index:], start=index + 1):
                    self._living.apply(operation)
                    if operation.kind == "restart_reader":
                        return operations[number:]
                    wait_ms = MAX_WAIT_MS if operation.kind == "slow_answer" else 0
                    for _ in range(operation.steps):
                        if not await _step(reading, wait_ms):
                            break
                    else:
                        continue
                    break
                else:
                    return []
        self._is_behind = True
        self._check()
        return operations[number:] or [_LAST]

    def _observer(self) -> Observer:
        urls = f"kafka://{self._living.quorum.bootstrap}"
        observer = Observer(
            [(each.host, each.port) for each in server_addresses(urls)],
            cluster_id=self._living.quorum.cluster_id,
            security=ConnectionSecurity,
            give_up_s=self._give_up_s,
            back_off=_AtOnce(),
        )
        observer._limit = TimeLimit(_TIMEOUT_S)
        return observer

    async def _has_begun(self, observer: Observer) -> bool:
        self._take_up()
        with contextlib.suppress(UnavailableError):
            cluster_id = self._living.quorum.cluster_id
            await begin(observer, self._log, cluster_id, lambda done, size: None)
            if self._is_behind and await begin_next_part(
                observer, self._log, lambda done, size: None
            ):
                self._tries += 1
                if self._tries % 2:  # killed before the new part has its name
                    return await self._has_begun(observer)
                self._take_up()
            self._is_behind = False
            return True
        return False

    def _take_up(self) -> None:
        if take_up_part(self._log) is not None:
            self.gaps += 1
            self._is_behind = False

    def _check(self) -> None:
        """Compare what is confirmed."""
        if not (self._log / MANIFEST).exists():
            return
        self._check_parts()
        with LogReader.open(self._log) as reader:
            confirmed = reader.confirmed_end
            if confirmed > self._living.committed_end:
                raise Violation(f"{confirmed} is confirmed, {self._living.committed_end} committed")
            self._compare(reader, confirmed)

    def _check_parts(self) -> None:
        """Compare the earlier parts, and the gaps between them with what the quorum committed."""
        parts = earlier_parts(OsFs(), self._log)
        if len(parts) != self.gaps:
            raise Violation(f"{len(parts)} gaps are listed, there were {self.gaps}")
        folders = [self._log.with_name(part.folder) for part in parts]
        for part, folder, following in zip(parts, folders, [*folders, self._log][1:], strict=True):
            gap = part.gap
            with LogReader.open(folder) as reader, LogReader.open(following) as next_reader:
                bounds = reader.confirmed_end, next_reader.history_start
                if bounds != (gap.from_offset, gap.to_offset):
                    raise Violation(f"{gap} is listed between offsets {bounds}")
                self._compare(reader, gap.from_offset)
            self._check_gap(gap)

    def _check_gap(self, gap: Gap) -> None:
        epochs = {batch.end_offset: batch.epoch for batch in self._living.committed} | {0: 0}
        sides = epochs[gap.from_offset], epochs[gap.to_offset]
        if sides != (gap.from_epoch, gap.to_epoch):
            raise Violation(f"{gap} is not between epochs {sides}")
        if not gap.from_offset < gap.to_offset <= self._living.committed_end:
            raise Violation(f"{gap} is not a gap of what was committed")

    def _check_end(self) -> None:
        """Compare the whole log, after all failures ended."""
        self._check_parts()
        with LogReader.open(self._log) as reader:
            expected = self._living.committed_end
            if (reader.end_offset, reader.confirmed_end) != (expected, expected):
                raise Violation(
                    f"the mirror ends at {reader.end_offset}, is confirmed below "
                    f"{reader.confirmed_end}; the quorum committed all below {expected}"
                )
            self._compare(reader, expected)

    def _compare(self, reader: LogReader, end_offset: int) -> None:
        shutil.rmtree(self._exported, ignore_errors=True)
        start = reader.start_offset
        found = b""
        if end_offset > start:
            export_segments(reader, self._exported, end_offset, progress=lambda offset: None)
            found = b"".join(path.read_bytes() for path in sorted(self._exported.rglob("*.log")))
        batches = self._living.committed
        expected = b"".join(each.data for each in batches if start <= each.base_offset < end_offset)
        if found != expected:
            raise Violation(f"from {start} to {end_offset} are other bytes than in the quorum")


def _show_nothing(done: int, size: int) -> None:
    """Take note of progress."""


async def _step(reading: Reading, max_wait_ms: int) -> bool:
    """Ask once; return False if the quorum no longer has the next record."""
    try:
        await reading.step(max_wait_ms=max_wait_ms)
    except UnavailableError:
        return True
    except BehindLogStartError:
        return False
    return True
