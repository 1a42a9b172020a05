"""Voters of a static quorum, as listed in each LeaderChangeMessage.

No record sets them: they are configuration (`controller.quorum.voters`), which the log only
mentions. So they are not part of the image, its digest or a checkpoint.
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from records.control import LeaderChangeMessage
from records.envelope import Envelope
from replay.loader import BatchSource
from replay.time_travel.changes import Change
from replay.time_travel.kinds import VOTERS
from replay.time_travel.leader_changes import leader_changes


class StaticVoters(msgspec.Struct, frozen=True):
    """The voters listed by a new leader: their ids, ascending, and its LeaderChangeMessage."""

    voter_ids: tuple[int, ...]
    row: Envelope


def static_voters(source: BatchSource, end_offset: int) -> Iterator[StaticVoters]:
    """Yield the voter lists below an offset: the first, and each that differs from its predecessor.

    Raises:
        CorruptLogError: the log is damaged.
    """
    last: tuple[int, ...] | None = None
    for batch in leader_changes(source, end_offset):
        for row in batch.rows:
            if not isinstance(row.payload, LeaderChangeMessage) or row.offset >= end_offset:
                continue
            voter_ids = tuple(sorted(voter.voter_id for voter in row.payload.voters))
            if voter_ids != last:
                yield StaticVoters(voter_ids, row)
            last = voter_ids


def static_voter_changes(
    source: BatchSource, end_offset: int, voter_id: int | None = None
) -> Iterator[tuple[Envelope, Change]]:
    """Yield the results of `static_voters` as changes.

    Args:
        voter_id: Yield only changes in which this voter is added to the list or removed, as
            changes of the object `voter:ID`. None: each list, as a change of the object `voters`.

    Raises:
        CorruptLogError: the log is damaged.
    """
    before: Any = None
    after: Any
    for voters in static_voters(source, end_offset):
        if voter_id is None:
            name, field, after = VOTERS, "voter_ids", list(voters.voter_ids)
        else:
            name, field, after = f"voter:{voter_id}", "is_static", _listed(voter_id, voters)
        if after != before:
            yield voters.row, Change(name, field, before, after, _fate(before, after))
        before = after


def _listed(voter_id: int, voters: StaticVoters) -> bool | None:
    return True if voter_id in voters.voter_ids else None


def _fate(before: Any, after: Any) -> str:
    if before is None:
        return "new"
    return "gone" if after is None else "changed"
