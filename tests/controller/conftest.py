"""Fixtures for tests of the controller's loop."""

import pytest

from tests.controller.office import Office


@pytest.fixture
async def office() -> Office:
    """A controller that has been activated on an empty log."""
    office = Office()
    await office.controller.activate()
    return office
