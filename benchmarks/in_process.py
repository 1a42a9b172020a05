"""Appends in process, compared with `eventsourcing` on SQLite and with raw SQLite.

All sides store the same bytes on the same file system and acknowledge after their sync; the
measured time includes encoding.
"""

from pathlib import Path

import msgspec

from benchmarks.harness import Contender, Result, rate_result, rates_in_turn
from benchmarks.own_log import OwnLog
from benchmarks.peers.event_store import EventStore
from benchmarks.peers.sqlite import RawSqlite
from benchmarks.sync_latency import SYNC, SyncedFile, sync_result

_ROUNDS = 7


class Bout(msgspec.Struct, frozen=True):
    """Number of callers, records per batch, and records that each side appends in a round.

    `store_target` and `sqlite_target` are the minimum ratios of our rate to the peers' rates.
    """

    callers: int
    batch_records: int
    counts: dict[str, int]
    store_target: float | None
    sqlite_target: float | None


_BOUTS = (
    Bout(64, 1, {"ours": 6_400, "eventsourcing": 600}, 5, None),
    Bout(1, 1, {"ours": 500, "eventsourcing": 400, "sqlite": 500}, None, 0.6),
    Bout(1, 100, {"ours": 20_000, "eventsourcing": 20_000, "sqlite": 20_000}, 1.5, 0.5),
)


def run(scratch: Path) -> list[Result]:
    """Measure each combination of callers and batch size, all sides in turn."""
    with (
        SyncedFile(scratch) as synced,
        OwnLog(scratch / "log") as log,
        EventStore(scratch / "events.db") as store,
        RawSqlite(scratch / "raw.db") as raw,
    ):
        return [result for bout in _BOUTS for result in _measure(bout, log, store, raw, synced)]


def _measure(
    bout: Bout, log: OwnLog, store: EventStore, raw: RawSqlite, synced: SyncedFile
) -> list[Result]:
    callers, size = bout.callers, bout.batch_records

    def ours() -> None:
        log.append(bout.counts["ours"], callers=callers, batch_records=size)

    def eventsourcing() -> None:
        store.append(bout.counts["eventsourcing"], callers=callers, batch_records=size)

    def sqlite() -> None:
        raw.append(bout.counts["sqlite"], batch_records=size)

    sides = {"ours": ours, "eventsourcing": eventsourcing, "sqlite": sqlite}
    chosen = {name: Contender(count, sides[name]) for name, count in bout.counts.items()}
    rates = rates_in_turn({**chosen, SYNC: synced.contender}, _ROUNDS)
    targets = {"eventsourcing": bout.store_target, "sqlite": bout.sqlite_target}
    what = f"{callers} caller{'s' * (callers > 1)}, batches of {size}"
    peers = [name for name in chosen if name != "ours"]
    return [
        *[
            rate_result(f"append, {what} / {name}", rates["ours"], rates[name], targets[name])
            for name in peers
        ],
        sync_result(what, rates),
    ]
