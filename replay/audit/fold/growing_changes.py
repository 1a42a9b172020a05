"""Effective changes of a growing log: processes new records without reading the earlier ones."""

from collections.abc import Iterator

import pyarrow
import pyarrow.compute as pc

from replay.audit.fold.changes import CHANGES, Changes
from replay.audit.fold.event_table import FIELDS
from replay.audit.fold.kept_records import kept_records
from replay.audit.fold.partition_changes import Events, changes_of
from replay.audit.fold.workers import Batches, known, said, selected


class GrowingChanges:
    """Computes the changes that records make, and keeps the state on which later changes depend.

    Memory and the time for new records depend on this state, not on the number of earlier records.
    """

    def __init__(self, kept_from: int) -> None:
        """Begin before the first record of a log, or of its base.

        Args:
            kept_from: As for `Changes`.
        """
        self._kept_from = kept_from
        self._others = Changes(kept_from)
        self._spaces: dict[str, str] = {}
        self._kept: pyarrow.Table | None = None

    def of(self, batches: Batches) -> Iterator[pyarrow.RecordBatch]:
        """Yield the changes of the next records, and perhaps some of earlier records again.

        Read all changes before the next call.

        Args:
            batches: The records after those of the previous call, in order, up to an offset outside
                transactions; the columns are those that `workers.changes` takes.
        """
        tables = [pyarrow.Table.from_batches([each]) for each in batches if each.num_rows]
        if not tables:
            return
        records = pyarrow.concat_tables(tables)
        rare = records.filter(records["record"].is_valid()).to_batches()
        yield from selected(self._others.of_all(said(rare)), CHANGES, CHANGES.names)
        context = known(rare)
        self._spaces |= context.spaces
        of_topics = records.filter(records["topic_id"].is_valid())
        if of_topics.num_rows:
            yield from self._of_partitions(of_topics, context.undone)

    def _of_partitions(
        self, records: pyarrow.Table, undone: list[tuple[int, int]]
    ) -> Iterator[pyarrow.RecordBatch]:
        kept = records.slice(0, 0) if self._kept is None else self._kept
        is_touched = pc.is_in(kept["topic_id"], value_set=pc.unique(records["topic_id"]))
        past = kept.filter(is_touched)
        events = Events(pyarrow.concat_tables([past, records]), undone, self._spaces)
        options = {"fields": FIELDS, "kept_from": self._kept_from, "columns": CHANGES.names}
        for rows in changes_of(events, **options):
            yield from rows.to_batches()
        rest = kept.filter(pc.invert(is_touched))
        self._kept = pyarrow.concat_tables([rest, kept_records(events)]).combine_chunks()
