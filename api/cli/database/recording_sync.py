"""Syncs the SQL history of a recording: each part in turn, with the gap after it."""

import logging
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec

from api.questions.changes import shown
from api.questions.parts import FOUND, changes_after
from api.questions.past import Past
from metadata_log.format.parts import Gap
from records.errors import RequestError
from replay.image.metadata import MetadataImage
from replay.sql_history.gaps import FoundAfterGap
from replay.sql_history.store import HistoryStore
from replay.sql_sync import Synced, cross_gap, sync

_LOG = logging.getLogger(__name__)


class RecordingSynced(NamedTuple):
    """Result of a sync of all parts that the tables lacked.

    Attributes:
        synced: The sum of the parts' results.
        gaps: The gaps between these parts.
        history_start: Start of the kept history of the first of these parts.
    """

    synced: Synced
    gaps: tuple[Gap, ...]
    history_start: int


def sync_recording(
    newest: Past,
    store: HistoryStore,
    progress: Callable[[int], None] | None = None,
    *,
    image: MetadataImage | None = None,
    include_unconfirmed: bool = False,
) -> RecordingSynced:
    """Add what the tables lack of a log and of the earlier parts of its recording.

    Empty tables begin with the oldest part whose later parts are all there; if one is missing, this
    is logged as a warning.

    Args:
        newest: The newest part; other arguments are as for `replay.sql_sync.sync`.

    Raises:
        MetadataLogError: as `replay.sql_sync.sync`; what was added before is in the tables.
    """
    parts = _unsynced(newest, store)
    found: list[Synced] = []
    for part in parts:
        if found:
            cross_gap(part.timeline, part.reader, store, _gap_before(part), _found_after_gap(part))
        each = sync(
            part.timeline,
            part.reader,
            store,
            progress,
            image=image,
            until=None if part.after is None else _gap_before(part.after).from_offset,
            include_unconfirmed=include_unconfirmed and part is newest,
        )
        found.append(each)
    gaps = tuple([_gap_before(part) for part in parts[1:]])
    return RecordingSynced(_sum(found), gaps, parts[0].reader.history_start)


def _unsynced(newest: Past, store: HistoryStore) -> list[Past]:
    """Return the parts with offsets that the tables lack, oldest first."""
    position, parts = store.position(), [newest]
    while (before := parts[0].before) is not None:
        if position is not None and position.confirmed_proof.end_offset >= before.gap.to_offset:
            break
        try:
            parts.insert(0, before.past)
        except RequestError as error:
            if position is not None:
                raise
            _LOG.warning("the tables begin at offset %s: %s", before.gap.to_offset, error)
            break
    return parts


def _gap_before(part: Past) -> Gap:
    assert part.before is not None, "a part follows another one"
    return part.before.gap


def _found_after_gap(part: Past) -> list[FoundAfterGap]:
    found = [shown(change, FOUND) for change in changes_after(part)]
    return [
        FoundAfterGap(each.object, each.field, str(each.fate), each.before, each.after)
        for each in found
    ]


def _sum(found: Sequence[Synced]) -> Synced:
    rows: Counter[str] = Counter()
    for each in found:
        rows.update(each.rows)
    return msgspec.structs.replace(
        found[-1],
        from_offset=found[0].from_offset,
        changes=sum(each.changes for each in found),
        rows=dict(sorted(rows.items())),
    )
