"""A test that runs too long costs the next one a start of Java, and nothing else.

It runs after all that share the session (LONG_FIRST in tests/conftest.py), so that no other test
pays for that start.
"""

import threading

import pytest

from tests.replay.audit.conftest import SharedSpark


@pytest.mark.spark
def test_session_is_restarted_after_its_process_was_killed_during_a_query(
    shared_spark: SharedSpark,
) -> None:
    """What the time limit of a test does."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    spark = shared_spark.get()
    timer = threading.Timer(2.0, shared_spark.end_process)
    timer.start()
    with pytest.raises((Py4JError, PySparkException, ConnectionError)):
        spark.range(1 << 50).selectExpr("sum(id % 7)").collect()
    assert shared_spark.get().range(3).count() == 3
