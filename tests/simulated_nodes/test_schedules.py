"""Some fault schedules of nodes; `make torture` runs many more."""

import pytest

from tests.simulated_nodes.schedule import Schedule


@pytest.mark.parametrize("number", range(30))
def test_whatever_fails_one_history_is_left(number: int) -> None:
    assert Schedule(number).run() == []
