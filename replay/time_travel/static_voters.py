"""Voters of a static quorum, as listed in the record of each new leader.

No record sets them: they are configuration (`controller.quorum.voters`), which the log only
mentions. So they are not part of the image, its digest or a checkpoint.
"""

from collections.abc import Iterator

import msgspec

from metadata_log.batch import Batch
from metadata_log.needles import Needles
from records.control import LeaderChangeMessage
from records.envelope import Envelope
from replay.loader import BatchSource
from replay.time_travel.changes import Change
from replay.time_travel.kinds import VOTERS
from replay.time_travel.skim import SkimmableSource


class StaticVoters(msgspec.Struct, frozen=True):
    """The voters listed by a new leader: their ids, ascending, and the leader's record."""

    voter_ids: tuple[int, ...]
    row: Envelope


def static_voters(source: BatchSource, end_offset: int) -> Iterator[StaticVoters]:
    """Yield the lists of voters below an offset: the first, and each that differs from the last.

    Raises:
        CorruptLogError: the log is damaged.
    """
    last: tuple[int, ...] | None = None
    for batch in _leader_changes(source, end_offset):
        for row in batch.rows:
            if not isinstance(row.payload, LeaderChangeMessage) or row.offset >= end_offset:
                continue
            voter_ids = tuple(sorted(voter.voter_id for voter in row.payload.voters))
            if voter_ids != last:
                yield StaticVoters(voter_ids, row)
            last = voter_ids


def static_voter_changes(source: BatchSource, end_offset: int) -> Iterator[tuple[Envelope, Change]]:
    """Yield the results of `static_voters` as changes of the object `voters`.

    Raises:
        CorruptLogError: the log is damaged.
    """
    before: list[int] | None = None
    for voters in static_voters(source, end_offset):
        after = list(voters.voter_ids)
        fate = "new" if before is None else "changed"
        yield voters.row, Change(VOTERS, "voter_ids", before, after, fate)
        before = after


def _leader_changes(source: BatchSource, end_offset: int) -> Iterator[Batch]:
    if not isinstance(source, SkimmableSource):
        return iter(source.batches(None, end_offset))
    needles = Needles()
    needles.add_type(LeaderChangeMessage)
    return source.skim(needles, end_offset)
