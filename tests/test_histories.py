"""The random histories contain everything that the property tests rely on."""

import itertools
import random

from records import registry
from records.avro.codec import decode_rows, encode_rows
from records.control import (
    NoOpRunRecord,
    SnapshotFooterRecord,
    SnapshotHeaderRecord,
)
from tests.histories import random_history

NEVER_IN_A_LOG = {SnapshotHeaderRecord, SnapshotFooterRecord}


def test_history_has_as_many_batches_as_asked_for_and_no_gap() -> None:
    history = random_history(random.Random(1), 100)
    assert len(history) == 100
    assert history[0].base_offset == 0
    for earlier, later in itertools.pairwise(history):
        assert earlier.end_offset == later.base_offset
        assert earlier.leader_epoch <= later.leader_epoch


def test_same_seed_gives_the_same_history() -> None:
    assert random_history(random.Random(7), 30) == random_history(random.Random(7), 30)


def test_long_history_holds_every_record_type_a_log_can_hold() -> None:
    history = random_history(random.Random(1), 1_500)
    found = {type(row.payload) for batch in history for row in batch.rows}
    assert found == set(registry.RECORD_TYPES) - NEVER_IN_A_LOG


def test_times_go_back_only_when_asked_for() -> None:
    def goes_back(**options: bool) -> bool:
        times = [batch.timestamp for batch in random_history(random.Random(1), 200, **options)]
        return times != sorted(times)

    assert goes_back()
    assert not goes_back(times_go_back=False)


def test_runs_of_noops_occur_only_when_asked_for() -> None:
    history = random_history(random.Random(1), 200, noop_runs=False)
    assert not any(isinstance(row.payload, NoOpRunRecord) for b in history for row in b.rows)


def test_every_batch_can_be_encoded() -> None:
    for batch in random_history(random.Random(1), 200):
        assert tuple(decode_rows(encode_rows(batch.rows), len(batch.rows))) == batch.rows
