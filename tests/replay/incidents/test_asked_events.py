"""Who asked for what the records of an event did."""

from collections import defaultdict

import pytest

from replay.incidents.event import TimelineEvent
from replay.timeline import Timeline
from tests.replay.asked_log import asked_log, who_asked
from tests.replay.builders import Base, FakeLog, image_after

_WHOLE = asked_log()


def _askers(events: list[TimelineEvent]) -> dict[int, set[str]]:
    """Return who asked for what events did, by the first offsets of their batches."""
    batches = {row.offset: row.batch_offset for batch in _WHOLE for row in batch.rows}
    found = defaultdict[int, set[str]](set)
    for event in events:
        for each in event.asked or ():
            assert each.principal is not None and each.reason is not None
            found[batches[event.from_offset]].add(each.principal.removeprefix("User:"))
    return found


def _expected(first: int) -> dict[int, set[str]]:
    batches = {row.offset: row.batch_offset for batch in _WHOLE for row in batch.rows}
    found = defaultdict[int, set[str]](set)
    for offset, who in who_asked().items():
        if batches[offset] >= first:
            found[batches[offset]] |= set(who.split())
    return found


@pytest.mark.parametrize("start", range(len(_WHOLE)))
def test_events_from_any_point_name_who_asked(start: int) -> None:
    # Plans from before the range, too.
    first = _WHOLE[start].base_offset
    log = FakeLog(_WHOLE)
    assert _askers(Timeline(log).events(first, log.end_offset)) == _expected(first)


def test_an_event_names_all_who_asked_and_where() -> None:
    log = FakeLog(_WHOLE)
    events = Timeline(log).events(0, log.end_offset)
    (event,) = [event for event in events if event.text == "partitions 1, 2 of orders removed"]
    assert event.principal == "User:broker-1"
    assert [(each.offset, each.principal) for each in event.asked or ()] == [
        (20, "User:eve"),
        (22, "User:gus"),
    ]


def test_what_was_asked_before_the_kept_history_is_left_out() -> None:
    for cut in range(1, len(_WHOLE)):
        base = Base.of(image_after(_WHOLE[:cut]))
        log = FakeLog(_WHOLE[cut:], base=base)
        events = Timeline(log).events(base.end_offset, log.end_offset)
        for batch, who in _askers(events).items():
            assert who <= _expected(0)[batch]
        offsets = [each.offset for event in events for each in event.asked or ()]
        assert all(offset >= base.end_offset for offset in offsets)
