"""Effective changes: the fields that each record of a log changed."""

import random

import pytest

from metadata_log.format.batch import Batch
from records.base import Record
from records.configs import ConfigRecord
from records.control import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    EndTransactionRecord,
)
from records.envelope import Envelope
from records.errors import RequestError, UnknownHistoryError
from records.topics import MoveTopicRecord, RemoveTopicRecord
from replay.image.delta import MetadataDelta
from replay.image.metadata import MetadataImage
from replay.image.provenance import Provenance
from replay.image.rules import RULES
from replay.time_travel.affected import AFFECTED
from replay.time_travel.changes import effective_changes_of
from replay.time_travel.diff import diff_images
from replay.time_travel.effects import WITHOUT_EFFECT, Effect, Effects
from replay.time_travel.kinds import KINDS
from replay.timeline import Timeline
from replay.transactions import effective_rows
from tests.histories import random_history
from tests.replay.builders import (
    Base,
    FakeLog,
    batches,
    change,
    namespace,
    partition,
    topic,
    uid,
)

BEGIN = BeginTransactionRecord(name=None)
END = EndTransactionRecord()
ABORT = AbortTransactionRecord(reason=None)
RETENTION = ConfigRecord(resource_type=2, resource_name="orders", name="retention.ms", value="1")


def changes_in(
    log: FakeLog, from_offset: int | None = None, to_offset: int | None = None
) -> list[tuple[int, str, object, object, bool]]:
    """Return the changes: offset, field, before, after, and whether the record took effect."""
    start = log.history_start if from_offset is None else from_offset
    end = log.end_offset if to_offset is None else to_offset
    return [
        (c.offset, f"{c.object}#{c.field}", c.before, c.after, c.in_effect)
        for c in Timeline(log).changes(start, end)
    ]


def log_of(*groups: tuple[Record, ...]) -> FakeLog:
    return FakeLog(batches((topic("orders"), partition("orders", 0)), *groups))


def test_a_change_names_record_object_field_and_both_values() -> None:
    log = log_of((change("orders", 0, leader=2),), (RETENTION,))
    assert changes_in(log, 2) == [
        (2, "partition:orders/0#leader", 1, 2, True),
        (2, "partition:orders/0#leader_epoch", 0, 1, True),
        (2, "partition:orders/0#partition_epoch", 0, 1, True),
        (3, "config:topic/orders#retention.ms", None, "1", True),
    ]
    last = list(Timeline(log).changes(2, 4))[-1]
    assert (last.timestamp, last.type, last.origin) == (3_000, "ConfigRecord", None)


def test_a_removed_topic_takes_along_what_hangs_on_it() -> None:
    log = log_of((RETENTION,), (RemoveTopicRecord(topic_id=uid("orders")),))
    gone = {field.partition("#")[0] for _, field, _, _, _ in changes_in(log, 3)}
    assert gone == {"topic:orders", "partition:orders/0", "config:topic/orders"}
    assert {c.fate for c in Timeline(log).changes(3, 4)} == {"gone"}


def test_a_moved_topic_keeps_its_object_and_its_configs_get_another_name() -> None:
    move = MoveTopicRecord(topic_id=uid("orders"), namespace_id=uid("org"), name="orders")
    log = log_of((namespace("org"), RETENTION), (move,))
    assert changes_in(log, 4) == [
        (4, "topic:org:orders#name", "orders", "org:orders", True),
        (4, "config:topic/orders#retention.ms", "1", None, True),
        (4, "config:topic/org:orders#retention.ms", None, "1", True),
    ]


def test_aborted_change_is_marked_and_changes_nothing() -> None:
    lead = [change("orders", 0, leader=leader) for leader in (2, 3)]
    log = log_of((BEGIN, lead[0]), (RETENTION, ABORT), (BEGIN, lead[1]), (END,))
    leaders = [c for c in changes_in(log, 2) if c[1].endswith(("#leader", "#retention.ms"))]
    assert leaders == [
        (3, "partition:orders/0#leader", 1, 2, False),
        (4, "config:topic/orders#retention.ms", None, "1", False),
        (7, "partition:orders/0#leader", 1, 3, True),
    ]


def test_an_aborted_record_that_contradicts_the_state_changes_nothing() -> None:
    log = log_of((BEGIN, change("nowhere", 0, leader=2), RETENTION), (ABORT,), (RETENTION,))
    assert [c[0] for c in changes_in(log, 2)] == [6]


def test_a_transaction_counts_once_it_ends_and_from_the_offset_asked_for() -> None:
    log = log_of((BEGIN, change("orders", 0, leader=2)), (RETENTION,), (END,))
    assert changes_in(log, 2, 5) == []
    assert [c[0] for c in changes_in(log, 4)] == [4]


def test_what_is_before_the_history_is_refused_and_the_base_is_no_change() -> None:
    base = Base(10, (topic("orders"), partition("orders", 0)))
    log = FakeLog(batches((change("orders", 0, leader=2),), base_offset=10), base)
    assert {c[0] for c in changes_in(log)} == {10}
    with pytest.raises(UnknownHistoryError, match="history starts at 10"):
        changes_in(log, 9, 11)
    with pytest.raises(RequestError, match="past the end"):
        changes_in(log, 10, 12)


def test_each_record_changed_what_differs_between_the_images_around_it() -> None:
    kinds: set[str] = set()
    for seed in range(12):
        log = FakeLog(random_history(random.Random(seed), 120))
        image, effects = MetadataImage.EMPTY, Effects(MetadataImage.EMPTY)
        for row in effective_rows(log.batches(), 0, log.end_offset):
            before, image = image, _after(image, row)
            wanted = [(c.object, c.field, c.before, c.after) for c in diff_images(before, image)]
            effect = effects.of(row)
            found = effective_changes_of(effect)
            assert [(c.object, c.field, c.before, c.after) for c in found] == wanted, row
            _check_order(effect)
            kinds |= {change[0].partition(":")[0] for change in wanted}
    assert kinds == set(KINDS)


def _check_order(effect: Effect) -> None:
    """Check that each object is there once, in an order that does not depend on the process."""
    places = [(list(KINDS).index(each.kind.name), each.key) for each in effect.touched]
    assert len(set(places)) == len(places)
    assert [kind for kind, _ in places] == sorted(kind for kind, _ in places)
    for name in ("partition", "voter"):
        keys = [each.key for each in effect.touched if each.kind.name == name]
        assert keys == sorted(keys), effect.row


def test_each_type_of_record_changes_objects_or_is_known_not_to() -> None:
    assert {*AFFECTED, *WITHOUT_EFFECT} == {*RULES}
    assert WITHOUT_EFFECT.isdisjoint(AFFECTED)


@pytest.mark.parametrize("seed", range(4))
def test_an_effect_is_right_after_records_whose_effects_nobody_asked_for(seed: int) -> None:
    rng = random.Random(seed)
    log = FakeLog(random_history(rng, 120))
    image, effects = MetadataImage.EMPTY, Effects(MetadataImage.EMPTY)
    for row in effective_rows(log.batches(), 0, log.end_offset):
        before, image = image, _after(image, row)
        if rng.random() < 0.5:
            effects.apply(row)
            continue
        wanted = [(c.object, c.field, c.before, c.after) for c in diff_images(before, image)]
        found = effective_changes_of(effects.of(row))
        assert [(c.object, c.field, c.before, c.after) for c in found] == wanted, row


@pytest.mark.parametrize("seed", range(4))
def test_changes_of_a_log_add_up_to_the_changes_of_its_parts(seed: int) -> None:
    rng = random.Random(seed)
    log = FakeLog(random_history(rng, 120))
    whole = changes_in(log)
    middle = rng.choice([b.end_offset for b in log.batches() if _is_outside(log, b)])
    assert changes_in(log, 0, middle) + changes_in(log, middle) == whole
    assert {in_effect for *_, in_effect in whole} == {True, False}


def _is_outside(log: FakeLog, batch: Batch) -> bool:
    image = Timeline(log).image(batch.end_offset - 1)
    return image.provenance.pending_transaction is None


def _after(image: MetadataImage, row: Envelope) -> MetadataImage:
    delta = MetadataDelta(image)
    delta.replay(row)
    return delta.apply(Provenance(offset=row.offset))
