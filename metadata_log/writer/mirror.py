"""A new mirror of a Kafka cluster's log: offsets, epochs and times are Kafka's.

The mirror is built beside its destination and renamed when complete, so a failed import leaves
nothing.
"""

import os
import shutil
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Self

import msgspec

from metadata_log.files.file_publish import SoleOwner
from metadata_log.files.fs import Fs, OsFs, write_whole
from metadata_log.files.lock import lock_directory
from metadata_log.files.names import LOCK
from metadata_log.format.checkpoint import CheckpointRecord, write_checkpoint
from metadata_log.format.manifest import Kind, Manifest, write_manifest
from metadata_log.format.tail import EMPTY_TAIL
from metadata_log.limits import BLOCK_DECODED_BYTES_MAX
from metadata_log.writer.log_writer import LogWriter, create_mark
from records.envelope import Envelope
from records.errors import RequestError, UnavailableError

_IMPORTING = ".importing-"
"""Part of an unfinished mirror's temporary name, between its final name and the process id."""


class MirrorBuilder:
    """Writes one mirror. Use as a context manager, and call `finish` at the end."""

    def __init__(self, directory: Path | str, cluster_id: str, *, fs: Fs | None = None) -> None:
        """Start a mirror that will appear at `directory`.

        Raises:
            RequestError: `directory` exists already.
        """
        self._fs = fs or OsFs()
        self._target = Path(directory).absolute()
        if os.path.lexists(self._target):
            raise RequestError("LOG_EXISTS", f"{directory} exists already; name a new directory")
        self._cluster_id = cluster_id
        remove_abandoned(self._fs, self._target)
        self._directory = self._target.with_name(f"{self._target.name}{_IMPORTING}{os.getpid()}")
        self._fs.make_directory(self._directory)
        self._lock = lock_directory(self._fs, self._directory)
        create_mark(self._fs, self._directory)
        self._tail = EMPTY_TAIL
        self._writer: LogWriter | None = None
        self._finished = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if not self._finished:
            if self._writer is not None:
                self._writer.abandon()
            shutil.rmtree(self._directory, ignore_errors=True)
        self._lock.release()

    def write_base(
        self,
        records: Iterable[CheckpointRecord],
        *,
        end_offset: int,
        leader_epoch: int,
        timestamp: int,
    ) -> None:
        """Write the checkpoint that the log starts from; call it before the first `append`."""
        base = write_checkpoint(
            self._fs,
            self._directory,
            records,
            cluster_id=self._cluster_id,
            end_offset=end_offset,
            leader_epoch=leader_epoch,
            timestamp=timestamp,
        )
        self._tail = msgspec.structs.replace(
            self._tail,
            end_offset=end_offset,
            segment_offset=end_offset,
            leader_epoch=leader_epoch,
            previous_length=base.size,
            last_crc32c=base.last_crc32c,
        )

    def write_file(self, name: str, content: bytes) -> None:
        """Write a small file of the mirror; the file becomes visible together with the mirror."""
        write_whole(self._fs, self._directory / name, content)

    def append(self, rows: Sequence[Envelope], end_offset: int) -> None:
        """Write whole Kafka batches, all of one epoch, as one block."""
        if self._writer is None:
            self._writer = self._start(rows[0].offset, rows[0].leader_epoch)
        elif self._writer.needs_segment:
            self._writer.start_segment(rows[0].leader_epoch, continues_source=True)
        self._writer.add_block(list(rows), end_offset)

    def start_segment(self, leader_epoch: int) -> None:
        """Start a new segment, because the source does; the next block has epoch `leader_epoch`."""
        if self._writer is not None:
            self._writer.start_segment(leader_epoch)

    def finish(self, confirmed_end: int) -> None:
        """Sync everything and rename the log into place."""
        writer = self._writer or self._start(self._tail.end_offset, self._tail.leader_epoch)
        writer.confirmed_end = confirmed_end
        writer.close()
        manifest = Manifest(cluster_id=self._cluster_id, kind=Kind.MIRROR)
        write_manifest(self._fs, self._directory, manifest)
        # Its next writer locks a file of its own. This one stays locked until nobody can find it.
        self._fs.unlink(self._directory / LOCK)
        self._fs.rename(self._directory, self._target)
        self._fs.sync_directory(self._target.parent)
        self._finished = True

    def _start(self, start_offset: int, leader_epoch: int) -> LogWriter:
        tail = msgspec.structs.replace(
            self._tail, end_offset=start_offset, segment_offset=start_offset
        )
        writer = LogWriter(
            self._fs,
            self._directory,
            self._cluster_id,
            tail,
            SoleOwner(),
            batch_size_bytes_max=BLOCK_DECODED_BYTES_MAX,
            holds_batches=True,
        )
        try:
            writer.start_segment(leader_epoch)
        except BaseException:
            writer.abandon()
            raise
        return writer


def remove_abandoned(fs: Fs, target: Path) -> None:
    """Remove the leftovers of imports whose processes were killed.

    A leftover, whose name has the process id of its import, is removed only if no process on this
    machine has that id and the leftover's lock is free. A process on another machine that shares
    the folder may hold the lock.
    """
    start = f"{target.name}{_IMPORTING}"
    for name in fs.list(target.parent) if fs.exists(target.parent) else ():
        process = name.removeprefix(start)
        directory = target.with_name(name)
        is_left = name.startswith(start) and process.isdigit() and not _is_running(int(process))
        if not is_left or not fs.exists(directory / LOCK):
            continue
        with suppress(UnavailableError):
            lock = lock_directory(fs, directory)
            shutil.rmtree(directory, ignore_errors=True)
            lock.release()


def _is_running(process: int) -> bool:
    """True if a process other than this one has this id.

    This process is excluded because the first process of every container has id 1.
    """
    if process == os.getpid():
        return False
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True
