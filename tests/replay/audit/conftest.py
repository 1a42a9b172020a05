"""One Spark session for all tests, because starting one takes seconds.

A test that exceeds its time limit is ended by killing Spark's Java process: an exception from a
signal handler in the middle of an answer would leave the rest of the answer to the next test. The
next test gets a new process.
"""

import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from replay.audit.session import session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TIME_LIMIT_S = 900.0
"""Generous: the slowest test takes a twentieth of it, on a machine that does nothing else."""


class SharedSpark:
    """A session for small logs, started at its first use, and again after its process has died."""

    def __init__(self) -> None:
        self._started: Any = None
        self._spark: SparkSession | None = None
        self._is_ended = False

    def get(self) -> "SparkSession":
        """Return the session."""
        self.drop_dead()
        if self._spark is None:
            self._started = session(quick=True)
            self._spark = self._started.__enter__()
        assert self._spark is not None
        return self._spark

    def drop_dead(self) -> None:
        """Forget the session if its process has ended."""
        if self._spark is not None and (self._is_ended or self._process().poll() is not None):
            self._forget()

    def end_process(self) -> None:
        """Kill the Java process: a thread that waits for it gets an error."""
        self._is_ended = True
        self._process().kill()

    def stop(self) -> None:
        """Stop the session."""
        if self._spark is not None:
            self._started.__exit__(None, None, None)
            self._spark = None

    def end(self) -> None:
        """Stop the session and wait until its Java process has ended."""
        process = self._process()
        self.stop()
        process.stdin.close()
        process.wait()
        self._forget()

    def _process(self) -> Any:
        from pyspark import SparkContext

        return SparkContext._gateway.proc

    def _forget(self) -> None:
        """Make PySpark forget the process that ended; it has no function for this."""
        from pyspark import SparkContext
        from pyspark.sql import SparkSession

        process = self._process()
        process.wait()
        process.stdin.close()
        SparkContext._gateway.shutdown()
        context = SparkContext._active_spark_context
        if context is not None and context._accumulatorServer is not None:
            # Its thread prints that Java is gone; later, that would be the next test's output.
            context._accumulatorServer.shutdown()
            context._accumulatorServer = None
        SparkContext._active_spark_context = SparkContext._gateway = SparkContext._jvm = None
        SparkSession._instantiatedSession = SparkSession._activeSession = None
        self.stop()
        self._is_ended = False


@pytest.fixture(scope="session")
def shared_spark() -> Iterator[SharedSpark]:
    shared = SharedSpark()
    yield shared
    shared.stop()


@pytest.fixture
def spark(shared_spark: SharedSpark) -> "Iterator[SparkSession]":
    """A local session, with a time limit for the test."""
    running = shared_spark.get()
    timer = threading.Timer(TIME_LIMIT_S, shared_spark.end_process)
    timer.start()
    yield running
    timer.cancel()
