"""Triggers inferred from records, for logs without requests, such as Kafka's.

A trigger is the request that a client or broker probably sent. A candidate is accepted only if
deciding it writes exactly the records of the log.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import takewhile
from typing import Any

from msgspec.structs import replace

from controller.decisions.context.context import Settings
from controller.forks.candidates import CANDIDATES
from controller.forks.trigger import Step
from controller.pipeline.latest import State
from records import brokers, configs, control, partitions, security
from records.base import Record
from records.envelope import Envelope

FACTS: frozenset[type[Record]] = frozenset(
    {
        *(control.NoOpRecord, control.NoOpRunRecord, control.LeaderChangeMessage),
        *(control.SnapshotHeaderRecord, control.SnapshotFooterRecord, control.NoteRecord),
        *(control.KRaftVersionRecord, control.VotersRecord, control.UnknownRecord),
        *(control.BeginTransactionRecord, control.EndTransactionRecord),
        *(control.AbortTransactionRecord,),
        *(brokers.RegisterControllerRecord, configs.FeatureLevelRecord),
        *(configs.ProducerIdsRecord, configs.ZkMigrationStateRecord, configs.ClientQuotaRecord),
        *(security.AccessControlEntryRecord, security.RemoveAccessControlEntryRecord),
        *(security.UserScramCredentialRecord, security.RemoveUserScramCredentialRecord),
        *(security.DelegationTokenRecord, security.RemoveDelegationTokenRecord),
    }
)
"""Records that only repeat a request or an event: their content does not depend on the state."""

_NOT_INFERRED = "what made the controller write this is not in the log and cannot be inferred"


def inferred_steps(
    rows: Sequence[Envelope], state: Callable[[], State], settings: Settings
) -> Iterator[Step]:
    """Split the rows of a batch into decisions; a batch can contain several.

    Args:
        state: Returns the logged state before the next step.
    """
    rest = tuple(rows)
    while rest:
        step = _first_step(rest, state(), settings)
        yield step
        rest = rest[len(step.rows) :]


def _first_step(rows: tuple[Envelope, ...], state: State, settings: Settings) -> Step:
    records = [row.payload for row in rows]
    facts = list(takewhile(lambda record: type(record) in FACTS, records))
    if facts:
        return Step(rows=rows[: len(facts)])
    candidates = CANDIDATES.get(type(records[0]))
    for trigger in () if candidates is None else candidates(records, state.image):
        if trigger.leaving is not None and not _all_left(trigger.leaving, records, state):
            continue
        written = trigger.decided(rows, state, settings).records
        if written and in_recorded_order(written, rows) == records[: len(written)]:
            return Step(rows=rows[: len(written)], trigger=trigger)
    same = list(takewhile(lambda record: type(record) is type(records[0]), records))
    return Step(rows=rows[: len(same)], problem=_NOT_INFERRED)


def _all_left(broker_id: int, records: Sequence[Record], state: State) -> bool:
    """True if the records may be those of a broker that left all of its ISRs.

    False if an ISR with the broker is not changed by any record. This quick check avoids making a
    decision, about all of the broker's partitions, that could not match the records.
    """
    changed = {_object(each) for each in records}
    return all(
        (partition.topic_id, partition.partition_id) in changed
        for partition in state.index.partitions_on(state.image, broker_id, in_order=False)
        # The last member of an ISR stays in it.
        if broker_id in partition.isr and len(partition.isr) > 1
    )


def in_recorded_order(records: Sequence[Record], rows: Sequence[Envelope]) -> list[Record]:
    """Return records in the order in which the log has the records of the same objects.

    Kafka iterates over hash tables, so the order of partitions, and of features and directories in
    a registration, is arbitrary.
    """
    if all(record == row.payload for record, row in zip(records, rows, strict=False)):
        return list(records)
    recorded = {_object(row.payload): index for index, row in enumerate(rows[: len(records)])}
    known = [rows[index].payload for index in recorded.values()]
    same = {_canonical(record): record for record in known}
    ordered = sorted(records, key=lambda record: recorded.get(_object(record), len(rows)))
    return [same.get(_canonical(record), record) for record in ordered]


def _object(record: Any) -> Any:
    if isinstance(record, partitions.PartitionChangeRecord):
        return record.topic_id, record.partition_id
    return type(record)


def _canonical(record: Record) -> Record:
    if isinstance(record, brokers.RegisterBrokerRecord):
        return replace(
            record, features=_by_name(record.features), log_dirs=tuple(sorted(record.log_dirs))
        )
    if isinstance(record, brokers.RegisterControllerRecord):
        return replace(record, features=_by_name(record.features))
    return record


def _by_name(features: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(sorted(features, key=lambda feature: feature.name))
