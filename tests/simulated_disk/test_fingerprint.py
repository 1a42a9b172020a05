"""Disk states with equal fingerprints are checked once; any relevant difference changes it."""

from collections.abc import Callable

import pytest

from tests.simulated_disk.history import Answer, Entry, History

Event = Callable[[History], None]


def _history() -> History:
    """Return a history of two batches given to one writer, the first of them refused."""
    history = History()
    history.finish_opening(history.start_opening(), 1)
    for texts in (["a"], ["b", "c"]):
        history.submit(0, texts)
    history.answered(history.submissions[0], Answer.REFUSED)
    return history


def _answer(history: History) -> None:
    history.answered(history.submissions[1], Answer.UNKNOWN)


def _give_to_the_next(history: History) -> None:
    history.start_opening()
    history.submit_again(history.submissions[0], 1)


def _lose(history: History) -> None:
    history.survived([])


def _see(history: History) -> None:
    history.saw([Entry(0, 1, None)])


def _open(history: History) -> None:
    history.finish_opening(history.start_opening(), 2)


def _submit(history: History) -> None:
    history.submit(0, ["d"])


def _now(history: History) -> object:
    return history.known_at(history.events).fingerprint()


def test_equal_histories_have_equal_fingerprints() -> None:
    assert _now(_history()) == _now(_history())
    assert hash(_now(_history())) == hash(_now(_history()))


@pytest.mark.parametrize("event", [_answer, _give_to_the_next, _lose, _see, _open, _submit])
def test_each_event_changes_the_fingerprint(event: Event) -> None:
    history = _history()
    event(history)
    assert _now(history) != _now(_history())


@pytest.mark.parametrize("event", [_answer, _lose, _see, _open, _submit])
def test_what_was_not_known_yet_makes_a_difference_to_what_is(event: Event) -> None:
    history = _history()
    before = history.events
    event(history)
    assert history.known_at(before).fingerprint() != _now(history)


def test_batch_with_another_text_makes_a_difference() -> None:
    first, second = _history(), _history()
    first.submit(0, ["d"])
    second.submit(0, ["e"])
    assert _now(first) != _now(second)
