"""Large frames share a bounded memory: smaller frames go first, and slow ones lose their share."""

from api.transport import limits
from api.transport.receive_budget import ReceiveBudget, Share


class Frames:
    """A budget with a clock that the test sets, and the events that the budget reported."""

    def __init__(self, bytes_max: int = 100) -> None:
        self.now = 0.0
        self.granted: list[int] = []
        self.closed: list[int] = []
        self.budget = ReceiveBudget(bytes_max, lambda: self.now)

    def ask(self, size_bytes: int) -> Share:
        share = self.budget.ask(
            size_bytes,
            granted=lambda: self.granted.append(size_bytes),
            close=lambda _: self._close(share, size_bytes),
        )
        return share

    def _close(self, share: Share, size_bytes: int) -> None:
        self.closed.append(size_bytes)
        share.release()


def test_frames_beyond_the_budget_wait_and_the_smallest_is_next() -> None:
    frames = Frames()
    first, second = frames.ask(60), frames.ask(40)
    assert (first.is_granted, second.is_granted, frames.granted) == (True, True, [])
    frames.ask(50)
    frames.ask(30)
    second.release()
    assert (frames.granted, frames.budget.held_bytes) == ([30], 90)
    first.release()
    first.release()
    assert (frames.granted, frames.budget.held_bytes) == ([30, 50], 80)


def test_frame_that_is_larger_than_the_budget_is_taken_alone() -> None:
    frames = Frames()
    small = frames.ask(1)
    large = frames.ask(1_000)
    assert not large.is_granted
    small.release()
    assert large.is_granted
    assert not frames.ask(1).is_granted


def test_cancelled_waiter_is_not_granted_anything() -> None:
    frames = Frames()
    first, second = frames.ask(100), frames.ask(100)
    second.release()
    first.release()
    assert (frames.granted, frames.budget.held_bytes) == ([], 0)


def test_stalled_frame_is_closed_while_others_wait_and_only_then() -> None:
    frames = Frames(3 * limits.PROGRESS_BYTES)
    stalled = frames.ask(limits.PROGRESS_BYTES + 1)
    moving = frames.ask(limits.PROGRESS_BYTES + 2)
    frames.now += limits.STALL_TIMEOUT_S + 1
    frames.budget.close_stalled()
    assert frames.closed == []
    frames.ask(2 * limits.PROGRESS_BYTES)
    # A byte now and then is no progress.
    stalled.received(1, frames.now)
    moving.received(limits.PROGRESS_BYTES, frames.now)
    frames.budget.close_stalled()
    assert frames.closed == [limits.PROGRESS_BYTES + 1]


def test_whole_frame_is_never_stalled() -> None:
    frames = Frames()
    whole = frames.ask(100)
    whole.received(100, frames.now)
    frames.ask(100)
    frames.now += 1_000
    frames.budget.close_stalled()
    assert frames.closed == []
