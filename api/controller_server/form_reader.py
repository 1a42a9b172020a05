"""The service's log in Kafka's record format, read in a thread of its own."""

import asyncio
import os
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO, TypeVar

from api.transport.log_limit import limited_logger
from controller.decisions.levels import record_version
from metadata_log.format.segment import SegmentHeader
from metadata_log.reader.log_reader import LogReader
from records.control import LeaderChangeMessage
from records.errors import MetadataLogError, RequestError
from replay.kafka_form.base import FormBase
from replay.kafka_form.segments import write_form_checkpoint
from replay.kafka_form.served_log import Point, Reading, ServedLog

T = TypeVar("T")

log = limited_logger(__name__)


class FormReader:
    """Reads one log for all observers; `begin` starts the reading."""

    def __init__(self, directory: Callable[[], Path]) -> None:
        """Create the reader without reading; `begin` starts.

        Args:
            directory: Returns the log's directory.
        """
        self._directory = directory
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="kafka form")
        self._opening: asyncio.Task[ServedLog] | None = None
        self._reading: ServedLog | None = None
        self._snapshots: dict[Point, asyncio.Task[_SnapshotFile]] = {}
        # The last epoch that was looked up, and its leader's id.
        self._leader = (0, -1)

    def begin(self) -> None:
        """Start to read the log from its start, unless that was already started."""
        is_failed = self._opening is not None and self._opening.done() and self._failure()
        if self._opening is None or is_failed:
            self._opening = asyncio.create_task(self._in_thread(self._opened), name="kafka form")

    def _failure(self) -> bool:
        assert self._opening is not None
        return self._opening.cancelled() or self._opening.exception() is not None

    def _opened(self) -> ServedLog:
        found = self._reading = ServedLog(self._directory())
        found.advance(keep_newest=False)
        return found

    def stop(self) -> None:
        """Stop reading the log, so that the process can end."""
        if self._reading is not None:
            self._reading.stop()

    async def is_ready(self, within_s: float) -> bool:
        """Wait until the log was read; False if that takes longer than `within_s` seconds.

        Raises:
            MetadataLogError: the log cannot be read.
        """
        assert self._opening is not None, "begin comes first"
        await asyncio.wait([self._opening], timeout=within_s)
        if self._opening.done():
            self._opening.result()
        return self._opening.done()

    async def read(self, offset: int, last_epoch: int, end_offset: int, size_max: int) -> Reading:
        """Read from an offset on with `ServedLog.read`; `is_ready` must have returned True."""
        found = self._ready

        def read() -> Reading:
            found.advance(keep_newest=True)
            return found.read(offset, last_epoch, end_offset, size_max)

        return await self._in_thread(read)

    @property
    def start_offset(self) -> int:
        """First offset that can be read; 0 until the log was read once."""
        is_ready = self._opening is not None and self._opening.done() and not self._failure()
        return self._ready.start_offset if is_ready else 0

    @property
    def _ready(self) -> ServedLog:
        assert self._opening is not None
        return self._opening.result()

    async def leader_of(self, leader_epoch: int) -> int:
        """Return the node whose LeaderChangeMessage began an epoch; -1 without such a record."""
        if self._leader[0] != leader_epoch:
            found = await asyncio.to_thread(_leader_of, self._directory(), leader_epoch)
            self._leader = leader_epoch, found
        return self._leader[1]

    async def snapshot_part(
        self, snapshot: Point, position: int, size_max: int
    ) -> tuple[bytes, int]:
        """Return bytes of the base's checkpoint from a position on, and the checkpoint's size.

        Raises:
            RequestError: SNAPSHOT_NOT_FOUND, the log does not start from this snapshot;
                POSITION_OUT_OF_RANGE.
            CorruptLogError: the base is damaged.
            UnavailableError: the base is being replaced.
        """
        base = self._ready.base
        if base is None or snapshot != _point(base):
            raise RequestError("SNAPSHOT_NOT_FOUND", "the log does not start from this snapshot")
        file = await self._file(base)
        if not 0 <= position < file.size:
            raise RequestError(
                "POSITION_OUT_OF_RANGE",
                f"byte {position} is not in the snapshot, which has {file.size} bytes",
            )
        return await asyncio.to_thread(file.read, position, size_max), file.size

    async def _file(self, base: FormBase) -> "_SnapshotFile":
        point = _point(base)
        writing = self._snapshots.get(point)
        if writing is None or (writing.done() and writing.exception() is not None):
            writing = asyncio.create_task(asyncio.to_thread(_SnapshotFile, base))
            self._snapshots = {point: writing}
        return await asyncio.shield(writing)

    async def _in_thread(self, call: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, call)


class _SnapshotFile:
    """The checkpoint of a base, in a temporary file, which is closed with its last reference.

    The same base always gives the same bytes.
    """

    def __init__(self, base: FormBase) -> None:
        with TemporaryDirectory(prefix="metalog-snapshot-") as folder:
            path = Path(folder) / "checkpoint"
            write_form_checkpoint(base, path, record_version)
            self._file: BinaryIO = path.open("rb")
            self.size = path.stat().st_size
        # A thread may still read it when another base has taken its place.
        weakref.finalize(self, self._file.close)

    def read(self, position: int, size_max: int) -> bytes:
        return os.pread(self._file.fileno(), size_max, position)


def _point(base: FormBase) -> Point:
    return Point(base.checkpoint.end_offset, base.checkpoint.leader_epoch)


def _leader_of(directory: Path, leader_epoch: int) -> int:
    try:
        with LogReader.open(directory) as reader:
            start = _start_of(reader, leader_epoch)
            batch = next(reader.batches(start, reader.end_offset), None)
    except MetadataLogError as error:
        log.warning("the leader of epoch %d is not known: %s", leader_epoch, error)
        return -1
    payload = None if batch is None else batch.rows[0].payload
    return payload.leader_id if isinstance(payload, LeaderChangeMessage) else -1


def _start_of(reader: LogReader, leader_epoch: int) -> int:
    """Return the offset of an epoch's first segment; each epoch begins one."""
    start = reader.end_offset
    for path in reversed(reader.segment_paths):
        header: SegmentHeader = reader.header(path)
        if header.leader_epoch < leader_epoch:
            break
        start = header.base_offset
    return start
