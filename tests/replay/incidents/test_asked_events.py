"""Who asked for what the records of an event did."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import pytest

from metadata_log.format.batch import Batch
from records.errors import CorruptLogError
from replay.image.metadata import MetadataImage
from replay.incidents.event import TimelineEvent
from replay.incidents.events import timeline_events
from replay.timeline import Timeline
from tests.replay.asked_log import asked_log, who_asked
from tests.replay.builders import Base, FakeLog, image_after

pytestmark = pytest.mark.usefixtures("either_codec")

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


def test_damage_before_the_range_leaves_its_events_without_who_asked() -> None:
    for start in range(1, len(_WHOLE)):
        first = _WHOLE[start].base_offset
        log = _Damaged(_WHOLE, first=first)
        images = defaultdict[int, MetadataImage](partial(image_after, _WHOLE[:start]))
        events = timeline_events(log, first, log.end_offset, images.__getitem__)
        assert events
        told = {each.offset for event in events for each in event.asked or ()}
        assert all(offset >= first for offset in told)


@dataclass(frozen=True)
class _Damaged(FakeLog):
    """A log of which only the records from an offset on can be read."""

    first: int = 0

    def batches(
        self, from_offset: int | None = None, to_offset: int | None = None
    ) -> Iterator[Batch]:
        if from_offset is None or from_offset < self.first:
            raise CorruptLogError("0.avro byte 7: the checksum is wrong")
        return super().batches(from_offset, to_offset)
