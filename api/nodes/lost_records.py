"""A store that has lost acknowledged records: every node stops until an operator has decided.

A node whose folder has more records than the shared log writes a mark into the lease, which all
nodes read: with the mark no node leads, and each node stops. `metalog nodes repair` removes the
mark. Without it, a node that never had the lost records would lead, and overwrite their offsets.
"""

import contextlib
import secrets
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import msgspec

from api.nodes.membership import MemberContent, content_of
from api.nodes.options import LeaderContent, LostMark
from api.nodes.options import content_of as lease_content
from api.nodes.release import this_release
from metadata_log.care.lost_records import Divergence, divergence, lost_batches
from metadata_log.files.fs import ByteStore
from metadata_log.format.batch import Batch
from metadata_log.shared.shared_log import EMPTY, NONCE_SIZE, Lease, SharedLog
from metadata_log.writer.folder_copy import LostRecordsError
from records.errors import UnavailableError, UnknownHistoryError
from records.text import time_text

_NAMED = 3
"""How many principals an error message names."""


class ToldToStopError(LostRecordsError):
    """Raised when the lease says that another node has records that the shared log has lost."""


async def check_nothing_lost(log: SharedLog, fs: ByteStore, directory: Path) -> None:
    """Check that the shared log has all records of a folder.

    Raises:
        LostRecordsError: records are missing; names their batches and principals.
        UnavailableError: the store does not answer.
    """
    with contextlib.suppress(UnknownHistoryError):
        found = await divergence(log, fs, directory)
        if found.lost:
            raise LostRecordsError(
                f"{directory} has records that the shared log lacks: "
                f"{lost_text(found, lost_batches(fs, directory, found))}. The store has lost "
                "acknowledged records: every node stops. `metalog nodes repair "
                f"{directory} --shared URL` shows what can be put back",
                from_offset=found.from_offset,
                end_offset=found.folder_end,
            )


def lost_text(found: Divergence, batches: Iterator[Batch]) -> str:
    """Describe the records that only a folder has: offsets, time of writing, principals."""
    first = last = next(batches)
    count, whose = 0, dict[str, int]()
    for last in chain([first], batches):
        count += 1
        name = principal_of(last)
        whose[name] = whose.get(name, 0) + 1
    names = sorted(whose, key=lambda name: -whose[name])
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return (
        f"offsets {found.from_offset} to {found.folder_end - 1}, {count} "
        f"{'batch' if count == 1 else 'batches'} of {', '.join(names[:_NAMED])}{more}, written "
        f"{time_text(first.timestamp)} to {time_text(last.timestamp)}"
    )


def principal_of(batch: Batch) -> str:
    """Return the principal that requested a batch, or `the controller` for the controller's own."""
    origin = batch.rows[0].origin
    return (origin.principal if origin is not None else None) or "the controller"


def check_not_stopped(lease: Lease | None) -> None:
    """Check that the lease has no mark of lost records.

    Raises:
        ToldToStopError: a node has marked that the store has lost records.
    """
    mark = None if lease is None else lease_content(lease).lost
    if mark is not None:
        raise ToldToStopError(
            f"{mark.text}: no node runs until `metalog nodes repair` has run on that node's "
            "machine",
            from_offset=mark.from_offset,
            end_offset=mark.end_offset,
        )


async def stop_all(log: SharedLog, node_id: int, error: LostRecordsError) -> None:
    """Make every node stop, because this node has records that the store has lost.

    Raises:
        UnavailableError: the store does not answer.
    """
    about = MemberContent(
        role="stopped",
        version=this_release().version,
        log_end=error.end_offset,
        durable_end=error.end_offset,
        clock_off_ms=0,
        lost_from=error.from_offset,
    )
    await log.register(node_id, msgspec.msgpack.encode(about))
    mark = LostMark(node_id=node_id, from_offset=error.from_offset, end_offset=error.end_offset)
    await set_mark(log, mark)


async def set_mark(log: SharedLog, mark: LostMark | None) -> None:
    """Write into the lease which records the store has lost; None removes the mark.

    A mark with a later end is not replaced.

    Raises:
        UnavailableError: the store does not answer.
    """
    while True:
        found = await log.lease()
        before = None if found is None else lease_content(found)
        there = None if before is None else before.lost
        if mark == there or (mark and there and there.end_offset >= mark.end_offset):
            return
        content = msgspec.structs.replace(before or LeaderContent(), lost=mark, hands_over=False)
        wanted = Lease(
            node_id=0 if found is None else found.node_id,
            process=secrets.token_bytes(NONCE_SIZE),
            nonce=secrets.token_bytes(NONCE_SIZE),
            duration_ms=0,  # nobody leads by it
            proven=EMPTY,
            content=msgspec.msgpack.encode(content),
        )
        with contextlib.suppress(UnavailableError):  # perhaps written: the next look tells
            if await log.renew(wanted, instead_of=found):
                return


async def take_mark_away(log: SharedLog) -> bool:
    """Remove the mark of lost records, unless a node still has records that the store has lost.

    Returns:
        True if the mark was removed, so that nodes may run again.

    Raises:
        UnavailableError: the store does not answer.
    """
    if any(content_of(each).lost_from is not None for each in await log.members()):
        return False
    await set_mark(log, None)
    return True
