"""Answers questions from the SQL history that would otherwise take a pass over the log.

The tables give only the offsets of the records that changed an object; the records themselves are
read from the log. The exception are the beginnings of outages, which may be anywhere in the log:
these are read from the states in the tables. Tables that cannot be read, or belong to another
release or log, are ignored, with a warning.
"""

import logging
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Collection
from contextlib import AbstractContextManager

from metadata_log.reader.log_reader import LogReader
from metadata_log.reader.position import Position
from records.base import Uuid
from records.envelope import Envelope
from records.errors import CorruptLogError, RequestError, UnavailableError
from replay.loader import BatchSource
from replay.snapshot.revision import HISTORY_REVISION, HISTORY_VERSION_TABLE
from replay.sql_history.made_under import check_rules
from replay.sql_history.record_offsets import FINDERS, Ask, RecordOffsets
from replay.time_travel.change_index import FoundChanges
from replay.time_travel.objects import ObjectName

UNUSABLE = (sqlite3.Error, OSError, RequestError, CorruptLogError, UnavailableError)
"""Errors after which the answer is computed from the log instead of the tables."""

_LOG = logging.getLogger(__name__)

# Reading one record at a place costs as much as searching about so many.
_RECORDS_PER_SEEK = 2_000


class HistoryIndex(ABC):
    """The SQL history of a log, which may be missing.

    Attributes:
        where: The database, for warnings.
    """

    def __init__(self, where: str, source: BatchSource) -> None:
        self.where = where
        self._source = source
        # The last position that was compared with the log.
        self._proven: Position | None = None

    @abstractmethod
    def exists(self) -> bool:
        """True if the database may exist; reading it may still fail."""

    @abstractmethod
    def reading(self) -> AbstractContextManager[Ask]:
        """Return a context in which queries read the tables in one transaction.

        Raises:
            Any of UNUSABLE: the tables cannot be read.
        """

    def end_offset(self) -> int | None:
        """Return the tables' end offset, exclusive; None, with a warning, if they are unusable."""
        try:
            with self.reading() as ask:
                return self._check(ask)
        except UNUSABLE as error:
            self._pass_over(error)
            return None

    def changes_of(
        self, name: ObjectName, ids: Collection[Uuid], end_offset: int
    ) -> FoundChanges | None:
        """Return the offsets of the records that changed an object, read from the tables.

        Returns None if the tables are unusable.

        Args:
            ids: Ids of topics and namespaces that the name is known to mean.
            end_offset: Only records below this offset are needed.
        """
        find = FINDERS.get(name.kind.name)
        if find is None or not self.exists():
            return None
        start = self._source.history_start
        try:
            with self.reading() as ask:
                end = min(self._check(ask), end_offset)
                limit = max(end - start, 0) // _RECORDS_PER_SEEK
                tables = RecordOffsets(ask, end, limit)
                find(tables, name, ids)
        except UNUSABLE as error:
            self._pass_over(error)
            return None
        except (ValueError, OverflowError):
            # No object can have this name; reading the log says so.
            return None
        offsets = sorted(each for each in tables.offsets if each >= start)
        if tables.is_unsure or len(offsets) > limit:
            return None
        return FoundChanges(offsets, max(end, start))

    def outage_beginnings(
        self, at: int, down: Collection[tuple[Uuid, int]], assumed_min_isr: int | None
    ) -> list[Envelope] | None:
        """Return the states that led to the outages that were in progress just before offset `at`.

        Returns None if the tables end before `at`, do not determine the states, or are unusable.
        """
        if not self.exists():
            return None
        # What it needs takes time to import.
        from replay.sql_history.outage_beginnings import outage_beginnings

        start = self._source.history_start
        try:
            with self.reading() as ask:
                if self._check(ask) < at:
                    return None
                return outage_beginnings(ask, start, at, down, assumed_min_isr)
        except (*UNUSABLE, ValueError) as error:
            self._pass_over(error)
            return None

    def _pass_over(self, error: Exception) -> None:
        if isinstance(error, RequestError) and error.code == "HISTORY_NOT_FOUND":
            return
        _LOG.warning("SQL history in %s passed over: %s", self.where, error)

    def _check(self, ask: Ask) -> int:
        """Check that the tables are usable and belong to this log; return their end offset.

        Raises:
            RequestError: the tables are of another release, of other replay rules, or of another
                log.
        """
        (rules,) = next(iter(ask("SELECT rules FROM history_position", {})), (None,))
        check_rules(rules)
        query = f"SELECT version_num FROM {HISTORY_VERSION_TABLE}"
        (revision,) = next(iter(ask(query, {})), ("",))
        if revision != HISTORY_REVISION:
            raise RequestError(
                "UNSUPPORTED_VERSION",
                f"the schema is at revision {revision or 'none'}, this release reads "
                f"{HISTORY_REVISION}",
            )
        query = (
            "SELECT cluster_id, start_offset, end_offset, leader_epoch, last_crc32c "
            "FROM history_position"
        )
        found = next(iter(ask(query, {})), None)
        if found is None:
            raise RequestError("HISTORY_NOT_FOUND", "the tables are empty; run `metalog sql sync`")
        cluster_id, start, end, epoch, crc = found
        stored = Position(
            cluster_id=cluster_id, end_offset=end, leader_epoch=epoch, last_crc32c=crc
        )
        if stored != self._proven:
            self._prove(start, stored)
        return int(end)

    def _prove(self, start: int, stored: Position) -> None:
        source = self._source
        directory = source.local_directory if isinstance(source, LogReader) else None
        if directory is not None and source.end_offset < stored.end_offset:
            # A log that grows may have reached the end of the tables after it was opened.
            with LogReader.open(directory) as newer:
                _compare(newer, start, stored)
        else:
            _compare(source, start, stored)
        self._proven = stored


def _compare(source: BatchSource, start: int, stored: Position) -> None:
    if not start <= source.history_start <= stored.end_offset <= source.end_offset:
        raise RequestError(
            "WRONG_LOG",
            f"the SQL history is of offsets {start} to {stored.end_offset}, the log has "
            f"{source.history_start} to {source.end_offset} (exclusive); choose the log's own "
            "database, or make a new one with `metalog sql sync`",
        )
    if source.position(stored.end_offset).contradicts(stored):
        raise RequestError(
            "WRONG_LOG",
            "the SQL history is of another log; choose the log's own database, or make a new one "
            "with `metalog sql sync`",
        )
