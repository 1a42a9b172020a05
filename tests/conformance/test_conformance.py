"""Our decisions write the records that Kafka's controller wrote, from the same triggers."""

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from controller.decisions.context.context import Settings
from controller.pipeline.latest import State
from metadata_log.reader.log_reader import LogReader
from records import brokers, configs, partitions
from records.base import Record
from replay.timeline import Timeline
from tests.conformance.batches import Outcome, first_step
from tests.conformance.candidates import NOT_COMPARED
from tests.conformance.report import LOOKED_AT, logs, outcomes, table
from tests.real_logs import REAL_LOGS, DataSet
from tests.replay.incidents.real import imported

pytestmark = [
    pytest.mark.real_logs,
    pytest.mark.skipif(not REAL_LOGS.is_dir(), reason=f"no real Kafka logs at {REAL_LOGS}"),
]

_PAGE = Path(__file__).parents[2] / "docs" / "conformance.md"

_COMPUTED: Mapping[type[Record], Callable[[Any], Iterator[Record]]] = {
    brokers.RegisterBrokerRecord: lambda record: iter(
        [
            replace(record, broker_epoch=record.broker_epoch + 1),
            replace(record, fenced=not record.fenced),
        ]
    ),
    configs.ProducerIdsRecord: lambda record: iter(
        [replace(record, next_producer_id=record.next_producer_id + 1)]
    ),
    brokers.BrokerRegistrationChangeRecord: lambda record: iter(
        [replace(record, broker_epoch=record.broker_epoch + 1)]
    ),
    partitions.PartitionRecord: lambda record: iter(
        [
            replace(record, leader=record.leader + 1),
            replace(record, isr=(*record.isr, 99)),
            replace(record, leader_epoch=record.leader_epoch + 1),
            replace(record, partition_epoch=record.partition_epoch + 1),
        ]
    ),
    partitions.PartitionChangeRecord: lambda record: iter([replace(record, leader=97)]),
}
"""Other values of what the decision computes, of a record."""


@pytest.fixture(scope="module")
def mirrors(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return [
        imported(each, tmp_path_factory.mktemp("mirror"))
        for each in logs()
        if each.name in LOOKED_AT
    ]


@cache
def _outcomes() -> tuple[tuple[DataSet, Outcome], ...]:
    return tuple(outcomes(logs()))


def test_page_gives_the_shares_of_real_logs() -> None:
    assert "\n".join(table(_outcomes())) in _PAGE.read_text()


def test_nine_of_ten_batches_are_decided_as_kafka_did() -> None:
    equal = [outcome.is_equal for _, outcome in _outcomes()]
    assert sum(equal) >= 0.9 * len(equal) > 500


@pytest.mark.parametrize("kind", _COMPUTED, ids=lambda kind: kind.__name__)
def test_no_trigger_knows_what_the_decision_computes(
    kind: type[Record], mirrors: list[Path]
) -> None:
    """Change a computed field of a record: a trigger that copied it would write the changed record
    too.
    """
    tried = 0
    for mirror in mirrors:
        with LogReader.open(mirror) as reader:
            tried += _assert_noticed(reader, kind)
    assert tried > 0


def _assert_noticed(reader: LogReader, kind: type[Record]) -> int:
    """Change the first record of each batch if it has this type; return the number of changed
    records.
    """
    settings = Settings(cluster_id=reader.cluster_id, accepts_unknown_configs=True)
    timeline = Timeline.of(reader)
    tried = 0
    for batch in reader.batches(reader.history_start):
        rows = [row for row in batch.rows if type(row.payload) not in NOT_COMPARED]
        at = next((i for i, row in enumerate(rows) if type(row.payload) is kind), None)
        if at is None or tried >= 4:
            continue
        state = State.of(timeline.image(batch.base_offset - 1))
        unchanged = first_step(rows, state, settings)
        if not unchanged.is_equal or at >= unchanged.count:
            continue
        for changed in _COMPUTED[kind](rows[at].payload):
            other = [*rows[:at], replace(rows[at], payload=changed), *rows[at + 1 :]]
            found = first_step(other, state, settings)
            assert not found.is_equal or found.count <= at, changed
            tried += 1
    return tried
