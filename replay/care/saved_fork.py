"""Saves a what-if fork as a writable log: the rows decided anew after the fork point, and notes."""

import asyncio
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import attrgetter
from pathlib import Path

from metadata_log.files.fs import OsFs
from metadata_log.reader.log_reader import LogReader
from metadata_log.writer.creation import create_log_of
from records.control import NoOpRunRecord, NoteRecord
from records.envelope import Envelope
from records.errors import CorruptLogError, RequestError
from records.registry import newest_version
from replay.care.fork import fork_log
from replay.care.saved_rows import save
from replay.image.digest import image_digest
from replay.image.metadata import MetadataImage
from replay.loader import load_image
from replay.time_travel.contradictions import explained

_AUTHOR = "what-if"


class ForkRows:
    """Collects the rows of a fork, as batches, and notes about the changes.

    The fork begins at offset `start`, where the saved log has an additional epoch record; the rows
    follow it without gaps. So, up to the first change, each row has an offset one higher than in
    the original log.
    """

    def __init__(self, start: int) -> None:
        self.start = start
        self.units: list[tuple[Envelope, ...]] = []
        self._notes: list[tuple[int, str]] = []
        self._end = start + 1

    @property
    def end(self) -> int:
        """The offset after the last row."""
        return self._end

    def add(self, rows: Sequence[Envelope], changes: Iterable[str] = ()) -> None:
        """Add the rows of a decision, and descriptions of the changes in them."""
        self._notes += [(self._end, text) for text in changes]
        # An own log holds no runs of NoOps, which only save room.
        kept = [row for row in rows if not isinstance(row.payload, NoOpRunRecord)]
        for _, unit in groupby(kept, key=attrgetter("batch_offset")):
            self.units.append(tuple(unit))
        self._end += len(kept)

    def notes(self, about: str) -> Iterator[NoteRecord]:
        """Yield the notes: one about the whole fork, at its start, and one for each change."""
        last = self._end - 1
        for offset, text in ((self.start, about), *self._notes):
            yield NoteRecord(at_offset=min(offset, last), author=_AUTHOR, text=text)


def save_fork(
    reader: LogReader, target: Path, found: ForkRows, image: MetadataImage, about: str
) -> None:
    """Write a new log: another log's state before the fork, the fork's rows, and the fork's notes.

    The new log is writable, not a mirror. It appears at `target` only when it is complete. The
    other log is only read.

    Args:
        image: The image at the fork's end; replaying the new log must give the same image.
        about: Text of the note about the whole fork, such as its origin.

    Raises:
        RequestError: LOG_EXISTS, `target` exists.
        CorruptLogError: the log is damaged, or the new log gives another image.
        UnavailableError: the disk is full.
    """
    check_new(target)
    folder = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}."))
    try:
        made = folder / "log"
        if found.start == 0:
            create_log_of(OsFs(), made, reader.cluster_id)
        else:
            fork_log(reader, made, found.start - 1, progress=lambda offset: None)
        asyncio.run(save(made, [*found.units, _note_rows(found.notes(about), image)]))
        _check(made, found.end - 1, image)
        check_new(target)
        os.rename(made, target)
    finally:
        shutil.rmtree(folder)


def check_new(target: Path) -> None:
    """Check that nothing exists at the path of a new log.

    Raises:
        RequestError: LOG_EXISTS, the path exists.
    """
    if os.path.lexists(target):
        raise RequestError("LOG_EXISTS", f"{target} exists already; name a new directory")


def _check(made: Path, at: int, image: MetadataImage) -> None:
    with LogReader.open(made) as reader, explained(reader):
        found, expected = image_digest(load_image(reader, at)), image_digest(image)
    if found != expected:
        raise CorruptLogError(f"the saved log has digest {found}, but the fork has {expected}")


def _note_rows(notes: Iterable[NoteRecord], image: MetadataImage) -> list[Envelope]:
    """Return notes as rows, with the epoch and time of the fork's end."""
    where = image.provenance
    return [
        Envelope(
            offset=0,
            leader_epoch=where.leader_epoch,
            timestamp=where.timestamp or 0,
            batch_offset=0,
            record_version=newest_version(NoteRecord),
            payload=note,
        )
        for note in notes
    ]
