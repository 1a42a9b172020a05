"""A few kills of a real process, and tests that broken promises are noticed."""

from metadata_log.format.batch import Batch
from records.envelope import Envelope
from tests.torture.campaigns import kills
from tests.torture.killed.answers import broken_promises, parse
from tests.torture.killed.writer import record

TOLD = b"opened\n0 0 10\n1 0 11\n0 1 12\n1 1 1"


def batch(offset: int, caller: int, count: int, round_number: int = 7) -> Batch:
    row = Envelope(
        offset=offset,
        leader_epoch=1,
        timestamp=0,
        batch_offset=offset,
        record_version=0,
        payload=record(round_number, caller, count),
    )
    return Batch.of([row])


def test_killed_writer_has_lost_nothing_that_it_answered() -> None:
    outcome = kills.kill_some_times(11, 2, seconds_max=2)
    assert outcome.failures == ()
    assert "appends answered" in outcome.notes[0]


def test_one_unanswered_append_of_each_caller_may_be_committed() -> None:
    log = [batch(10, 0, 0), batch(11, 1, 0), batch(12, 0, 1), batch(13, 1, 1), batch(14, 0, 2)]
    assert broken_promises(parse(7, TOLD), log[:3]) == []
    assert broken_promises(parse(7, TOLD), log) == []


def test_lost_answer_is_noticed() -> None:
    (broken,) = broken_promises(parse(7, TOLD), [batch(10, 0, 0), batch(11, 1, 0)])
    assert broken == "lost: caller 0 was told of 2 appends, 1 are there"


def test_append_that_was_never_requested_is_noticed() -> None:
    log = [batch(10, 0, 0), batch(11, 1, 0), batch(12, 0, 1), batch(13, 0, 2), batch(14, 0, 3)]
    assert "phantom: 7/0/3" in broken_promises(parse(7, TOLD), log)[0]
    assert "phantom" in broken_promises(parse(7, TOLD), [*log[:3], batch(13, 0, 9, 6)])[0]


def test_appends_in_another_order_are_noticed() -> None:
    log = [batch(10, 1, 0), batch(11, 0, 0), batch(12, 0, 1)]
    assert broken_promises(parse(7, TOLD), log) == [
        "7/1/0 was told to be at 11, is at 10",
        "7/0/0 was told to be at 10, is at 11",
    ]
