"""One step in the history of an object is the same as in the whole history, with fewer reads."""

import random
from collections.abc import Iterator

from hypothesis import given, settings
from hypothesis import strategies as st

from metadata_log.format.batch import Batch
from records.errors import RequestError
from replay.loader import BatchSource, images
from replay.time_travel.history import change_after, change_before, history
from replay.time_travel.kinds import KINDS
from replay.time_travel.object_events import Event
from replay.time_travel.objects import ObjectName, parse_object
from tests.histories import random_history
from tests.replay.builders import FakeLog


class CountingLog(FakeLog):
    """Counts the batches that were read."""

    count = 0

    def batches(
        self, from_offset: int | None = None, to_offset: int | None = None
    ) -> Iterator[Batch]:
        """Yield the batches of a range."""
        for batch in super().batches(from_offset, to_offset):
            CountingLog.count += 1
            yield batch


def _names(log: BatchSource) -> list[str]:
    found = {
        f"{kind.name}:{kind.label(image, key)}"
        for _, image in images(log, log.history_start, log.end_offset)
        for kind in KINDS.values()
        for key, _ in kind.objects(image)
    }
    return sorted(found)


def _history(log: BatchSource, name: ObjectName, end: int) -> list[Event]:
    try:
        return list(history(log, name, end))
    except RequestError:
        return []


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 2**32), st.integers(2, 60))
def test_step_from_any_offset_is_that_of_the_whole_history(seed: int, count: int) -> None:
    rng = random.Random(seed)
    log = CountingLog(random_history(rng, count))
    names = _names(log)
    for text in rng.sample(names, min(len(names), 6)):
        name = parse_object(text)
        for at in (-1, log.end_offset - 1, rng.randrange(log.end_offset)):
            later = (e for e in _history(log, name, log.end_offset) if e.row.offset > at)
            assert change_after(log, name, at) == next(later, None), (text, at)
            earlier = iter(reversed(_history(log, name, max(at, 0))))
            assert change_before(log, name, at) == next(earlier, None), (text, at)


def test_step_back_to_a_change_reads_at_most_what_leads_up_to_it() -> None:
    log = CountingLog(random_history(random.Random(7), 80))
    for text in _names(log)[::7]:
        name = parse_object(text)
        for event in _history(log, name, log.end_offset)[1:]:
            CountingLog.count = 0
            back = change_before(log, name, event.row.offset)
            back_read, CountingLog.count = CountingLog.count, 0
            assert back is not None, text
            change_after(log, name, back.row.offset)
            assert back_read <= CountingLog.count, text
