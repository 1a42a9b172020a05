"""Power losses while a mirror is appended to and cut: what remains is valid and complete enough."""

import logging
from collections.abc import Iterator

import pytest

from tests.torture.campaigns import mirrors


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    logging.disable(logging.WARNING)
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.parametrize("seed", range(2))
def test_crash_at_every_boundary_leaves_a_whole_mirror(seed: int) -> None:
    outcome = mirrors.run(seed)
    assert outcome.failures == ()
    assert outcome.distinct > 100
