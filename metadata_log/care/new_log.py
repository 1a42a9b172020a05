"""Builds a log directory under a temporary name, and renames it when complete."""

import contextlib
import os
import shutil
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Self

from metadata_log.care.backup import mark_file
from metadata_log.files.fs import ByteStore, Fs, write_whole
from metadata_log.files.lock import lock_directory
from metadata_log.files.names import COMMIT_MARK, LOCK, MIRROR_FILES, claim_name
from metadata_log.format.commit_mark import CommitMark
from metadata_log.format.manifest import Kind, Manifest, write_manifest
from metadata_log.reader.log_reader import LogReader
from metadata_log.stores.checked_read import CheckedRead, file_size
from records.errors import RequestError


class NewLog:
    """Builds one log. Use as a context manager, and call `publish` at the end.

    Attributes:
        directory: Directory of the files until `publish`: the target's name with `.unfinished`.
    """

    def __init__(self, target: Path, fs: Fs) -> None:
        """Start a log that will appear at `target`; remove the leftovers of an interrupted run.

        Raises:
            RequestError: `target` exists already.
            UnavailableError: another process is building the same log.
        """
        self.fs = fs
        # Follow a symbolic link: the log appears at its target.
        self._target = Path(os.path.realpath(target))
        if fs.exists(self._target) and not _is_empty_directory(fs, self._target):
            raise RequestError("LOG_EXISTS", f"{target} exists already; name a new directory")
        self.directory = self._target.with_name(f"{self._target.name}.unfinished")
        with contextlib.suppress(FileExistsError):
            fs.make_directory(self.directory)
        self._lock = lock_directory(fs, self.directory)
        self._published = False

    def __enter__(self) -> Self:
        try:
            for name in self.fs.list(self.directory):
                if name != LOCK:
                    self.fs.unlink(self.directory / name)
        except BaseException:
            self._lock.release()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._lock.release()
        if not self._published:
            shutil.rmtree(self.directory, ignore_errors=True)

    def add(self, name: str, chunks: Iterable[bytes]) -> None:
        """Write a file and sync it."""
        file = self.fs.open(self.directory / name, create=True)
        try:
            position = 0
            for chunk in chunks:
                file.pwrite(chunk, position)
                position += len(chunk)
            file.sync()
        finally:
            file.close()

    def add_mirror_files(
        self, fs: ByteStore, directory: Path, names: Sequence[str] = MIRROR_FILES
    ) -> None:
        """Copy those small files of a mirror that exist in `directory`."""
        for name in names:
            path = directory / name
            if fs.exists(path):
                self.add(name, CheckedRead(fs, path, file_size(fs, path)))

    def publish(
        self,
        manifest: Manifest,
        mark: CommitMark,
        claimed_epoch: int,
        check: Callable[[LogReader], object],
    ) -> None:
        """Finish the log, run `check` on it, and rename it into place.

        Args:
            claimed_epoch: Highest epoch claimed so far; the next writer of the log claims a higher
                one.
            check: Raises an error if the log is not usable; then nothing appears at the target.
        """
        write_whole(self.fs, self.directory / COMMIT_MARK, mark_file(mark))
        if manifest.kind is Kind.OWN:
            write_whole(self.fs, self.directory / claim_name(claimed_epoch), b"")
        write_manifest(self.fs, self.directory, manifest)
        self.fs.sync_directory(self.directory)
        with LogReader.open(self.directory, fs=self.fs) as reader:
            check(reader)
        self.fs.rename(self.directory, self._target)
        self._published = True
        self.fs.sync_directory(self._target.parent)


def _is_empty_directory(fs: Fs, path: Path) -> bool:
    try:
        return not fs.list(path)
    except NotADirectoryError:
        return False
