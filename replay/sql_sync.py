"""Syncs the SQL history: adds the records of a log that are not in its tables yet.

Each transaction adds the rows of some thousand records and advances the position. The transaction
fails if another process has advanced the position. So every record is in the tables exactly once,
no matter when a process dies.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from sqlalchemy import Connection, insert, update

from metadata_log.format.parts import Gap
from metadata_log.kraft.confirmation import unconfirmed_text
from metadata_log.reader.position import Position
from records.errors import (
    ContradictionError,
    CorruptLogError,
    RequestError,
    UnavailableError,
    UnknownHistoryError,
)
from replay.image.metadata import MetadataImage
from replay.image.provenance import NotUnderstood
from replay.image.rules import RULES_VERSION
from replay.loader import BatchSource
from replay.snapshot.database import shown_url, writing
from replay.snapshot_lifecycle import ConfirmedSource
from replay.sql_history.changes import Run, follow
from replay.sql_history.dead_rows import DeadRows
from replay.sql_history.gaps import FoundAfterGap, write_gap
from replay.sql_history.pending import Pending, remove_unconfirmed
from replay.sql_history.store import HistoryPosition, HistoryStore, read_position
from replay.sql_history.tables import position as position_table
from replay.timeline import Timeline

# More would take more memory (150,000 take 35 MB more than 60,000) and save little time.
_TRANSACTION_ROWS = 150_000


class Synced(msgspec.Struct, frozen=True, kw_only=True):
    """Result of a sync: offsets [from_offset, to_offset) were added.

    `changes` is the number of added records that can change objects, `rows` the number of added
    states by table. `image` is the state at the end, from which the next sync can continue.
    `unconfirmed_to` is the exclusive end of the unconfirmed records after `to_offset`, which the
    next sync replaces; None if none were added.
    """

    from_offset: int
    to_offset: int
    changes: int
    rows: dict[str, int]
    image: MetadataImage
    unconfirmed_to: int | None = None


def sync(
    timeline: Timeline,
    source: ConfirmedSource,
    store: HistoryStore,
    progress: Callable[[int], None] | None = None,
    *,
    image: MetadataImage | None = None,
    until: int | None = None,
    include_unconfirmed: bool = False,
) -> Synced:
    """Add all confirmed records of a log that are not in the tables yet.

    Rows that the previous sync added for unconfirmed records are removed first.

    Args:
        timeline: The timeline of `source`; provides the image to continue from.
        progress: Called with the end offset after each write.
        image: The image in the previous sync's result; saves replaying the log up to the tables'
            end.
        until: Add only records below this offset; None: all.
        include_unconfirmed: Also add, marked, the records that Kafka may still replace.

    Raises:
        RequestError: WRONG_LOG, the tables belong to another log, or to another history of this
            log.
        UnknownHistoryError: the log no longer has the offsets that follow the tables.
        UnavailableError: the database cannot be reached, or another process is syncing too.
        ContradictionError: a record of a mirror contradicts the state before it. All earlier
            records were added.
        CorruptLogError: the log is damaged; the records before the damage were added, except for
            the last few.
    """
    before = check_same_log(source, store, up_to_confirmed=True)
    start = source.history_start if before is None else before.confirmed_proof.end_offset
    end = max(source.confirmed_end if until is None else until, start)
    if image is None or image.provenance.next_offset != start:
        image = timeline.image(start - 1)
    if include_unconfirmed and _is_current(source, before):
        assert before is not None, "it says so"
        return Synced(
            from_offset=start,
            to_offset=start,
            changes=0,
            rows={},
            image=image,
            unconfirmed_to=before.end_offset,
        )
    writer = _Writer(source, store, start, before)
    writer.remove_unconfirmed(image)
    if before is None:
        writer.pending.add_base(image)
    image = _add(source, image, end, writer, progress)
    confirmed_end = writer.written_end
    unconfirmed_to = None
    if include_unconfirmed and confirmed_end < source.end_offset:
        writer.begin_unconfirmed()
        _add(source, image, source.end_offset, writer, progress)
        unconfirmed_to = writer.written_end
    return Synced(
        from_offset=start,
        to_offset=confirmed_end,
        changes=writer.changes,
        rows=dict(sorted(writer.rows.items())),
        image=image,
        unconfirmed_to=unconfirmed_to,
    )


def cross_gap(
    timeline: Timeline,
    source: ConfirmedSource,
    store: HistoryStore,
    gap: Gap,
    found: Sequence[FoundAfterGap],
) -> None:
    """Add a gap at the end of the tables, so that they can be synced with the part after it.

    Args:
        source: The log after the gap; `timeline` is its timeline.
        found: The fields that differ after the gap.

    Raises:
        RequestError: WRONG_LOG, the tables do not end where the gap starts.
        UnavailableError: the database cannot be reached, or another process is syncing too.
        CorruptLogError: the log is damaged.
    """
    before = store.position()
    if before is None or before.end_offset != gap.from_offset:
        raise _wrong_log(
            shown_url(store.engine.url),
            f"the tables end at {0 if before is None else before.end_offset}, and offsets from "
            f"{gap.from_offset} on were not recorded",
        )
    _Writer(source, store, gap.to_offset, before).cross(
        gap, timeline.image(gap.to_offset - 1), found
    )


def _add(
    source: ConfirmedSource,
    image: MetadataImage,
    end: int,
    writer: "_Writer",
    progress: Callable[[int], None] | None,
) -> MetadataImage:
    """Add the records after an image up to `end`, exclusive; return the image at the end."""
    try:
        for run in follow(source, image, end):
            image = run.image
            if writer.add(run) and progress is not None:
                progress(writer.written_end)
    except ContradictionError as error:
        # What is before the record is right; the run that it stands in is made anew up to there.
        if error.record is not None:
            for run in follow(source, image, error.record.offset):
                writer.add(run)
        writer.write()
        raise
    except CorruptLogError:
        writer.write()
        raise
    writer.write()
    return image


def _is_current(source: ConfirmedSource, before: HistoryPosition | None) -> bool:
    """True if the tables end where the log ends, with the same records confirmed."""
    return (
        before is not None
        and before.confirmed_end == source.confirmed_end
        and before.end_offset == source.end_offset
        and not source.position(source.end_offset).contradicts(before.proof)
    )


class _Writer:
    """Buffers runs of consecutive records, and writes several runs in one transaction."""

    def __init__(
        self,
        source: ConfirmedSource,
        store: HistoryStore,
        start: int,
        before: HistoryPosition | None,
    ) -> None:
        self.pending = Pending()
        self.written_end = start
        self.changes = 0
        self.rows: Counter[str] = Counter()
        self._source = source
        self._store = store
        self._dead_rows = DeadRows(store.engine)
        self._start = start
        self._written = before
        self._last: Run | None = None
        # Set while records are added that Kafka may still replace.
        self._confirmed: Position | None = None

    def remove_unconfirmed(self, image: MetadataImage) -> None:
        """Remove the rows of unconfirmed records; `image` is the state at the confirmed end."""
        if self._written is None or self._written.confirmed_end is None:
            return
        end = self._written.confirmed_end
        position = self._position(end, image.provenance.not_understood)
        with writing(self._store.engine) as connection:
            self._move(connection, position)
            remove_unconfirmed(connection, end)
        self._written = position

    def begin_unconfirmed(self) -> None:
        """Mark all rows added from now on as unconfirmed."""
        self._confirmed = self._source.position(self.written_end)
        self.pending = Pending(confirmed=False)

    def add(self, run: Run) -> bool:
        """Buffer a run; return True if this caused the buffered runs to be written."""
        self.pending.add(run)
        self._last = run
        if self.pending.length < _TRANSACTION_ROWS:
            return False
        self.write()
        return True

    def write(self) -> None:
        """Write the buffered runs."""
        last = self._last
        if last is None:
            return
        position = self._position(last.end_offset, last.image.provenance.not_understood)
        with writing(self._store.engine) as connection:
            self._move(connection, position)
            self.pending.write(connection)
        self._written, self._last = position, None
        self.written_end = position.end_offset
        self.changes += len(self.pending.changes)
        self.rows.update(self.pending.counts)
        self._dead_rows.count(self.pending.replaced, self.pending.counts)
        self.pending = Pending(confirmed=self._confirmed is None)

    def cross(self, gap: Gap, image: MetadataImage, found: Sequence[FoundAfterGap]) -> None:
        """Write a gap, and the state after it."""
        self.pending.add_base(image)
        position = msgspec.structs.replace(
            self._position(gap.to_offset, image.provenance.not_understood), end_time=gap.to_time
        )
        with writing(self._store.engine) as connection:
            self._move(connection, position)
            write_gap(connection, gap, found)
            self.pending.write(connection)

    def _move(self, connection: Connection, to: HistoryPosition) -> None:
        if read_position(connection) != self._written:
            raise UnavailableError(
                f"{shown_url(self._store.engine.url)}: another process is syncing this database; "
                "try again when that process has ended"
            )
        values = {"id": 1, **msgspec.structs.asdict(to)}
        if self._written is None:
            connection.execute(insert(position_table), values)
        else:
            connection.execute(update(position_table), values)

    def _position(self, end_offset: int, not_understood: NotUnderstood | None) -> HistoryPosition:
        covers = range(max(self._source.history_start, end_offset - 1), end_offset)
        batches = self._source.batches(covers.start, end_offset) if covers else ()
        last = next(iter(batches), None)
        proof = self._source.position(end_offset)
        start = self._start if self._written is None else self._written.start_offset
        return HistoryPosition(
            cluster_id=proof.cluster_id,
            start_offset=start,
            end_offset=end_offset,
            leader_epoch=proof.leader_epoch,
            last_crc32c=proof.last_crc32c,
            rules=RULES_VERSION,
            not_understood=0 if not_understood is None else not_understood.records,
            not_understood_from=None if not_understood is None else not_understood.first_offset,
            end_time=None if last is None else last.times_at(end_offset - 1)[0],
            **({} if self._confirmed is None else _confirmed_columns(self._confirmed)),
        )


def _confirmed_columns(position: Position) -> dict[str, Any]:
    return {
        "confirmed_end": position.end_offset,
        "confirmed_leader_epoch": position.leader_epoch,
        "confirmed_last_crc32c": position.last_crc32c,
    }


def check_same_log(
    source: BatchSource, store: HistoryStore, *, up_to_confirmed: bool = False
) -> HistoryPosition | None:
    """Check that the tables belong to this log; return their position, None if they are empty.

    Args:
        up_to_confirmed: Compare only confirmed records: the log may have replaced the others.

    Raises:
        RequestError, UnknownHistoryError, UnavailableError: as for `sync`.
    """
    found, where = store.position(), shown_url(store.engine.url)
    if found is None:
        return None
    here = source.position(source.history_start)
    if here.cluster_id != found.cluster_id:
        raise _wrong_log(
            where,
            f"the tables are of cluster {found.cluster_id}, but the log is of {here.cluster_id}",
        )
    proof = found.confirmed_proof if up_to_confirmed else found.proof
    end = proof.end_offset
    if end > source.end_offset:
        raise _wrong_log(where, f"the tables go up to {end}, the log only to {source.end_offset}")
    if end < source.history_start:
        raise UnknownHistoryError(
            f"{where}: the tables end at {end}, and the log starts at "
            f"{source.history_start}: the records in between are no longer kept; sync into a new "
            "database"
        )
    if source.position(end).contradicts(proof):
        raise _wrong_log(where, f"below offset {end}, the log has another history than the tables")
    return found


def check_confirmed(source: ConfirmedSource, found: HistoryPosition | None, at: int) -> None:
    """Check that offset `at` is confirmed, so that the tables of a mirror can include it.

    Args:
        found: The position of the tables. They may include unconfirmed records.
        at: The offset.

    Raises:
        RequestError: OFFSET_OUT_OF_RANGE, the tables do not include the record, because Kafka may
            still replace it.
    """
    if found is not None and found.confirmed_end is not None and at < found.end_offset:
        return
    if source.confirmed_end <= at < source.end_offset:
        raise RequestError(
            "OFFSET_OUT_OF_RANGE",
            f"offset {at} is not in the tables: "
            f"{unconfirmed_text(source.confirmed_end, source.end_offset)}; ask without the tables "
            f"(`--by replay`), or for an offset below {source.confirmed_end}",
        )


def _wrong_log(where: str, why: str) -> RequestError:
    return RequestError("WRONG_LOG", f"{where}: {why}; sync into another database")
