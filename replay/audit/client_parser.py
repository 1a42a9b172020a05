"""Spark's SQL parser for a client of Spark Connect, which cannot use the server's parser.

The parser runs in a separate Java process without a Spark session; the process ends with the
client.
"""

import tempfile
from pathlib import Path

import pyspark
from py4j.java_gateway import JavaObject, JVMView
from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from records.errors import UnavailableError
from replay.audit import java
from replay.audit.failures import first_line
from replay.audit.session import environment

_CONNECT_VARIABLES = ("SPARK_REMOTE", "SPARK_CONNECT_MODE_ENABLED", "SPARK_API_MODE")
"""With them Spark's launcher leaves the parser's classes out."""


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
        with tempfile.TemporaryDirectory(prefix="metalog-java-") as folder:
            home = java.make_quiet_home(found, Path(folder, "java"))
            unset = dict.fromkeys(_CONNECT_VARIABLES)
            with environment({"JAVA_HOME": str(home), **unset}):
                _launch()
    return SparkContext._jvm


def _launch() -> None:
    try:
        SparkContext._ensure_initialized()
    except PySparkException as error:
        raise UnavailableError(
            f"Java does not start: {first_line(error)}; check JAVA_HOME; `metalog --debug` shows "
            "what it reports"
        ) from error
