"""Timeline: the states and changes of a log at any offset.

It combines a log with its snapshots and its SQL history. Both only save time: the answers are the
same as those of a replay from the log's start.
"""

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Self

from records.control import NoteRecord
from records.errors import ContradictionError, CorruptLogError
from replay.image.metadata import MetadataImage
from replay.loader import BatchSource, check_point
from replay.log_images import LogImages, Progress, StoredLog, snapshots_beside
from replay.snapshot.ports import Snapshots
from replay.time_travel.change_index import HISTORY_NAME, ChangeIndex
from replay.time_travel.contradictions import explained

# Most uses need few of the modules that answer, so each method imports its own.
if TYPE_CHECKING:
    from replay.expressions.bisect import Flips
    from replay.expressions.expression import Expression
    from replay.incidents.event import TimelineEvent
    from replay.incidents.moved_leads import PartitionKey
    from replay.incidents.outage import Outages
    from replay.incidents.overview import OverviewReader
    from replay.incidents.reassigned import ReplicasSince
    from replay.incidents.why import Chain
    from replay.time_travel.asked_for import AskedFor
    from replay.time_travel.changes import Change, EffectiveChange
    from replay.time_travel.history import LastSet
    from replay.time_travel.object_events import Event
    from replay.time_travel.objects import ObjectName


class Timeline(LogImages):
    """The states and changes of one log."""

    def __init__(
        self,
        source: BatchSource,
        snapshots: Snapshots | None = None,
        index: ChangeIndex | None = None,
    ) -> None:
        """Use a log, its snapshots and a change index; without them, only the log is read."""
        super().__init__(source, snapshots)
        self._index = index

    @classmethod
    def of(cls, log: StoredLog, index: ChangeIndex | None = None) -> Self:
        """Return a log's timeline, with any snapshots and SQL history in the log's directory.

        Args:
            index: Used instead of the SQL history in the directory.
        """
        return cls(log, snapshots_beside(log), index or index_beside(log))

    def changes(self, from_offset: int, to_offset: int) -> "Iterator[EffectiveChange]":
        """Yield every field that a record in [from_offset, to_offset) changed, in order of effect.

        Changes in a transaction are yielded when the transaction ends or is aborted; not at all if
        it is still open at `to_offset`.

        Raises:
            UnknownHistoryError, RequestError, CorruptLogError: as for `image`.
        """
        from replay.time_travel.changes import effective_changes

        with explained(self.source):
            yield from effective_changes(self.source, from_offset, to_offset, self.image)

    def outages(
        self,
        from_offset: int,
        to_offset: int,
        *,
        until_ms: int | None = None,
        assumed_min_isr: int | None = None,
        progress: Progress | None = None,
    ) -> "Outages":
        """Return the outages of brokers and partitions that overlap [from_offset, to_offset)."""
        from replay.incidents.outages import find_outages

        return find_outages(
            self.source,
            to_offset,
            from_offset=from_offset,
            until_ms=until_ms,
            assumed_min_isr=assumed_min_isr,
            progress=progress,
            newest=self.newest_snapshot,
            index=self._index,
        )

    def overview_reader(self, from_offset: int, to_offset: int) -> "OverviewReader":
        """Return a reader that collects the facts for a summary of [from_offset, to_offset).

        Raises:
            UnknownHistoryError, RequestError, CorruptLogError: as for `image`.
        """
        from replay.incidents.overview import OverviewReader

        with explained(self.source):
            return OverviewReader(
                self.source, to_offset, from_offset, self.newest_snapshot, self._index
            )

    def events(
        self,
        from_offset: int,
        to_offset: int,
        progress: Progress | None = None,
        *,
        until_ms: int | None = None,
    ) -> "list[TimelineEvent]":
        """Return the timeline's events in [from_offset, to_offset).

        Notes about these offsets are included, even if they were written later.

        Args:
            until_ms: Time up to which the last controller's term is counted, ms since 1970; the
                time of the range's last record if that is later or `until_ms` is None.
        """
        from replay.incidents.events import timeline_events
        from replay.incidents.pinned_notes import with_notes

        source, written = self.source, list[NoteRecord]()
        events = timeline_events(
            source, from_offset, to_offset, self.image, progress, written.append, until_ms
        )
        # Of a whole log all notes were in the range.
        is_whole = from_offset <= 0 and source.base is None and to_offset == source.end_offset
        notes = list(dict.fromkeys(written)) if is_whole else self.notes_about(to_offset)
        return with_notes(events, notes, self.source, from_offset, to_offset)

    def notes_about(self, to_offset: int) -> list[NoteRecord]:
        """Return the notes about offsets below `to_offset`, even if they were written later.

        If the log is damaged after `to_offset`, only the notes written below `to_offset` are
        returned.

        Raises:
            UnknownHistoryError, RequestError, CorruptLogError: as for `image`.
        """
        try:
            notes = self.notes(self.source.end_offset - 1)
        except (ContradictionError, CorruptLogError):
            notes = self.notes(to_offset - 1)  # the range itself is whole
        return [note for note in notes if note.at_offset < to_offset]

    def notes(self, at: int, progress: Progress | None = None) -> list[NoteRecord]:
        """Return the notes that were written up to offset `at`, oldest first.

        Raises:
            UnknownHistoryError, RequestError, CorruptLogError: as for `image`.
        """
        from replay.time_travel.skim import notes_until

        return notes_until(self.source, at + 1, progress, self._index)

    def flips(
        self,
        expression: "Expression",
        from_offset: int,
        to_offset: int,
        progress: Progress | None = None,
    ) -> "Flips":
        """Return every change of an expression's value in [from_offset, to_offset)."""
        from replay.expressions.bisect import find_flips

        start = self.image(from_offset - 1, progress=progress)
        return find_flips(self.source, expression, start, to_offset, progress=progress)

    def only_flip(
        self,
        expression: "Expression",
        from_offset: int,
        to_offset: int,
        progress: Progress | None = None,
    ) -> "Flips":
        """Return the flip of an expression that flips at most once in [from_offset, to_offset)."""
        from replay.expressions.bisect import find_only_flip

        # `image` looks whether a snapshot is of this log: for the few that are asked for.
        ends = self._snapshot_ends()
        return find_only_flip(
            self.source, expression, self.image, ends, from_offset, to_offset, progress
        )

    def why(self, name: "ObjectName", at: int, progress: Progress | None = None) -> "Chain":
        """Return the chain of causes of a partition's leader and ISR, or of a broker's state.

        Raises:
            RequestError: the object is absent at `at`; the code tells whether it ever existed.
            CorruptLogError: the log is damaged.
        """
        from replay.incidents.why import why_broker, why_partition

        check_point(self.source, at)
        of = why_broker if name.kind.name == "broker" else why_partition
        return of(self.source, name, at, progress, self._index, self.newest_snapshot)

    def replicas_since(
        self,
        partitions: "Collection[PartitionKey]",
        brokers: Collection[int],
        at: int,
        progress: Progress | None = None,
    ) -> "ReplicasSince":
        """Return the records that began current reassignments and set brokers' states, as of `at`.

        Covers the given partitions and brokers.

        Raises:
            CorruptLogError: the log is damaged.
        """
        from replay.incidents.reassigned import replicas_since

        check_point(self.source, at)
        return replicas_since(self.source, partitions, brokers, at, progress)

    def diff(
        self,
        before: int,
        after: int,
        only: "ObjectName | None" = None,
        *,
        progress: Progress | None = None,
        by_name: bool = False,
    ) -> "list[Change]":
        """Return every field that differs between two offsets, which may be in either order.

        Args:
            by_name: A moved object counts as a different one; else it is compared with itself.

        Raises:
            UnknownHistoryError, RequestError, CorruptLogError: as for `image`; also the error of
            `absence` if `only` is absent at both offsets.
        """
        from replay.time_travel.changes import field_changes
        from replay.time_travel.diff import diff_images
        from replay.time_travel.diff_by_name import diff_by_name
        from replay.time_travel.history import absence, fields_of_two
        from replay.time_travel.skim import can_skim

        if not by_name and only is not None and can_skim(self.source, only):
            old_fields, new_fields = fields_of_two(
                self.source, only, before, after, self._index, self._past
            )
            if not old_fields and not new_fields:
                raise absence(self.source, only, max(before, after), self._index)
            return field_changes(only.object, old_fields, new_fields)
        old, new = self.images_at(before, after, progress)
        if only is not None and not only.fields(old) and not only.fields(new):
            raise absence(self.source, only, max(before, after), self._index)
        return diff_by_name(old, new, only) if by_name else diff_images(old, new, only)

    def images_at(
        self, before: int, after: int, progress: Progress | None = None
    ) -> tuple[MetadataImage, MetadataImage]:
        """Return the images at two offsets; they share everything that did not change."""
        earlier, later = sorted((before, after))
        old = self.image(earlier, progress=progress)
        new = self.image(later, start=old)
        return (old, new) if before <= after else (new, old)

    def history(
        self,
        name: "ObjectName",
        end_offset: int | None = None,
        progress: Progress | None = None,
        *,
        from_offset: int | None = None,
    ) -> "Iterator[Event]":
        """Yield the records that changed an object, oldest first."""
        from replay.time_travel.history import history

        return history(
            self.source,
            name,
            end_offset,
            progress,
            from_offset=from_offset,
            index=self._index,
            past=self._past,
        )

    def change_after(
        self, name: "ObjectName", offset: int, progress: Progress | None = None
    ) -> "Event | None":
        """Return the first change of an object after an offset, None if there is none."""
        from replay.time_travel.history import change_after

        return change_after(self.source, name, offset, progress, index=self._index, past=self._past)

    def change_before(
        self, name: "ObjectName", offset: int, progress: Progress | None = None
    ) -> "Event | None":
        """Return the last change of an object before an offset, None if there is none."""
        from replay.time_travel.history import change_before

        return change_before(
            self.source, name, offset, progress, index=self._index, past=self._past
        )

    def blame(
        self,
        name: "ObjectName",
        at: int,
        progress: Progress | None = None,
        *,
        by_name: bool = False,
    ) -> "dict[str, LastSet]":
        """Return, for each field of an object at offset `at`, the record that last set it."""
        from replay.time_travel.history import blame

        return blame(self.source, name, at, progress, self._index, self._past, by_name=by_name)

    def asked_for(self, at: int, *, by_name: bool = False) -> "AskedFor":
        """Return a finder of the requests behind records that carry out a plan, up to `at`."""
        from replay.time_travel.asked_for import AskedFor

        return AskedFor(self.source, self._past, by_name=by_name, until=at + 1)

    def sql_history_end(self) -> int | None:
        """Return the end offset of the log's SQL history; None if there is none."""
        return None if self._index is None else self._index.end_offset()


def index_beside(log: StoredLog) -> ChangeIndex | None:
    """Return the SQL history in a log's directory; None if there is none."""
    directory = log.local_directory
    if directory is None or not (directory / HISTORY_NAME).is_file():
        return None
    from replay.sql_history.file import HistoryFile

    return HistoryFile(directory / HISTORY_NAME, log)
