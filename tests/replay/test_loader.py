"""The loader: positions, transactions and provenance of the images made from batches."""

import pytest

from records.base import Record
from records.control import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    EndTransactionRecord,
    KRaftVersionRecord,
    LeaderChangeMessage,
    NoOpRecord,
    NoOpRunRecord,
)
from records.errors import ContradictionError, CorruptLogError, RequestError, UnknownHistoryError
from replay.image.digest import image_digest
from replay.image.metadata import MetadataImage
from replay.image.provenance import Provenance
from replay.loader import Replayer, images, load_image
from tests.replay.builders import Base, FakeLog, batch, batches, change, partition, topic, uid

BEGIN = BeginTransactionRecord(name="move")
END = EndTransactionRecord()
ABORT = AbortTransactionRecord(reason="failover")
KRAFT_VERSION = KRaftVersionRecord(version=0, kraft_version=1)


def _names(image: MetadataImage) -> set[str]:
    return {each.name for each in image.topics()}


def _replayed(*groups: tuple[Record, ...]) -> Replayer:
    replayer = Replayer()
    for each in batches(*groups):
        replayer.replay(each)
    return replayer


def _at(log: FakeLog, offset: int) -> tuple[set[str], Provenance]:
    image = load_image(log, offset)
    return _names(image), image.provenance


def test_image_names_the_last_offset_its_epoch_and_its_time() -> None:
    replayer = Replayer()
    replayer.replay(batch(0, topic("t"), topic("u"), leader_epoch=3, timestamp=77))
    assert replayer.image().provenance == Provenance(offset=1, leader_epoch=3, timestamp=77)
    assert replayer.next_offset == 2


def test_replayer_without_batches_gives_the_image_it_started_with() -> None:
    assert Replayer().image() is MetadataImage.EMPTY
    image = _replayed((topic("t"),)).image()
    assert Replayer(image).image() is image


def test_missing_offsets_are_damage() -> None:
    replayer = _replayed((topic("t"),))
    with pytest.raises(CorruptLogError, match="offset 1: missing, the next batch starts at 3"):
        replayer.replay(batch(3, topic("u")))


def test_batch_that_the_image_contains_is_not_applied_again() -> None:
    log = batches((topic("t"),), (topic("u"),))
    replayer = _replayed((topic("t"),), (topic("u"),))
    before = replayer.image()
    for each in log:
        replayer.replay(each)
    assert replayer.image() is before


def test_batch_that_the_image_contains_in_part_is_applied_from_the_first_new_offset() -> None:
    whole = batch(0, topic("t"), partition("t", 0), change("t", 0), change("t", 0))
    for up_to in range(4):
        first = Replayer()
        first.replay(whole, up_to=up_to)
        second = Replayer(first.image())
        second.replay(whole)
        found = second.image().partition(uid("t"), 0)
        assert found is not None and found.partition_epoch == 2
        assert second.image().provenance == Provenance(offset=3, leader_epoch=1, timestamp=0)


def test_point_inside_a_batch_is_marked() -> None:
    log = FakeLog(batches((topic("t"),), (topic("u"), topic("v"))))
    assert _at(log, 0) == ({"t"}, Provenance(offset=0, leader_epoch=1, timestamp=0))
    assert _at(log, 1) == (
        {"t", "u"},
        Provenance(offset=1, leader_epoch=1, timestamp=1_000, mid_batch=True),
    )
    assert _at(log, 2) == ({"t", "u", "v"}, Provenance(offset=2, leader_epoch=1, timestamp=1_000))


def test_every_point_inside_a_run_of_noops_is_the_end_of_a_batch() -> None:
    run = NoOpRunRecord(count=5, batch_count=5, last_timestamp=9_000)
    log = FakeLog(batches((topic("t"),), (run,), (topic("u"),)))
    for offset in range(1, 5):
        assert _at(log, offset) == (
            {"t"},
            Provenance(offset=offset, leader_epoch=1, timestamp=1_000),
        )
    assert _at(log, 5)[1] == Provenance(offset=5, leader_epoch=1, timestamp=9_000)
    assert _at(log, 6)[0] == {"t", "u"}


def test_run_of_noops_can_be_continued_from_its_inside() -> None:
    run = NoOpRunRecord(count=5, batch_count=5, last_timestamp=9_000)
    log = FakeLog(batches((run,), (topic("u"),)))
    inside = load_image(log, 2)
    assert load_image(log, start=inside) == load_image(log)


def test_run_of_noops_that_shares_its_batch_is_marked_inside() -> None:
    run = NoOpRunRecord(count=5, batch_count=5, last_timestamp=9_000)
    log = FakeLog(batches((topic("t"), run)))
    assert _at(log, 3)[1].mid_batch is True


def test_nothing_of_an_open_transaction_is_visible() -> None:
    log = FakeLog(batches((topic("t"),), (BEGIN, topic("u")), (topic("v"),), (END, topic("w"))))
    before = Provenance(offset=0, leader_epoch=1, timestamp=0, pending_transaction=1)
    for offset in range(1, 4):
        assert _at(log, offset) == ({"t"}, before)
    assert _at(log, 4)[0] == {"t", "u", "v"}
    assert _at(log, 4)[1] == Provenance(offset=4, leader_epoch=1, timestamp=4_000, mid_batch=True)
    assert _at(log, 5)[0] == {"t", "u", "v", "w"}


def test_image_inside_a_transaction_equals_the_one_before_begin() -> None:
    log = FakeLog(batches((topic("t"),), (BEGIN,), (topic("u"),), (END,)))
    inside, before = load_image(log, 2), load_image(log, 0)
    assert inside.provenance.next_offset == inside.provenance.pending_transaction == 1
    assert image_digest(inside) == image_digest(before)


def test_aborted_transaction_never_happened() -> None:
    log = FakeLog(batches((BEGIN, topic("t")), (topic("u"),), (ABORT, topic("t")), (topic("u"),)))
    assert _at(log, 2) == (set(), Provenance(pending_transaction=0))
    assert _at(log, 3)[0] == set()
    assert _at(log, 5)[0] == {"t", "u"}


def test_records_before_begin_in_the_same_batch_take_effect_at_once() -> None:
    log = FakeLog(batches((topic("t"), BEGIN, topic("u")), (END,)))
    assert _at(log, 2) == (
        {"t"},
        Provenance(offset=0, leader_epoch=1, timestamp=0, mid_batch=True, pending_transaction=1),
    )
    assert _at(log, 3)[0] == {"t", "u"}


def test_transaction_may_begin_and_end_in_one_batch() -> None:
    log = FakeLog(
        batches((BEGIN, topic("t"), END, BEGIN, topic("u"), ABORT, BEGIN, topic("v"), END))
    )
    assert _at(log, 8) == ({"t", "v"}, Provenance(offset=8, leader_epoch=1, timestamp=0))
    assert _at(log, 7)[1].pending_transaction == 6


def test_contradiction_inside_an_aborted_transaction_is_harmless() -> None:
    assert _names(_replayed((BEGIN, topic("t"), topic("t")), (ABORT,)).image()) == set()


def test_contradiction_inside_a_transaction_names_the_record_not_its_end() -> None:
    with pytest.raises(ContradictionError, match="offset 2: TopicRecord"):
        _replayed((BEGIN, topic("t"), topic("t")), (END,))


@pytest.mark.parametrize(
    ("records", "message"),
    [
        ((BEGIN, NoOpRecord(), BEGIN), "offset 2: .* inside the transaction that began at 0"),
        ((NoOpRecord(), END), "offset 1: EndTransactionRecord: outside a transaction"),
        ((BEGIN, ABORT, ABORT), "offset 2: AbortTransactionRecord: outside a transaction"),
    ],
)
def test_transactions_neither_nest_nor_end_twice(records: tuple[Record, ...], message: str) -> None:
    with pytest.raises(ContradictionError, match=message):
        _replayed(records)


@pytest.mark.parametrize("ending", [END, ABORT])
def test_replay_can_go_on_from_inside_a_transaction(ending: Record) -> None:
    log = FakeLog(batches((topic("t"), BEGIN, topic("u")), (topic("v"),), (ending, topic("w"))))
    for offset in range(6):
        assert load_image(log, start=load_image(log, offset)) == load_image(log)


def test_images_give_one_after_each_batch_of_the_range() -> None:
    log = FakeLog(batches((topic("t"),), (topic("u"), topic("v")), (topic("w"),), (topic("x"),)))
    steps = list(images(log, 2, 4))
    assert [step.base_offset for step, _ in steps] == [1, 3]
    assert [_names(image) for _, image in steps] == [{"t", "u", "v"}, {"t", "u", "v", "w"}]
    for step, image in steps:
        assert image == load_image(log, step.end_offset - 1)


@pytest.mark.parametrize("ending", [END, ABORT])
def test_control_record_inside_a_transaction_takes_effect_when_it_is_closed(ending: Record) -> None:
    log = FakeLog(batches((BEGIN, topic("t")), (KRAFT_VERSION,), (ending,)))
    assert [load_image(log, at).kraft_version for at in range(4)] == [None, None, None, 1]


def test_images_stay_the_same_inside_a_transaction() -> None:
    log = FakeLog(batches((topic("t"),), (BEGIN,), (topic("u"),), (END,)))
    assert [_names(image) for _, image in images(log, 0, 4)] == [{"t"}] * 3 + [{"t", "u"}]


def test_images_can_start_from_an_image() -> None:
    log = FakeLog(batches((topic("t"),), (topic("u"),), (topic("v"),)))
    assert list(images(log, 2, 3, start=load_image(log, 0))) == list(images(log, 2, 3))


def test_images_refuse_what_is_not_there() -> None:
    log = FakeLog(batches((topic("t"),), base_offset=5), Base(6))
    with pytest.raises(UnknownHistoryError, match="history starts at 6"):
        list(images(log, 5, 6))
    with pytest.raises(RequestError, match="ends at 6"):
        list(images(log, 6, 7))
    assert list(images(log, 6, 6)) == []


def test_point_past_the_end_is_refused() -> None:
    log = FakeLog(batches((topic("t"),), (topic("u"),)))
    with pytest.raises(
        RequestError, match=r"offset 2 is past the end: the log ends at 2"
    ) as caught:
        load_image(log, 2)
    assert caught.value.code == "OFFSET_OUT_OF_RANGE"
    assert not isinstance(caught.value, UnknownHistoryError)


def test_point_before_the_history_is_unknown() -> None:
    log = FakeLog(batches((topic("t"), topic("u")), base_offset=5), Base(7, (topic("v"),)))
    with pytest.raises(UnknownHistoryError, match="offset 5 is unknown: history starts at 7"):
        load_image(log, 5)
    with pytest.raises(UnknownHistoryError, match="offset -2 is unknown: history starts at 0"):
        load_image(FakeLog(), -2)


def test_point_before_the_first_kept_record_is_the_base_state() -> None:
    base = Base(5, (topic("t"),), leader_epoch=4, timestamp=44)
    log = FakeLog(batches((topic("u"),), base_offset=5), base)
    assert _at(log, 4) == ({"t"}, Provenance(offset=4, leader_epoch=4, timestamp=44))
    assert _at(log, 5)[0] == {"t", "u"}
    assert load_image(FakeLog(batches((topic("u"),))), -1) == MetadataImage.EMPTY


def test_records_below_the_base_state_are_kept_for_reading_but_not_replayed() -> None:
    log = FakeLog(
        batches((topic("t"),), (topic("u"), topic("v")), base_offset=3),
        Base(5, (topic("t"), topic("u"))),
    )
    assert _names(load_image(log)) == {"t", "u", "v"}


def test_base_state_of_an_empty_log_contains_no_offset() -> None:
    log = FakeLog(batches((topic("u"),)), Base(0, (topic("t"),)))
    assert _at(log, -1) == ({"t"}, Provenance())
    assert _at(log, 0)[0] == {"t", "u"}


def test_base_state_that_contradicts_itself_is_damage() -> None:
    with pytest.raises(CorruptLogError, match="offset 1: TopicRecord"):
        load_image(FakeLog((), Base(9, (topic("t"), topic("t")))))
    with pytest.raises(CorruptLogError, match="offset 0: BeginTransactionRecord"):
        load_image(FakeLog((), Base(9, (BEGIN,))))


def test_log_may_begin_above_zero_without_a_base() -> None:
    log = FakeLog(batches((topic("t"),), (topic("u"),), base_offset=7))
    assert _at(log, 7)[0] == {"t"}
    assert load_image(log, 6) == MetadataImage.EMPTY


def test_load_goes_on_from_an_image() -> None:
    log = FakeLog(batches((topic("t"),), (topic("u"),), (topic("v"),)))
    start = load_image(log, 0)
    assert load_image(log, 1, start=start) == load_image(log, 1)
    assert load_image(log, 0, start=start) is start


def test_image_that_is_older_than_the_history_is_left_aside() -> None:
    whole = FakeLog(batches((topic("t"),), (topic("u"),), (topic("v"),)))
    cut = FakeLog(whole.log[2:], Base(2, (topic("t"), topic("u"))))
    assert load_image(cut, start=load_image(whole, 0)) == load_image(cut)


def test_image_newer_than_the_point_is_a_mistake_of_the_caller() -> None:
    log = FakeLog(batches((topic("t"),), (topic("u"),)))
    with pytest.raises(AssertionError, match="newer"):
        load_image(log, 0, start=load_image(log))


def test_progress_reports_the_end_of_each_batch() -> None:
    log = FakeLog(batches((topic("t"), topic("u")), (topic("v"),), (topic("w"), topic("x"))))
    seen: list[int] = []
    load_image(log, 3, progress=seen.append)
    assert seen == [2, 3, 4]


def test_leader_change_inside_a_transaction_is_not_a_gap() -> None:
    change_of_leader = LeaderChangeMessage(version=0, leader_id=1, voters=(), granting_voters=())
    replayer = _replayed((BEGIN, topic("t")), (change_of_leader,), (ABORT,), (topic("u"),))
    assert _names(replayer.image()) == {"u"}
