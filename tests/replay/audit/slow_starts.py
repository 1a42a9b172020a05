"""Retries queries on a machine so busy that Spark gives up on its Python process.

The Python process of a data source has 10 s to start, whatever the settings: when a query is
planned, and when it runs. A stream resumes where it was.
"""

from collections.abc import Callable
from typing import TypeVar

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

# So many that a test's own time limit comes first.
_TRIES = 50

_Answer = TypeVar("_Answer")


def restarted(run: Callable[[], _Answer]) -> _Answer:
    """Run a query, and run it again if its Python process was too slow to start."""
    for tries_left in reversed(range(_TRIES)):
        try:
            return run()
        except (PySparkException, Py4JJavaError) as error:
            if "failed to connect back" not in str(error) or not tries_left:
                raise
    raise AssertionError("the last try returned or raised")
