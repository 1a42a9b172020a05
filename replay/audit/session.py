"""The Spark session of an audit: the active one, one set by the environment, or a new one."""

import atexit
import logging
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from metadata_log.reader.log_reader import LogReader
from metadata_log.stores.checked_read import file_size
from records.errors import UnavailableError
from replay.audit import java
from replay.audit.class_archive import ClassArchive, class_archive
from replay.audit.failures import first_line
from replay.audit.masters import check_answers
from replay.audit.settings import FILES, JAVA_OPTIONS, QUICK, reset

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

APP_NAME = "metalog audit"

# Set by spark-submit and Spark Connect; then everything is configured already.
_STARTED_ELSEWHERE = ("PYSPARK_GATEWAY_PORT", "SPARK_REMOTE", "SPARK_CONNECT_MODE_ENABLED")

# A driver of 1 GiB, Spark's default, is too small for a log of millions of partitions.
_DRIVER_MEMORY_MAX_BYTES = 8 << 30

# Up to this size, starting and planning take longer than reading.
_SMALL_LOG_BYTES = 16 * 1024 * 1024


def is_small(*readers: LogReader) -> bool:
    """True if the logs are so small that queries finish sooner in a session with `quick=True`."""
    sizes = [file_size(each.fs, path) for each in readers for path in each.segment_paths]
    return sum(sizes) < _SMALL_LOG_BYTES


@contextmanager
def session(
    settings: Mapping[str, str] | None = None,
    *,
    quick: bool = False,
    makes_archive: bool = False,
) -> Iterator["SparkSession"]:
    """Yield a Spark session: the active one, that of spark-submit or Spark Connect, or a new one.

    A new session runs on `local[*]` (or on MASTER), without log output and web page, and is stopped
    on exit.

    Args:
        settings: Spark settings that override the default ones of a new session.
        quick: Use settings for a small log: a faster start, but slower scans.
        makes_archive: On exit, create the class archive if there is none, which takes some seconds.
            Has an effect only on a new local session with `quick`.

    Raises:
        UnavailableError: PySpark, its extra for Spark Connect or a Java is missing, or the master
            or server in the environment does not answer within about a minute.
    """
    try:
        from pyspark.sql import SparkSession

        active = SparkSession.getActiveSession()
    except ImportError as error:
        raise UnavailableError(_missing(error)) from error
    if active is not None:
        yield active
        return
    with (
        tempfile.TemporaryDirectory(prefix="metalog-spark-") as folder,
        class_archive(make=makes_archive) as archive,
    ):
        chosen = {**(QUICK if quick else {}), **(settings or {})}
        _silence_refused_queries()
        builder = SparkSession.builder.appName(APP_NAME)
        spark = _start(builder, Path(folder), archive, settings or {}, chosen)
        yield from _until_stopped(spark, archive)


def is_remote(spark: "SparkSession") -> bool:
    """True for a session of Spark Connect, which has no Java of its own."""
    return not hasattr(spark, "_jsparkSession")


def is_cluster(spark: "SparkSession") -> bool:
    """True if tasks may run on machines that do not see this machine's temporary files."""
    return is_remote(spark) or not spark.sparkContext.master.startswith("local")


@contextmanager
def copies_folder(spark: "SparkSession", parent: Path | str | None = None) -> Iterator[Path | None]:
    """Yield an empty folder for copies that Spark's workers can read; None if there is none.

    Args:
        parent: A folder that the workers see. None: the temporary folder of this machine, which a
            cluster cannot use.
    """
    if parent is None and is_cluster(spark):
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="metalog-audit-", dir=parent) as folder:
        yield Path(folder)


@contextmanager
def separate_session(spark: "SparkSession") -> Iterator["SparkSession"]:
    """Yield a new session of the same Spark, with separate views, functions and settings.

    The new session keeps the given session's time zone. Other SQL settings of the application
    (spark-defaults.conf, `--conf`) could change answers, so only settings of speed and compression
    are kept. Files cannot be used as tables, and `${...}` in a query is plain text.
    """
    own = spark.newSession()
    reset(own)
    own.conf.set("spark.sql.session.timeZone", spark.conf.get("spark.sql.session.timeZone"))
    own.conf.set("spark.sql.runSQLOnFiles", "false")
    own.conf.set("spark.sql.variable.substitute", "false")
    for name, value in FILES.items():
        own.conf.set(name, value)
    if not is_remote(spark):
        _use_this_python(own)
        yield own
        return
    # Left to the end of the interpreter, closing the connection to a server hangs for ever.
    atexit.register(own.stop)
    try:
        yield own
    finally:
        atexit.unregister(own.stop)
        own.stop()


def check_release(spark: "SparkSession") -> None:
    """Check that a Spark Connect server runs the minor release of this client.

    Clients of other releases can connect, but Spark does not promise that functions that run in the
    workers, and data sources written in Python, work across them.

    Raises:
        UnavailableError: it runs another one; says what to install.
    """
    import pyspark

    client, server = (
        ".".join(version.split(".")[:2]) for version in (pyspark.__version__, spark.version)
    )
    if client != server:
        raise UnavailableError(
            f"the Spark Connect server runs Spark {spark.version}, and this client is of "
            f"{pyspark.__version__}: both must be of one minor release; start a server of {client}"
        )


def _use_this_python(spark: "SparkSession") -> None:
    """Run Spark's Python workers with this process's Python and packages, unless another is set.

    By default Spark starts the first `python3` of PATH, which may lack the packages. On a cluster,
    the workers' machines need not have this Python, so it is not set there.
    """
    chosen = "PYSPARK_PYTHON" in os.environ or spark.conf.get("spark.pyspark.python", None)
    if not is_cluster(spark) and not chosen:
        spark.sparkContext.pythonExec = sys.executable


@contextmanager
def activated(spark: "SparkSession") -> Iterator[None]:
    """Make a session the active one inside the `with` block.

    Spark plans queries with the active session's settings. A client of Spark Connect assigns a
    checkpoint to the active session, whichever session created it.
    """
    if is_remote(spark):
        active = type(spark)._active_session
        before = getattr(active, "session", None)
        active.session = spark
        try:
            yield
        finally:
            active.session = before
        return
    sessions = getattr(spark._jvm, "org.apache.spark.sql.classic.SparkSession")
    before, python_before = sessions.getActiveSession(), type(spark)._activeSession
    sessions.setActiveSession(spark._jsparkSession)
    try:
        yield
    finally:
        type(spark)._activeSession = python_before  # `createDataFrame` sets it
        if before.isDefined():
            sessions.setActiveSession(before.get())
        else:
            sessions.clearActiveSession()


def _missing(error: ImportError) -> str:
    if os.environ.get("SPARK_REMOTE"):
        return (
            f"SPARK_REMOTE asks for Spark Connect: {first_line(error).rstrip('.')}; install it "
            "(pip install 'pyspark[connect]'), or unset SPARK_REMOTE to run on this machine"
        )
    return f"PySpark is not installed: {java.HELP}"


def _until_stopped(spark: "SparkSession", archive: ClassArchive) -> Iterator["SparkSession"]:
    from py4j.protocol import Py4JError

    try:
        yield spark
        archive.write(spark)
    finally:
        # If the Java process ended, keep the original error.
        with suppress(Py4JError, ConnectionError):
            spark.stop()


def _silence_refused_queries() -> None:
    """Stop PySpark from printing plan and Java stack trace when a query raises an error."""
    from pyspark.logger import PySparkLogger

    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        PySparkLogger.getLogger(name).setLevel(logging.CRITICAL)


def _start(
    builder: "SparkSession.Builder",
    folder: Path,
    archive: ClassArchive,
    settings: Mapping[str, str],
    local_settings: Mapping[str, str],
) -> "SparkSession":
    """Start Spark, or connect to it.

    Raises:
        UnavailableError: Spark is missing or does not start; names what to install or to check.
    """
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    master = os.environ.get("MASTER", "local[*]")
    where = f"on {master} (MASTER)"
    try:
        if any(name in os.environ for name in _STARTED_ELSEWHERE):
            where = "where the environment says"
            check_answers(os.environ.get("SPARK_REMOTE", ""), "SPARK_REMOTE")
            return builder.config(map=dict(settings)).getOrCreate()
        check_answers(master, "MASTER")
        return _launch(builder, folder, archive, master, local_settings)
    except ImportError as error:
        raise UnavailableError(_missing(error)) from error
    except (Py4JError, PySparkException) as error:
        raise UnavailableError(
            f"Spark does not start {where}: {first_line(error)}; check that the master answers, or "
            "unset MASTER and SPARK_REMOTE to run on this machine; `metalog --debug` shows what "
            "Spark reports"
        ) from error


def _launch(
    builder: "SparkSession.Builder",
    folder: Path,
    archive: ClassArchive,
    master: str,
    settings: Mapping[str, str],
) -> "SparkSession":
    found = java.find_java()
    home = java.make_quiet_home(found, folder / "java")
    chosen = _quiet_settings(folder)
    if master.startswith("local"):
        chosen |= _local_settings()
        # Where every start counts, and the caller has not chosen Java's options.
        if settings.get(JAVA_OPTIONS) == QUICK[JAVA_OPTIONS]:
            options = f"{settings[JAVA_OPTIONS]} {archive.options(found)}"
            settings = {**settings, JAVA_OPTIONS: options}
    launch_environment = {
        "JAVA_HOME": str(home),
        # Workers need this process's packages.
        "PYSPARK_PYTHON": os.environ.get("PYSPARK_PYTHON", sys.executable),
    }
    with environment(launch_environment):
        return builder.config(map={"spark.master": master, **chosen, **settings}).getOrCreate()


def _quiet_settings(folder: Path) -> dict[str, str]:
    return FILES | {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": str(sys.stderr.isatty()).lower(),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.sql.session.timeZone": "UTC",
        # A stream that was killed while it wrote its first position leaves a temporary file. Spark
        # would refuse to start with that checkpoint again.
        "spark.sql.streaming.verifyCheckpointDirectoryEmptyOnStart": "false",
    }


def _local_settings() -> dict[str, str]:
    # On one machine, more partitions than cores cost more than they gain.
    cores = os.cpu_count() or 1
    settings = {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.shuffle.partitions": str(cores),
    }
    if "SPARK_DRIVER_MEMORY" not in os.environ:
        settings["spark.driver.memory"] = f"{_driver_memory_bytes() >> 20}m"
    return settings


def _driver_memory_bytes() -> int:
    """Return half of the machine's memory, at most `_DRIVER_MEMORY_MAX_BYTES`."""
    physical = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return min(_DRIVER_MEMORY_MAX_BYTES, physical // 2)


@contextmanager
def environment(variables: Mapping[str, str | None]) -> Iterator[None]:
    """Set environment variables inside the `with` block, for child processes; None unsets one."""
    before = {name: os.environ.get(name) for name in variables}
    _set_variables(variables)
    try:
        yield
    finally:
        _set_variables(before)


def _set_variables(variables: Mapping[str, str | None]) -> None:
    for name, value in variables.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
