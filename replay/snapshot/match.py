"""Checks that a snapshot belongs to a log; required before replay starts from it.

A snapshot stores its position, with the CRC of the last block. Blocks are chained, so a snapshot of
another cluster, of a fork of this log, or of a tail that Kafka replaced does not match. If the CRC
is not known, the offset and leader epoch of the last record are compared, and its time as well,
because a fork can have the same epoch as its source.

Source: the log matching property of Raft, which KRaft shares (KIP-595).
"""

import logging

from replay.image.rules import RULES_VERSION
from replay.loader import BatchSource
from replay.snapshot.info import SnapshotInfo

_LOG = logging.getLogger(__name__)


def is_of(source: BatchSource, info: SnapshotInfo) -> bool:
    """True if a snapshot belongs to the log's history, so that replay can start from it.

    The last record of the snapshot is then in the log, or directly before the log's start. Logs a
    warning if the snapshot lies within the log but has another history or other replay rules.
    """
    # At 0 there is no record to compare, and nothing to save.
    if not max(source.history_start, 1) <= info.end_offset <= source.end_offset:
        return False
    if info.rules != RULES_VERSION:
        made = "an early release" if info.rules is None else f"version {info.rules} of the rules"
        _LOG.warning(
            "snapshot at end offset %d passed over: it was made by %s, this release replays under "
            "version %d; make it anew with `metalog snapshot create`",
            info.end_offset,
            made,
            RULES_VERSION,
        )
        return False
    if not _is_same_history(source, info):
        _LOG.warning(
            "snapshot at end offset %d passed over: it belongs to another history of the log",
            info.end_offset,
        )
        return False
    return True


def _is_same_history(source: BatchSource, info: SnapshotInfo) -> bool:
    position = source.position(info.end_offset)
    if position.contradicts(info.position):
        return False
    if None not in (position.last_crc32c, info.last_crc32c):
        return True
    if info.end_offset == source.history_start:
        return source.base is not None and source.base.timestamp == info.timestamp_ms
    last = next(iter(source.batches(info.end_offset - 1, info.end_offset)))
    return info.timestamp_ms in last.times_at(info.end_offset - 1)
