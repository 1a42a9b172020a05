"""Frozen mirrors: a quorum's leader lacks records that an earlier leader had committed.

Kafka never takes back what is below the high watermark. If a leader does, the cluster lost
committed metadata, or was set up again with the same id. The mirror may be the only copy of what
was lost, so nothing writes to it until an operator has looked at it.
"""

import time
from pathlib import Path

import msgspec

from metadata_log.files.fs import Fs, OsFs
from metadata_log.files.json_file import read_json, write_json
from metadata_log.files.names import FROZEN
from records.errors import CommittedHistoryChangedError


class Frozen(msgspec.Struct, frozen=True, kw_only=True):
    """The content of `frozen.json`: a leader whose log lacks records that the mirror has confirmed.

    Attributes:
        time_ms: When the mirror was frozen, ms since 1970.
        source: The leader's address.
        leader_epoch: The epoch that the leader named.
        end_offset: The end of that epoch in the leader's log, exclusive.
        confirmed_end: The mirror's confirmed end, exclusive, which is above `end_offset`.
    """

    time_ms: int
    source: str
    leader_epoch: int
    end_offset: int
    confirmed_end: int


def committed_history_changed(
    log: Path,
    *,
    source: str,
    leader_epoch: int,
    end_offset: int,
    confirmed_end: int,
) -> CommittedHistoryChangedError:
    """Freeze a mirror, and return the error that says why; arguments as in `Frozen`."""
    frozen = Frozen(
        time_ms=time.time_ns() // 1_000_000,
        source=source,
        leader_epoch=leader_epoch,
        end_offset=end_offset,
        confirmed_end=confirmed_end,
    )
    write_json(OsFs(), log / FROZEN, frozen)
    return CommittedHistoryChangedError(_text(log, frozen))


def check_not_frozen(log: Path, fs: Fs | None = None) -> None:
    """Refuse a mirror that is frozen.

    Raises:
        CommittedHistoryChangedError: the mirror is frozen.
        CorruptLogError: `frozen.json` is damaged.
    """
    fs = fs or OsFs()
    if fs.exists(log / FROZEN):
        frozen = read_json(
            fs, log / FROZEN, Frozen, "remove the file when you know why it is there"
        )
        raise CommittedHistoryChangedError(_text(log, frozen))


def _text(log: Path, frozen: Frozen) -> str:
    return (
        f"{frozen.source} says that epoch {frozen.leader_epoch} ends at offset "
        f"{frozen.end_offset}, but the quorum had committed all below {frozen.confirmed_end}: the "
        "cluster lost committed metadata, or was set up again with the same id. "
        f"{log} has what was committed and is frozen ({FROZEN}): compare it with the nodes "
        "(`metalog compare`), and record the cluster into a new LOG"
    )
