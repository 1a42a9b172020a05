"""One Spark session for all tests: starting one takes seconds."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from replay.audit.session import session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark() -> "Iterator[SparkSession]":
    """A local session, chosen for small logs."""
    with session(quick=True) as started:
        yield started
