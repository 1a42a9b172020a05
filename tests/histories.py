"""Random histories that a controller could have written, for property tests of any reader.

They contain every record type that a log can contain: transactions that end, are aborted or stay
open, runs of NoOps, several leader epochs, times that sometimes go back, unknown records, origins.
Only the two records at the start and end of a checkpoint are left out.
"""

import copy
import random
from collections.abc import Sequence

from metadata_log.format.batch import Batch, offsets_covered
from records import control
from records.base import Record, Uuid
from records.brokers import RegisterBrokerRecord
from records.envelope import Envelope, Origin
from records.registry import newest_version
from tests.simulated_cluster.events import some_event
from tests.simulated_cluster.state import Cluster

START_TIME_MS = 1_700_000_000_000


def random_history(
    rng: random.Random, batches: int, *, times_go_back: bool = True, noop_runs: bool = True
) -> list[Batch]:
    """Return a history of that many batches from offset 0, the same for the same `rng`.

    Args:
        times_go_back: Let the clock go back sometimes, like the clocks of real clusters. An own log
            never contains such times.
        noop_runs: Include runs of NoOps, which only occur in imported logs.
    """
    history = _History(rng, times_go_back=times_go_back, noop_runs=noop_runs)
    while len(history.batches) < batches:
        history.go_on()
    return history.batches


class _History:
    def __init__(self, rng: random.Random, *, times_go_back: bool, noop_runs: bool) -> None:
        self.rng = rng
        self.times_go_back = times_go_back
        self.noop_runs = noop_runs
        self.batches: list[Batch] = []
        self.cluster = Cluster()
        # The cluster before the open transaction, to which an abort returns.
        self.before: Cluster | None = None
        self.leader_epoch = 0
        self.time_ms = START_TIME_MS
        self.offset = 0

    def go_on(self) -> None:
        """Write the next batch."""
        chance = self.rng.random()
        if not self.batches or chance < 0.05:
            self.leader_epoch += self.rng.randrange(1, 4)
            self._write(self._leader_change(), origin=None)
        elif self.noop_runs and chance < 0.12:
            self._write([self._noop_run()], origin=None)
        else:
            self._write(self._events(), origin=self._origin())

    def _write(self, records: Sequence[Record], *, origin: Origin | None) -> None:
        rows: list[Envelope] = []
        base_offset, time_ms = self.offset, self._tick()
        for record in records:
            row = Envelope(
                offset=self.offset,
                leader_epoch=self.leader_epoch,
                timestamp=time_ms,
                batch_offset=base_offset,
                record_version=self._version(record),
                origin=origin,
                payload=record,
            )
            rows.append(row)
            self.offset += offsets_covered(record)
        self.batches.append(Batch.of(rows))
        if isinstance(records[-1], control.NoOpRunRecord):
            self.time_ms = records[-1].last_timestamp

    def _tick(self) -> int:
        if self.times_go_back and self.rng.random() < 0.05:
            self.time_ms -= self.rng.randrange(1, 4_000)
        else:
            self.time_ms += self.rng.choice([0, 1, 500, 5_000])
        return self.time_ms

    def _events(self) -> list[Record]:
        records: list[Record] = []
        for _ in range(self.rng.choice([1, 1, 1, 2, 5])):
            # Brokers take the offset of their batch as their epoch, so it must be the real one.
            records += self._transaction_boundary()
            records += some_event(self.cluster, self.rng, self.offset)
        return records + self._transaction_boundary()

    def _transaction_boundary(self) -> list[Record]:
        chance = self.rng.random()
        if self.before is None:
            if chance > 0.05:
                return []
            self.before = copy.deepcopy(self.cluster)
            return [control.BeginTransactionRecord(name=self.rng.choice([None, "shrink"]))]
        if chance < 0.2:
            self.before = None
            return [control.EndTransactionRecord()]
        if chance < 0.3:
            self.cluster, self.before = self.before, None
            return [control.AbortTransactionRecord(reason=self.rng.choice([None, "failover"]))]
        return []

    def _leader_change(self) -> list[Record]:
        voters = tuple(control.LeaderChangeVoter(voter_id=3_000 + n) for n in range(3))
        records: list[Record] = [
            control.LeaderChangeMessage(
                version=0, leader_id=3_000, voters=voters, granting_voters=voters[:2]
            )
        ]
        if self.rng.random() < 0.3:
            records += _quorum(self.rng, self.offset)
        return records

    def _noop_run(self) -> Record:
        count = self.rng.randrange(1, 6)
        return control.NoOpRunRecord(
            count=count, batch_count=count, last_timestamp=self.time_ms + 6_000
        )

    def _version(self, record: Record) -> int:
        match record:
            case control.UnknownRecord():
                return record.record_version
            case RegisterBrokerRecord():
                return self.rng.randrange(_oldest_version(record), 4)
        return newest_version(type(record))

    def _origin(self) -> Origin | None:
        if self.rng.random() < 0.3:
            return None
        return Origin(
            principal=self.rng.choice([None, "User:alice", "User:zoë"]),
            request_id=f"request-{len(self.batches)}",
            request_hash=self.rng.choice([None, self.rng.randbytes(4)]),
            command=self.rng.choice([None, "topics create", "configs alter"]),
            reason=self.rng.choice([None, "", "ticket 12"]),
        )


def _oldest_version(record: RegisterBrokerRecord) -> int:
    """Return the oldest layout version that has all fields that are set."""
    if record.log_dirs:
        return 3
    if record.is_migrating_zk_broker:
        return 2
    return 1 if record.in_controlled_shutdown else 0


def _quorum(rng: random.Random, offset: int) -> list[Record]:
    directory_id = Uuid(rng.randbytes(16))
    # By the offset, so that histories of the same seed keep their lengths.
    voters = tuple(
        control.QuorumVoter(
            voter_id=3_000 + (offset + n) % 4,
            voter_directory_id=directory_id,
            endpoints=tuple(
                control.VoterEndpoint(name=name, host="localhost", port=9093 + offset % 2)
                for name in ("INTERNAL", "CONTROLLER")[: 1 + offset % 2]
            ),
            kraft_version_feature=control.KRaftVersionFeature(
                min_supported_version=0, max_supported_version=1
            ),
        )
        for n in range(1 + offset % 3)
    )
    return [
        control.KRaftVersionRecord(version=0, kraft_version=1),
        control.VotersRecord(version=0, voters=voters),
    ]
