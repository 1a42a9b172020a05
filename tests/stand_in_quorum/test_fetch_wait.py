"""How long a Fetch at the end of the log waits, and what wakes it."""

import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.stand_in_quorum import Quorum, rules
from tests.stand_in_quorum.batches import no_ops
from tests.stand_in_quorum.peer import ask, diverging, fetch, partition, snapshot_of

LONG_MS, SHORT_MS = 10_000, 300


def at_the_end(version: int, **asked: int) -> Any:
    """Return a request from the end of the log."""
    return fetch(version, **{"epoch": 3, "offset": 12, "last_epoch": 3, **asked})  # type: ignore[arg-type]


def timed(call: Callable[[], Any]) -> tuple[Any, float]:
    start = time.monotonic()
    return call(), time.monotonic() - start


def answer_after(quorum: Quorum, asked: Any, change: Callable[[], object]) -> tuple[Any, float]:
    """Ask, change the quorum when the request is there, and return the answer and its seconds."""
    address = quorum.address(quorum.leader.node_id)
    before = len(quorum.seen)

    def changes() -> None:
        quorum.wait_for(lambda: len(quorum.seen) > before)
        time.sleep(0.05)
        change()

    thread = threading.Thread(target=changes)
    thread.start()
    try:
        return timed(lambda: ask(address, asked))
    finally:
        thread.join()


def test_nothing_new_is_answered_after_max_wait(directory: Path) -> None:
    with Quorum(directory, release="4.0") as quorum:
        answer, seconds = timed(lambda: ask(quorum.bootstrap, at_the_end(17, max_wait_ms=SHORT_MS)))
    assert SHORT_MS / 1000 <= seconds < LONG_MS / 1000
    assert (partition(answer).error_code, bytes(partition(answer).records)) == (0, b"")


def test_append_wakes(directory: Path) -> None:
    with Quorum(directory, release="3.3") as quorum:
        new = no_ops(12, 3)
        answer, seconds = answer_after(
            quorum,
            at_the_end(13, max_wait_ms=LONG_MS),
            lambda: quorum.append([new], commit=False),
        )
    assert seconds < LONG_MS / 1000
    assert bytes(partition(answer).records) == new.data
    assert partition(answer).high_watermark == 12


@pytest.mark.parametrize(("release", "wakes"), [("4.0", False), ("4.1", True)])
def test_high_watermark_wakes_from_4_1(directory: Path, release: str, wakes: bool) -> None:
    with Quorum(directory, release=release, high_watermark=6) as quorum:
        asked = at_the_end(17, max_wait_ms=LONG_MS if wakes else SHORT_MS)
        answer, seconds = answer_after(quorum, asked, lambda: quorum.commit(12))
        # The answer that was prepared first is sent when the time is over.
        assert partition(answer).high_watermark == (12 if wakes else 6)
        assert (seconds < LONG_MS / 1000) is True
        again = ask(quorum.bootstrap, at_the_end(17))
        assert partition(again).high_watermark == 12


def test_reader_with_a_lower_high_watermark_is_answered_at_once(directory: Path) -> None:
    with Quorum(directory, release="4.1") as quorum:
        for known, waits in ((6, False), (12, True), (None, True)):
            extra = {} if known is None else {"high_watermark": known}
            asked = at_the_end(18, max_wait_ms=SHORT_MS, **extra)
            _, seconds = timed(partial(ask, quorum.bootstrap, asked))
            assert (seconds >= SHORT_MS / 1000) is waits


def test_lost_leadership_ends_the_wait_with_an_error(directory: Path) -> None:
    with Quorum(directory, release="3.9", nodes=3) as quorum:
        asked = at_the_end(17, max_wait_ms=LONG_MS)
        answer, seconds = answer_after(quorum, asked, lambda: quorum.elect(2))
    assert seconds < LONG_MS / 1000
    assert partition(answer).error_code == rules.NOT_LEADER_OR_FOLLOWER
    leader = partition(answer).current_leader
    assert (leader.leader_id, leader.leader_epoch) == (2, 4)
    assert [each.node_id for each in answer.node_endpoints] == [2]


@pytest.mark.parametrize(("release", "waits"), [("3.4", True), ("3.5", False)])
def test_diverging_answers_wait_before_3_5(with_snapshot: Path, release: str, waits: bool) -> None:
    with Quorum(with_snapshot, release=release) as quorum:
        for asked, found in (
            (fetch(13, epoch=3, offset=9, last_epoch=1, max_wait_ms=SHORT_MS), diverging),
            (fetch(13, epoch=3, offset=3, last_epoch=0, max_wait_ms=SHORT_MS), snapshot_of),
        ):
            answer, seconds = timed(partial(ask, quorum.bootstrap, asked))
            assert found(answer) is not None
            assert (seconds >= SHORT_MS / 1000) is waits
