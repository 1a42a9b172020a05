"""A shrunk history still flips the expression, and no row of it can be left out."""

import random
from collections.abc import Sequence
from itertools import pairwise

import pytest

from records.base import Record
from records.control import BeginTransactionRecord, EndTransactionRecord
from records.envelope import Envelope
from records.errors import ContradictionError, RequestError
from records.topics import RemoveTopicRecord
from replay.expressions.bisect import find_flips, holds
from replay.expressions.expression import Expression
from replay.expressions.shrink import BASE, Atom, Shrunk, atoms_of, shrink, up_to_flip
from replay.image.delta import MetadataDelta
from replay.image.metadata import MetadataImage
from replay.image.provenance import Provenance
from replay.loader import load_image
from tests.histories import random_history
from tests.replay.builders import FakeLog, batches, broker, change, partition, topic
from tests.replay.expressions.generated import Expressions

_PLENTY = 10**9


def shrunk(
    log: FakeLog,
    text: str,
    *,
    breaks: bool = False,
    start: MetadataImage = MetadataImage.EMPTY,
    records_max: int = _PLENTY,
) -> tuple[int, Shrunk] | None:
    """Shrink a log; also return the offset of the flip."""
    expression = Expression(text)
    rows = log.batches(start.provenance.next_offset, log.end_offset)
    atoms = up_to_flip(atoms_of(start, rows, log.end_offset), expression, breaks=breaks)
    if atoms is None:
        return None
    found = shrink(atoms, expression, breaks=breaks, records_max=records_max)
    return atoms[-1].unit, found


def flips_by(units: Sequence[Atom], text: str, wanted: bool) -> bool:
    """Evaluate after every unit; True if the expression has flipped by the last one."""
    expression, image, is_ready = Expression(text), MetadataImage.EMPTY, False
    units = units if units and units[0].unit == BASE else [Atom(BASE, ()), *units]
    for unit in units:
        delta = MetadataDelta(image)
        for row in unit.rows:
            delta.replay(row)
        image = delta.apply(Provenance())
        is_wanted = holds(expression.evaluate(image)) is wanted
        if is_wanted and is_ready and unit.unit != BASE:
            return True
        is_ready = is_ready or not is_wanted
    return False


def without(units: Sequence[Atom], row: Envelope) -> list[Atom]:
    """Return the units without one row."""
    return [Atom(u.unit, tuple([each for each in u.rows if each is not row])) for u in units]


def assert_is_minimal(found: Shrunk, text: str, wanted: bool) -> None:
    """Check that without any one row the history contradicts itself or does not flip."""
    assert found.is_minimal
    assert flips_by(found.units, text, wanted)
    for row in [row for unit in found.units for row in unit.rows]:
        try:
            is_flipped = flips_by(without(found.units, row), text, wanted)
        except (ContradictionError, RequestError):
            continue
        assert not is_flipped, (text, row)


@pytest.mark.parametrize("seed", range(8))
def test_shrunk_random_histories_still_flip_and_are_minimal(seed: int) -> None:
    rng = random.Random(seed)
    log = FakeLog(random_history(rng, 60))
    start = load_image(log, rng.choice((-1, log.end_offset // 3)))
    expressions = Expressions(rng, [load_image(log), load_image(log, log.end_offset // 2)])
    done = 0
    for text in [expressions.some() for _ in range(40)]:
        breaks = rng.random() < 0.5
        found = shrunk(log, text, breaks=breaks, start=start)
        flips = find_flips(log, Expression(text), start, log.end_offset)
        values = [(None, flips.before), *((each.offset, each.value) for each in flips.found)]
        expected = [
            offset
            for (_, old), (offset, new) in pairwise(values)
            if holds(new) is not breaks and holds(old) is breaks
        ]
        if found is None:
            assert not expected, text
            continue
        offset, result = found
        assert offset == expected[0], text
        assert_is_minimal(result, text, not breaks)
        done += 1
    assert done > 3


_STORY: list[list[Record]] = [
    [broker(1), broker(2)],
    [topic("a"), partition("a", 0), partition("a", 1)],
    [topic("b"), partition("b", 0)],
    [change("b", 0, isr=(1,))],
    [change("a", 1, isr=(1,), leader=-1)],
    [RemoveTopicRecord(topic_id=topic("b").topic_id)],
]
_LEADERLESS = "partitions.exists(p, p.leader == -1)"


def _offsets(found: Shrunk) -> list[list[int]]:
    return [[row.offset for row in unit.rows] for unit in found.units]


def test_only_what_leads_to_the_flip_is_left() -> None:
    found = shrunk(FakeLog(batches(*_STORY)), _LEADERLESS)
    assert found is not None
    assert found[0] == 8
    # The topic, its partition and the change; nothing of brokers or other topics.
    assert _offsets(found[1]) == [[2, 4], [8]]


def test_flip_to_not_holding() -> None:
    found = shrunk(FakeLog(batches(*_STORY)), "size(topics) < 2", breaks=True)
    assert found is not None
    assert found[0] == 6
    assert _offsets(found[1]) == [[2], [5]]


def test_what_always_holds_has_to_cease_first() -> None:
    assert shrunk(FakeLog(batches(*_STORY)), "size(topics) < 3") is None
    found = shrunk(FakeLog(batches(*_STORY)), "size(topics) < 2")
    assert found is not None
    assert _offsets(found[1]) == [[2], [5], [9]]


def test_state_before_the_range_is_shrunk_too() -> None:
    log = FakeLog(batches(*_STORY))
    found = shrunk(log, _LEADERLESS, start=load_image(log, 7))
    assert found is not None
    base, flip = found[1].units
    assert base.unit == BASE
    names = [type(row.payload).__name__ for row in base.rows]
    assert names == ["TopicRecord", "PartitionRecord"]
    assert [row.offset for row in flip.rows] == [8]


def test_transaction_counts_as_a_whole_at_its_end() -> None:
    log = FakeLog(
        batches(
            [topic("a")],
            [BeginTransactionRecord(), partition("a", 0, leader=-1)],
            [change("a", 0, leader=1), EndTransactionRecord()],
            [change("a", 0, leader=-1)],
        )
    )
    found = shrunk(log, _LEADERLESS)
    assert found is not None
    assert found[0] == 5  # not 2, inside the transaction
    assert _offsets(found[1]) == [[0], [2]]


def test_search_that_is_stopped_says_so() -> None:
    found = shrunk(FakeLog(batches(*_STORY)), _LEADERLESS, records_max=1)
    assert found is not None
    assert not found[1].is_minimal
    assert flips_by(found[1].units, _LEADERLESS, True)


def test_same_history_gives_the_same_answer() -> None:
    log = FakeLog(random_history(random.Random(3), 80))
    first, second = (shrunk(log, "size(topics) > 2") for _ in range(2))
    assert first is not None and second is not None
    assert _offsets(first[1]) == _offsets(second[1])
