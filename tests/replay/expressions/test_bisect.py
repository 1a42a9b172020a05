"""Bisect finds the same offset as an evaluation at every offset."""

import random
from typing import Any

import pytest

from metadata_log.reader.log_reader import LogReader
from records.base import Record
from records.control import BeginTransactionRecord, EndTransactionRecord, NoOpRunRecord
from records.errors import RequestError
from records.topics import RemoveTopicRecord
from replay.expressions.bisect import find_flips, find_only_flip, holds
from replay.expressions.expression import Expression
from replay.image.metadata import MetadataImage
from replay.loader import BatchSource, images, load_image
from tests.histories import random_history
from tests.real_logs import DataSet, each_data_set_where
from tests.replay.builders import FakeLog, batches, broker, change, partition, topic, uid
from tests.replay.expressions.generated import Expressions
from tests.replay.incidents.real import imported

Found = tuple[list[tuple[int, Any]], int | None]

_SMALL = 3_000


def at_every_offset(source: BatchSource, texts: list[str], start: MetadataImage) -> list[Found]:
    """Evaluate expressions at the end of every batch outside transactions."""
    expressions = [Expression(text) for text in texts]
    values = [each.evaluate(start) for each in expressions]
    found: list[Found] = [([], None) for _ in texts]
    first = max(start.provenance.next_offset, source.history_start)
    for batch, image in images(source, first, source.end_offset, start=start):
        if image.provenance.pending_transaction is not None:
            continue
        offset = batch.end_offset - 1
        for index, expression in enumerate(expressions):
            flips, first_held = found[index]
            value = expression.evaluate(image)
            if (value, type(value)) != (values[index], type(values[index])):
                flips.append((offset, value))
                values[index] = value
            if first_held is None and holds(value):
                found[index] = (flips, offset)
    return found


def by_bisect(source: BatchSource, text: str, start: MetadataImage) -> Found:
    """Return the result of bisect."""
    flips = find_flips(source, Expression(text), start, source.end_offset)
    return [(flip.offset, flip.value) for flip in flips.found], flips.first


@pytest.mark.parametrize("seed", range(12))
def test_flips_of_random_histories_are_those_of_an_evaluation_at_every_offset(seed: int) -> None:
    rng = random.Random(seed)
    log = FakeLog(random_history(rng, 60))
    all_images = [image for _, image in images(log, 0, log.end_offset)]
    expressions = Expressions(rng, all_images)
    texts = [expressions.some() for _ in range(25)]
    start = load_image(log, rng.choice((-1, log.end_offset // 2)))
    for text, expected in zip(texts, at_every_offset(log, texts, start), strict=True):
        assert by_bisect(log, text, start) == expected, text


@each_data_set_where(lambda data_set: sum(s.record_count for s in data_set.segments) < _SMALL)
def test_flips_of_real_logs_are_those_of_an_evaluation_at_every_offset(
    data_set: DataSet, tmp_path: Any
) -> None:
    rng = random.Random(str(data_set))
    with LogReader.open(imported(data_set, tmp_path)) as reader:
        start, end = load_image(reader, reader.history_start - 1), load_image(reader)
        expressions = Expressions(rng, [start, end])
        texts = [expressions.some() for _ in range(6)]
        for text, expected in zip(texts, at_every_offset(reader, texts, start), strict=True):
            assert by_bisect(reader, text, start) == expected, text


_ORDERS: list[list[Record]] = [
    [broker(1, fenced=False, broker_epoch=1), broker(2, fenced=False, broker_epoch=2)],
    [topic("orders"), partition("orders", 0, replicas=(1, 2), isr=(1, 2))],
    [change("orders", 0, leader=-1)],
    [change("orders", 0, leader=2)],
    [RemoveTopicRecord(topic_id=uid("orders"))],
]


def _flips(text: str, groups: list[list[Record]] = _ORDERS) -> Found:
    log = FakeLog(batches(*groups))
    return by_bisect(log, text, load_image(log, -1))


def test_every_flip_of_a_condition_is_found() -> None:
    text = 'topics["orders"].partitions[0].leader == -1'
    assert _flips(text) == ([(4, True), (5, False)], 4)


def test_every_change_of_a_value_is_found() -> None:
    text = 'topics["orders"].partitions[0].leader'
    assert _flips(text) == ([(3, 1), (4, -1), (5, 2), (6, None)], 3)


def test_what_holds_before_the_range_holds_at_its_first_batch() -> None:
    assert _flips("size(topics) == 0") == ([(3, False), (6, True)], 1)


def test_a_run_of_noops_ends_a_batch_at_each_of_its_offsets() -> None:
    run = NoOpRunRecord(count=10, batch_count=10, last_timestamp=900)
    log = FakeLog(batches(_ORDERS[0], [run]))
    expression = Expression("size(brokers) == 2")
    for first, end in ((2, 12), (2, 5), (5, 12), (6, 8)):
        start = load_image(log, first - 1)
        assert find_flips(log, expression, start, end).first == first
        found = find_only_flip(log, expression, lambda at: load_image(log, at), [], first, end)
        assert found.first == first


def test_inside_a_transaction_nothing_flips() -> None:
    groups: list[list[Record]] = [
        [BeginTransactionRecord(), *_ORDERS[0]],
        _ORDERS[1],
        [change("orders", 0, leader=-1), EndTransactionRecord()],
    ]
    assert _flips('topics["orders"].partitions[0].leader', groups) == ([(6, -1)], 6)


def test_a_flip_names_the_first_record_that_may_have_caused_it() -> None:
    log = FakeLog(batches(*_ORDERS))
    expression = Expression('topics["orders"].partitions[0].leader')
    flips = find_flips(log, expression, load_image(log, -1), log.end_offset)
    assert [(flip.cause, flip.type) for flip in flips.found] == [
        (2, "TopicRecord"),
        (4, "PartitionChangeRecord"),
        (5, "PartitionChangeRecord"),
        (6, "RemoveTopicRecord"),
    ]


def test_types_that_do_not_fit_are_refused_with_the_column() -> None:
    with pytest.raises(RequestError, match=r"column 12: .*neither true nor false"):
        _flips("1 == 1 && (size(topics))")


@pytest.mark.parametrize("seed", range(4))
def test_halving_finds_the_only_flip(seed: int) -> None:
    rng = random.Random(seed)
    log = FakeLog(random_history(rng, 60))
    ends = sorted(rng.sample(range(1, log.end_offset), 8))
    start = load_image(log, -1)
    for text in (
        "size(notes) > 0",
        "size(topics) >= 0",
        "size(acls) > 1000",
        "has(cluster.producer_ids)",
    ):
        (expected,) = at_every_offset(log, [text], start)
        if len(expected[0]) > 1:
            continue
        found = find_only_flip(
            log, Expression(text), lambda at: load_image(log, at), ends, 0, log.end_offset
        )
        assert [(flip.offset, flip.value) for flip in found.found] == expected[0]
        assert found.first == expected[1]
        assert found.assumed is not None


def test_of_what_never_flips_the_middle_and_the_newest_image_are_enough() -> None:
    history = batches((topic("t"), partition("t", 0)), *[[change("t", 0, isr=(1,))]] * 20)
    log, looked_at = FakeLog(history), list[int]()

    def image_at(at: int) -> MetadataImage:
        looked_at.append(at)
        return load_image(log, at)

    never = Expression("partitions.exists(p, p.leader == -1)")
    flips = find_only_flip(log, never, image_at, range(2, 20), 2, log.end_offset)
    assert not flips.found and flips.before is False
    assert looked_at == [1, 10, 18]
