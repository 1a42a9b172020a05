"""Spark's SQL parser for a client of Spark Connect, which cannot use the server's parser.

The parser runs in a separate Java process without a Spark session; the process ends with the
client.
"""

import os
import subprocess
import tempfile
import time
from pathlib import Path

import pyspark
from py4j.java_gateway import JavaObject, JVMView
from pyspark import SparkContext
from pyspark.find_spark_home import _find_spark_home
from pyspark.serializers import UTF8Deserializer, read_int
from pyspark.sql import SparkSession

from records.errors import UnavailableError
from replay.audit import java
from replay.audit.session import environment

_CONNECT_VARIABLES = ("SPARK_REMOTE", "SPARK_CONNECT_MODE_ENABLED", "SPARK_API_MODE")
"""Variables to unset: with them, Spark's launcher leaves out the parser's classes."""


def client_parser(spark: SparkSession) -> JavaObject:
    """Return a parser that parses a query exactly as the session's Spark Connect server does.

    Raises:
        UnavailableError: this machine has no Java, or the server runs another release of Spark,
            which may parse a query differently.
    """
    if spark.version != pyspark.__version__:
        raise UnavailableError(
            f"a query of your own is checked by Spark {pyspark.__version__} on this machine, and "
            f"the server runs {spark.version}; install pyspark=={spark.version} here, or run the "
            "query with spark-submit on the cluster"
        )
    jvm = _jvm()
    settings = jvm.org.apache.spark.sql.internal.SQLConf.get()
    settings.clear()
    for name, value in spark.conf.getAll.items():
        if name.startswith("spark.sql."):
            settings.setConfString(name, value)
    return jvm.org.apache.spark.sql.execution.SparkSqlParser()


def _jvm() -> JVMView:
    if SparkContext._gateway is None:
        found = java.find_java()
        with tempfile.TemporaryDirectory(prefix="metalog-java-") as name:
            home = java.make_quiet_home(found, Path(name, "java"))
            unset = dict.fromkeys(_CONNECT_VARIABLES)
            with environment({"JAVA_HOME": str(home), **unset}):
                port, secret = launch_java(Path(name, "connection"))
            gateway = {"PYSPARK_GATEWAY_PORT": str(port), "PYSPARK_GATEWAY_SECRET": secret}
            with environment({**gateway, **unset}):
                SparkContext._ensure_initialized()
    return SparkContext._jvm


def launch_java(connection: Path) -> tuple[int, str]:
    """Start Java; return its gateway's port and secret, which Java writes to the file `connection`.

    Raises:
        UnavailableError: Java does not start.

    PySpark would start Java by forking this process. If the process uses gRPC, as Spark Connect
    does, a forked child sometimes aborts before it runs Java. This function uses vfork, which runs
    no fork handlers.
    """
    process = subprocess.Popen(
        [Path(_find_spark_home(), "bin", "spark-submit"), "pyspark-shell"],
        # Java ends when the pipe breaks, and does not get the terminal's Ctrl-C.
        stdin=subprocess.PIPE,
        start_new_session=True,
        env={
            **os.environ,
            "SPARK_CONNECT_MODE": "0",
            "_PYSPARK_DRIVER_CONN_INFO_PATH": str(connection),
        },
    )
    _STARTED.append(process)
    while not connection.exists():
        if process.poll() is not None:
            raise UnavailableError(
                f"Java does not start: spark-submit ended with {process.returncode}; check "
                "JAVA_HOME; `metalog --debug` shows what it reports"
            )
        time.sleep(0.1)
    with connection.open("rb") as found:
        return read_int(found), UTF8Deserializer().loads(found)


_STARTED: "list[subprocess.Popen[bytes]]" = []
"""The Java processes; the references keep their pipes open as long as this process runs."""
