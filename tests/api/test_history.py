"""The last images of a service, and what changed between them."""

import asyncio
import sys
import threading

from api.service.history import History
from benchmarks.new_partition import new_partition
from controller.results.decided import Decided
from records.base import Record, Uuid
from records.control import (
    BeginTransactionRecord,
    EndTransactionRecord,
    NoOpRecord,
)
from records.topics import TopicRecord
from replay.image.metadata import MetadataImage
from replay.loader import Replayer

A, B = Uuid(b"a" * 16), Uuid(b"b" * 16)


def created(topic_id: Uuid) -> TopicRecord:
    return TopicRecord(name=topic_id[:1].decode(), topic_id=topic_id)


class Log:
    """Batches one after the other, with the image after each."""

    def __init__(self, images_max: int = 100) -> None:
        self.history = History(MetadataImage.EMPTY, images_max)
        self._replayer = Replayer()
        self._end = 0

    def write(self, *records: Record) -> int:
        """Write a batch; return its last offset."""
        batch = Decided(
            base_offset=self._end,
            leader_epoch=1,
            timestamp=0,
            records=records,
            versions=[0] * len(records),
            origin=None,
        )
        self._end = batch.end_offset
        self._replayer.replay(batch.as_read)
        self.history.committed(batch.types, batch.records, self._replayer.image())
        return self._end - 1

    def touched(self, since: int) -> set[Uuid] | None:
        change = self.history.since(since)
        return None if change is None else set(change.topic_ids)


def test_change_names_the_topics_touched_since_an_image() -> None:
    log = Log()
    first = log.write(created(A))
    second = log.write(created(B))
    assert log.touched(first) == {B}
    assert log.touched(second) == set()
    change = log.history.since(first)
    assert change is not None
    assert (change.before.topic(B), change.after.topic(B) is not None) == (None, True)


def test_follower_several_commits_behind_gets_the_topics_of_all() -> None:
    log = Log()
    first = log.write(NoOpRecord())
    second = log.write(created(A))
    third = log.write(created(B))
    log.write(NoOpRecord())
    assert log.touched(first) == {A, B}
    assert log.touched(second) == {B}
    assert log.touched(third) == set()
    log.write(new_partition(A, 0, (1,)))
    assert log.touched(first) == {A, B}
    assert log.touched(third) == {A}


def test_offset_that_is_no_image_or_no_longer_kept_has_no_change() -> None:
    log = Log(images_max=2)
    first = log.write(created(A))
    middle = log.write(created(B), new_partition(A, 0, (1,))) - 1
    log.write(new_partition(A, 1, (1,)))
    assert log.touched(first) is None
    assert log.touched(middle) is None
    assert log.touched(99) is None


def test_what_a_transaction_holds_comes_when_it_ends() -> None:
    log = Log()
    before = log.write(created(A))
    log.write(BeginTransactionRecord(name="t"))
    log.write(created(B))
    assert log.touched(before) == set()
    log.write(EndTransactionRecord())
    assert log.touched(before) == {B}


async def test_waiting_ends_when_the_present_is_past_the_offset() -> None:
    log = Log()
    first = log.write(created(A))
    waiting = asyncio.ensure_future(log.history.beyond(first))
    await asyncio.sleep(0)
    assert not waiting.done()
    log.write(created(B))
    await asyncio.wait_for(waiting, 60)
    await asyncio.wait_for(log.history.beyond(first), 60)


def test_images_are_found_while_others_are_committed() -> None:
    log = Log(images_max=1_000)
    for _ in range(1_000):
        log.write(NoOpRecord())
    is_over = threading.Event()

    def commit() -> None:
        while not is_over.is_set():
            log.write(NoOpRecord())

    committing = threading.Thread(target=commit)
    interval_s = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        committing.start()
        assert [log.history.since(-2) for _ in range(2_000)] == [None] * 2_000
    finally:
        is_over.set()
        committing.join()
        sys.setswitchinterval(interval_s)
