"""A mirror that an import continues: its writer, and the result of the import so far."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Self

from metadata_log.files.names import BACKUP_NOTE
from metadata_log.kraft.frozen import check_not_frozen
from metadata_log.kraft.importer import ImportResult, Replaced, import_result
from metadata_log.reader.log_reader import LogReader
from metadata_log.writer.mirror_writer import MirrorWriter
from records.base import Record
from records.control import NoOpRecord, NoOpRunRecord
from records.envelope import Envelope
from records.errors import RequestError


class ContinuedMirror(ABC):
    """A mirror to which new records of its source are added. Use as a context manager.

    Attributes:
        replaced: Offsets that were cut from the mirror because Kafka had replaced them, oldest
            first.
        source_end: End of the source if it is behind the mirror; else None.
        trailing_bytes: Size of the source's incomplete last batch.
    """

    def __init__(self, log: Path) -> None:
        """Open a mirror to continue it.

        Raises:
            RequestError: `log` is not a mirror, is a backup of one, or is frozen.
            UnavailableError: another process writes to the mirror.
            CorruptLogError: the mirror is damaged at its end.
        """
        _check_no_backup(log)
        check_not_frozen(log)
        self._mirror = MirrorWriter(log)
        self._by_type: Counter[type[Record]] = Counter()
        self._first_offset = self._mirror.end_offset
        self.replaced: list[Replaced] = []
        self.source_end: int | None = None
        self.trailing_bytes = 0

    @abstractmethod
    def _write_rest(self) -> None:
        """Write what was read but not written yet, if the mirror can still be written."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._write_rest()
        finally:
            self._mirror.close()

    @property
    def end_offset(self) -> int:
        """End of the mirror, exclusive; records that are not written yet are not included."""
        return self._mirror.end_offset

    @property
    def confirmed_end(self) -> int:
        """Offset below which the mirror is never replaced; exclusive."""
        return self._mirror.confirmed_end

    @property
    def records(self) -> int:
        """Number of the source's records that were written to the mirror."""
        return self._by_type.total()

    def result(self) -> ImportResult:
        """Return the result of the import so far."""
        return import_result(
            self._by_type,
            first_offset=min(self._first_offset, self.end_offset),
            end_offset=self.end_offset,
            committed_end_offset=self.confirmed_end,
            trailing_bytes=self.trailing_bytes,
            replaced=self.replaced[-1] if self.replaced else None,
            source_end=self.source_end,
        )

    def _append(self, rows: Sequence[Envelope], end_offset: int) -> None:
        self._mirror.append(rows, end_offset)
        for row in rows:
            if isinstance(row.payload, NoOpRunRecord):
                self._by_type[NoOpRecord] += row.payload.count
            else:
                self._by_type[type(row.payload)] += 1

    def _cut(self, offset: int, last_timestamp: int, leader_epoch: int) -> None:
        """Cut the mirror at `offset`, from which Kafka replaced its log in epoch `leader_epoch`."""
        last = self.end_offset - 1
        self._mirror.cut(offset, last_timestamp)
        self._first_offset = min(self._first_offset, offset)
        self.replaced.append(
            Replaced(first_offset=offset, last_offset=last, leader_epoch=leader_epoch)
        )

    def _reader(self) -> LogReader:
        return LogReader.open(self._mirror.directory)


def _check_no_backup(log: Path) -> None:
    if (log / BACKUP_NOTE).exists():
        raise RequestError(
            "LOG_EXISTS",
            f"{log} is a backup, which only `metalog backup` continues; make a mirror of it "
            f"with `metalog restore {log} LOG`, and import into that",
        )
