"""Queries on a machine so busy that Spark gives up on its Python process.

A stream's Python process has 10 s to start, whatever the settings; a query goes on where it was.
"""

from collections.abc import Callable

from pyspark.errors import StreamingQueryException

_TRIES = 5


def restarted(run: Callable[[], object]) -> None:
    """Run a query to its end, and again if its Python process was too slow to start."""
    for tries_left in reversed(range(_TRIES)):
        try:
            run()
        except StreamingQueryException as error:
            if "failed to connect back" not in str(error) or not tries_left:
                raise
        else:
            return
