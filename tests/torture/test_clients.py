"""One piece of each kind of hostile clients, and a test that complaints are noticed."""

import pytest

from tests.torture.campaigns import clients


@pytest.mark.parametrize("seed", [2, 1], ids=["few descriptors", "half frames"])
def test_service_under_hostile_clients_answers_the_honest_ones(seed: int) -> None:
    outcome = clients.run(seed)
    assert outcome.failures == ()
    assert "appends answered" in outcome.notes[0]


def test_tracebacks_and_too_many_lines_are_noticed() -> None:
    assert clients.complaints("WARNING: one\n" * 20, seconds=5) == []
    assert clients.complaints("WARNING: one\n" * 200, seconds=5) == ["200 lines in 5 s"]
    (traceback,) = clients.complaints("Traceback (most recent call last):\n", seconds=5)
    assert traceback.startswith("a traceback: Traceback")
